//! The idle modes of a sled: moving, and stopped.

use crate::devices::mems::energy::Power;
use crate::devices::mems::parameters::{IdleTips, MemsParameters, Timeout};
use crate::fault::Fault;
use crate::power::{Ladder, Mode, SpinDown, SpinDownSpec};
use crate::time::ms_to_ns;

/// Returns the idle modes of a sled, in whose first mode `idle_tips` tips read servo bursts.
///
/// # Errors
/// A stopped sled takes more power than a moving one.
pub fn ladder(parameters: &MemsParameters, idle_tips: u32) -> Result<Ladder, Fault> {
    let MemsParameters { inactive_mw, sled_mw, .. } = parameters;
    if inactive_mw > sled_mw {
        return Err(Fault::conflict("inactive_mw", *inactive_mw)
            .says(" exceeds ")
            .key_is("sled_mw", *sled_mw)
            .says(": stopping the sled saves nothing; lower ")
            .option("inactive_mw")
            .says(" or raise ")
            .option("sled_mw"));
    }
    Ladder::new(modes(parameters, idle_tips))
}

/// Returns the spin-down policy of a sled: `spin_down`, or else its timeout.
///
/// # Errors
/// There is a `spin_down`, and a stopped sled takes more power than a moving one.
pub(super) fn policy(parameters: &MemsParameters, spin_down: Option<&SpinDownSpec>) -> Result<SpinDown, Fault> {
    let ladder = match spin_down {
        Some(_) => ladder(parameters, 0)?,
        None => Ladder::of_any_power(modes(parameters, 0))?,
    };
    Ok(SpinDown::new(spin_down, ladder))
}

fn modes(parameters: &MemsParameters, idle_tips: u32) -> Vec<Mode> {
    let p = parameters;
    let Power { sled_w, inactive_w, startup_w, .. } = Power::new(p);
    let ready = Mode {
        name: "idle".into(),
        power_w: sled_w + f64::from(idle_tips) * idle_tip_w(p),
        after_ns: Some(0),
        wake_ns: 0,
        wake_w: 0.0,
    };
    let stopped = Mode {
        name: "inactive".into(),
        power_w: inactive_w,
        after_ns: match p.inactive_after_ms {
            Timeout::AfterMs(value) => Some(ms_to_ns(value)),
            Timeout::Never => None,
        },
        wake_ns: ms_to_ns(p.startup_ms),
        wake_w: startup_w,
    };
    vec![ready, stopped]
}

/// Returns the mean power of a tip of the last access while the sled is idle, in watts.
pub(super) fn idle_tip_w(parameters: &MemsParameters) -> f64 {
    match parameters.idle_tips {
        IdleTips::None => 0.0,
        IdleTips::LastAccess => {
            let data_bits = parameters.tip_sector_bytes * parameters.encoded_bits_per_byte;
            let duty = f64::from(parameters.servo_bits) / f64::from(parameters.servo_bits + data_bits);
            Power::new(parameters).tip_w * duty
        }
    }
}

/// Returns the possible numbers of tips that read servo bursts while the sled is idle: 0; or those of one block, and all active tips.
#[must_use]
pub fn idle_tips(parameters: &MemsParameters) -> Vec<u32> {
    match parameters.idle_tips {
        IdleTips::None => vec![0],
        IdleTips::LastAccess => {
            vec![parameters.block_bytes / parameters.tip_sector_bytes, parameters.active_tips]
        }
    }
}
