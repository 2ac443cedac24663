//! The devices of an enclosure, and where new ones come from.

use super::lifetime::Law;
use super::parameters::DeviceLife;

/// What a device's place holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A device that holds data.
    InUse,
    /// A dedicated spare.
    Spare,
    /// Nothing, until somebody comes.
    Missing,
}

/// A device's place in an enclosure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) role: Role,
    /// The law of the device's life.
    pub(super) law: Law,
    /// Since when it ages, h.
    pub(super) since_h: f64,
    /// Since when it holds data, h.
    pub(super) data_since_h: f64,
    /// When it is known to fail, h; infinity where only its hazard is known, or where it does not age.
    pub(super) fails_h: f64,
}

/// New devices, batch by batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery<'a> {
    life: &'a DeviceLife,
    law: Law,
    left: u32,
    bad: bool,
}

impl<'a> Delivery<'a> {
    pub(super) fn new(life: &'a DeviceLife) -> Self {
        Self { life, law: Law::new(life.mttf_h, life.lifetime), left: 0, bad: false }
    }

    /// Begins a new batch with the next device.
    pub(super) fn new_batch(&mut self) {
        self.left = 0;
    }

    /// The law of the next device's life; `happens` draws whether something happens that does so with a probability, and
    /// for so many devices at a time.
    pub(super) fn next_law(&mut self, mut happens: impl FnMut(f64, u32) -> bool) -> Law {
        if let Some(batches) = &self.life.batches {
            if self.left == 0 {
                self.left = batches.size;
                self.bad = happens(batches.share, batches.size);
            }
            self.left -= 1;
            if self.bad {
                return Law::Exponential { mean_h: batches.mttf_h };
            }
        }
        match &self.life.infant_mortality {
            Some(infants) if happens(infants.share, 1) => Law::Exponential { mean_h: infants.mttf_h },
            _ => self.law,
        }
    }
}
