//! The devices of an enclosure, and the supply of new ones.

use super::lifetime::Law;
use super::parameters::DeviceLife;

/// The content of a bay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A device that holds data.
    InUse,
    /// A dedicated spare.
    Spare,
    /// Empty until the next visit.
    Missing,
}

/// A bay of an enclosure, and its device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bay {
    pub(super) role: Role,
    /// Distribution of the device's lifetime.
    pub(super) law: Law,
    /// Time at which the device began to age, h.
    pub(super) since_h: f64,
    /// Time since which the device holds data, h.
    pub(super) data_since_h: f64,
    /// Time of failure, h; infinity if only the hazard is known, or if the device does not age.
    pub(super) fails_h: f64,
}

/// Supply of new devices, in batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceSupply<'a> {
    life: &'a DeviceLife,
    law: Law,
    left_in_batch: u32,
    batch_is_bad: bool,
}

impl<'a> DeviceSupply<'a> {
    pub(super) fn new(life: &'a DeviceLife) -> Self {
        Self { life, law: Law::new(life.mttf_h, life.lifetime), left_in_batch: 0, batch_is_bad: false }
    }

    /// Makes the next device the first of a new batch.
    pub(super) fn new_batch(&mut self) {
        self.left_in_batch = 0;
    }

    /// Returns the lifetime distribution of the next device. `draw_weak` draws, for a probability and a number of devices, whether
    /// these devices are weak.
    pub(super) fn next_law(&mut self, mut draw_weak: impl FnMut(f64, u32) -> bool) -> Law {
        if let Some(batches) = &self.life.batches {
            if self.left_in_batch == 0 {
                self.left_in_batch = batches.size;
                self.batch_is_bad = draw_weak(batches.share, batches.size);
            }
            self.left_in_batch -= 1;
            if self.batch_is_bad {
                return Law::Exponential { mean_h: batches.mttf_h };
            }
        }
        match &self.life.infant_mortality {
            Some(infants) if draw_weak(infants.share, 1) => Law::Exponential { mean_h: infants.mttf_h },
            _ => self.law,
        }
    }
}
