//! DiskSim's random numbers: POSIX `rand48`, one sequence for each thread.

use std::cell::Cell;

const FACTOR: u64 = 0x5_deec_e66d;
const ADDEND: u64 = 0xb;
const MASK: u64 = (1 << 48) - 1;

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(0x1234_abcd_330e) };
}

/// Starts the sequence of a seed.
pub fn seed(seed: u32) {
    STATE.set(u64::from(seed) << 16 | 0x330e);
}

fn next() -> u64 {
    let next = STATE.get().wrapping_mul(FACTOR).wrapping_add(ADDEND) & MASK;
    STATE.set(next);
    next
}

/// Returns the `count` highest bits of the next number.
pub fn bits(count: u32) -> u64 {
    next() >> (48 - count)
}

/// Returns the next number in [0, 1).
pub fn fraction() -> f64 {
    next() as f64 / (1_u64 << 48) as f64
}
