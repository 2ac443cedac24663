//! When a device has lost more tips than it can make good.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::engine::random::Stream;

use super::parameters::Tips;

/// Draws after which it sees whether it is to stop: a thousandth of a second, or so.
const UNHEARD: u32 = 1 << 15;

impl Tips {
    /// Draws the age at which a device loses data by its tips, h; infinity where that is after `until_h`.
    ///
    /// Tips fail one by one. A spare tip takes the place of each after the time of a remapping, as long as there are any.
    /// The device is lost when more tips are missing than its error correction makes good. There may be millions of failures;
    /// where it is told to stop, nobody waits for the answer, and it says infinity.
    pub(super) fn sample_h(&self, until_h: f64, stream: &mut Stream, stop: &AtomicBool) -> f64 {
        let (mut now_h, mut missing, mut spares) = (0.0, 0, self.spares);
        let mut remapped_h: VecDeque<f64> = VecDeque::new();
        let mut drawn: u32 = 0;
        while now_h <= until_h {
            drawn = drawn.wrapping_add(1);
            if drawn.is_multiple_of(UNHEARD) && stop.load(Ordering::Relaxed) {
                break;
            }
            let next_h = now_h + self.mttf_h / f64::from(self.count - missing) * stream.exponential();
            // Tips have no memory: the time to the next failure is drawn anew whenever their number changes.
            if remapped_h.front().is_some_and(|&back_h| back_h <= next_h) {
                now_h = remapped_h.pop_front().unwrap_or(next_h);
                missing -= 1;
                continue;
            }
            now_h = next_h;
            let has_spare = spares > 0;
            spares -= u32::from(has_spare);
            if has_spare && self.remap_h == 0.0 {
                continue;
            }
            if missing == self.tolerated {
                return now_h;
            }
            missing += 1;
            if has_spare {
                remapped_h.push_back(now_h + self.remap_h);
            }
        }
        f64::INFINITY
    }
}
