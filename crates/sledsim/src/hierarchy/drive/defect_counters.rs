//! Counts of requests to defective blocks: lost, or computed from other blocks.

use crate::devices::{Condition, Mechanism};
use crate::engine::details::Count;
use crate::engine::Status;
use crate::request::{Op, Request};

/// Counts of requests to defective blocks over the measurement window.
#[derive(Clone, Debug, Default)]
pub(super) struct DefectCounters {
    has_defects: bool,
    degraded_reads: u64,
    degraded_writes: u64,
    lost_reads: u64,
    lost_writes: u64,
}

impl DefectCounters {
    /// Counters for a device.
    pub(super) fn of(device: &dyn Mechanism) -> Self {
        Self { has_defects: device.defects().is_some(), ..Self::default() }
    }

    /// Returns true if the device can have defective blocks.
    pub(super) fn has_defects(&self) -> bool {
        self.has_defects
    }

    /// Counts a served request and returns its status.
    #[inline]
    pub(super) fn status_of(&mut self, request: &Request, device: &dyn Mechanism) -> Status {
        if !self.has_defects {
            return Status::Served;
        }
        let condition = device.defects().map_or(Condition::Whole, |defects| defects.condition(request));
        match (condition, request.op) {
            (Condition::Lost, Op::Read) => {
                self.lost_reads += 1;
                return Status::Unreadable;
            }
            // Writes are not verified.
            (Condition::Lost, _) => self.lost_writes += 1,
            (Condition::Degraded, Op::Read) => self.degraded_reads += 1,
            (Condition::Degraded, _) => self.degraded_writes += 1,
            (Condition::Whole, _) => {}
        }
        Status::Served
    }

    /// Opens the measurement window.
    pub(super) fn start_measuring(&mut self) {
        *self = Self { has_defects: self.has_defects, ..Self::default() };
    }

    /// The counts as reported.
    pub(super) fn counts(&self) -> Vec<Count> {
        if !self.has_defects {
            return Vec::new();
        }
        vec![
            Count::of("degraded_reads", self.degraded_reads),
            Count::of("degraded_writes", self.degraded_writes),
            Count::of("lost_reads", self.lost_reads),
            Count::of("lost_writes", self.lost_writes),
        ]
    }
}
