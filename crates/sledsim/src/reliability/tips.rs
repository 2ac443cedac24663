//! Failure of a device by the loss of tips.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::engine::random::Stream;

use super::parameters::Tips;

/// Draws between two checks of the stop flag: about 1 ms.
const STOP_CHECK_DRAWS: u32 = 1 << 15;

impl Tips {
    /// Draws the age at which a device loses data because of its tips, h; infinity if that is after `until_h`, or if `stop` is set.
    ///
    /// Tips fail independently. A spare tip replaces each failed tip after the remapping time, as long as there are spare tips. The
    /// device fails when more tips are missing than the error correction tolerates. There may be millions of failures of tips.
    pub(super) fn sample_h(&self, until_h: f64, stream: &mut Stream, stop: &AtomicBool) -> f64 {
        let (mut now_h, mut missing, mut spares) = (0.0, 0, self.spares);
        let mut remapped_h: VecDeque<f64> = VecDeque::new();
        let mut drawn: u32 = 0;
        while now_h <= until_h {
            drawn = drawn.wrapping_add(1);
            if drawn.is_multiple_of(STOP_CHECK_DRAWS) && stop.load(Ordering::Relaxed) {
                break;
            }
            let next_h = now_h + self.mttf_h / f64::from(self.count - missing) * stream.exponential();
            // Lifetimes of tips are exponential: the time to the next failure can be drawn again when their number
            // changes.
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
