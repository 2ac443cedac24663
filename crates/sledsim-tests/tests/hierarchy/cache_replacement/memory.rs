//! The memory of policies: at most the documented bytes per slot, and proportional to the number of entries.

use sledsim::hierarchy::cache::replacement::{build, ReplacementPolicy, MAX_SLOTS, POLICIES};

/// References that fill cache and ghosts: each new key again soon after, and once more after its eviction.
fn fill(policy: &ReplacementPolicy, slots: u32, keys: u64) -> usize {
    let mut cache = build(&policy.default, slots);
    for key in 0..keys {
        cache.reference(key);
        cache.reference(key / 2);
        cache.reference(key.saturating_sub(u64::from(slots) + u64::from(slots) / 4));
    }
    cache.memory_bytes()
}

#[test]
fn a_full_cache_takes_the_documented_memory() {
    for policy in POLICIES {
        for slots in [100, 1_000, 40_000] {
            let bytes = fill(policy, slots, 8 * u64::from(slots)) as f64;
            let stated = policy.bytes_per_slot * f64::from(slots);
            // A table has never fewer than four buckets of 32 bytes; a policy has at most two tables.
            assert!(bytes <= stated + 256.0, "{} of {slots}: {bytes} bytes, stated {stated}", policy.name);
            assert!(bytes >= stated, "{} of {slots}: {bytes} bytes, stated {stated}", policy.name);
        }
    }
}

#[test]
fn memory_grows_with_the_number_of_entries() {
    for policy in POLICIES {
        for keys in [0, 10, 1_000] {
            let bytes = fill(policy, MAX_SLOTS, keys) as f64;
            // Arrays and tables double when they are full.
            let most = 2.0 * policy.bytes_per_slot * keys as f64 + 1_024.0;
            assert!(bytes <= most, "{} with {keys} keys: {bytes} bytes, more than {most}", policy.name);
        }
    }
}
