//! What requests meet on a device some of whose blocks are lost, or computed from others.

use crate::devices::{Condition, Mechanism};
use crate::engine::details::Count;
use crate::engine::Status;
use crate::request::{Op, Request};

/// What requests have met, over the measurement window.
#[derive(Clone, Debug, Default)]
pub(super) struct Flaws {
    any: bool,
    degraded_reads: u64,
    degraded_writes: u64,
    lost_reads: u64,
    lost_writes: u64,
}

impl Flaws {
    /// Nobody has met with any of a device yet.
    pub(super) fn of(device: &dyn Mechanism) -> Self {
        Self { any: device.defects().is_some(), ..Self::default() }
    }

    /// Whether there are any.
    pub(super) fn any(&self) -> bool {
        self.any
    }

    /// What comes of a request that is served.
    #[inline]
    pub(super) fn met(&mut self, request: &Request, device: &dyn Mechanism) -> Status {
        if !self.any {
            return Status::Served;
        }
        let condition = device.defects().map_or(Condition::Whole, |defects| defects.condition(request));
        match (condition, request.op) {
            (Condition::Lost, Op::Read) => {
                self.lost_reads += 1;
                return Status::Unreadable;
            }
            // What is written is not read back: nobody knows.
            (Condition::Lost, _) => self.lost_writes += 1,
            (Condition::Degraded, Op::Read) => self.degraded_reads += 1,
            (Condition::Degraded, _) => self.degraded_writes += 1,
            (Condition::Whole, _) => {}
        }
        Status::Served
    }

    /// The window begins.
    pub(super) fn start_measuring(&mut self) {
        *self = Self { any: self.any, ..Self::default() };
    }

    /// What was met.
    pub(super) fn counts(&self) -> Vec<Count> {
        if !self.any {
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
