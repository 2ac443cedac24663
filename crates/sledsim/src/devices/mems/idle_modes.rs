//! The idle modes of a sled: moving, and stopped.

use super::parameters::{IdleTips, MemsParameters, Timeout};
use crate::power::{Ladder, Mode};
use crate::units::NS_PER_MS;

/// The idle modes of a sled of which `tips` go on reading servo bursts while it moves.
///
/// # Errors
/// A stopped sled that takes more power than a moving one.
pub fn ladder(parameters: &MemsParameters, tips: u32) -> Result<Ladder, String> {
    let p = parameters;
    let data_bits = f64::from(p.tip_sector_bytes) * f64::from(p.encoded_bits_per_byte);
    let servo_bits = f64::from(p.servo_bits);
    // A tip is on while its servo bursts pass, which lie before each tip sector.
    let tips_mw = f64::from(tips) * p.tip_mw * servo_bits / (servo_bits + data_bits);
    if p.inactive_mw > p.sled_mw + tips_mw {
        return Err(format!(
            "inactive_mw = {} is more power than the {} mW of the idle sled: stopping cannot save; lower inactive_mw",
            p.inactive_mw,
            p.sled_mw + tips_mw
        ));
    }
    let ns = |ms: f64| (ms * NS_PER_MS).round() as u64;
    let mode = |name: &str, power_mw: f64| Mode {
        name: name.to_owned(),
        power_w: power_mw * 1e-3,
        after_ns: Some(0),
        wake_ns: 0,
        wake_w: 0.0,
    };
    let after_ns = match p.inactive_after_ms {
        Timeout::AfterMs(after_ms) => Some(ns(after_ms)),
        Timeout::Never => None,
    };
    Ladder::new(vec![
        mode("idle", p.sled_mw + tips_mw),
        Mode { after_ns, wake_ns: ns(p.startup_ms), wake_w: p.startup_mw * 1e-3, ..mode("inactive", p.inactive_mw) },
    ])
}

/// How many tips may go on reading servo bursts while the sled is idle: none, or those of a block and all that can work at
/// once.
#[must_use]
pub fn idle_tips(parameters: &MemsParameters) -> Vec<u32> {
    match parameters.idle_tips {
        IdleTips::None => vec![0],
        IdleTips::LastAccess => {
            vec![parameters.block_bytes / parameters.tip_sector_bytes, parameters.active_tips]
        }
    }
}
