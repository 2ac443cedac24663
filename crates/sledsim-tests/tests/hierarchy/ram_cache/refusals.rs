//! Rejected caches and requests.

use serde_json::json;
use sledsim::engine::{ComponentId, Status};
use sledsim::hierarchy::cache::ram::{Eviction, FlushSpec, RamCache, RamCacheSpec, ReadAheadSpec, WritePolicy};
use sledsim::hierarchy::cache::replacement::{slru, ReplacementSpec};
use sledsim::request::Op;
use sledsim_testing::scenarios;

use super::host::{plain, Host};

#[test]
fn contradicting_values_are_rejected_with_both_keys() {
    let flush = |low_water, high_water| FlushSpec { low_water, high_water, ..FlushSpec::default() };
    let base = || scenarios::ram_cache(1 << 20);
    let slru = ReplacementSpec::Slru(slru::Spec { protected_share: 2.0 });
    for (spec, said) in [
        (scenarios::ram_cache(1 << 40), "bytes = 1099511627776: larger than the 33554432 B of child"),
        (scenarios::ram_cache(4096), "bytes = 4096: a cache holds at least two lines, and line_bytes = 4096"),
        (RamCacheSpec { line_bytes: 6000, ..base() }, "line_bytes = 6000 is no whole number of the 512 B blocks"),
        (RamCacheSpec { line_bytes: 0, ..base() }, "line_bytes = 0 is no whole number"),
        (RamCacheSpec { flush: flush(0.9, 0.8), ..base() }, "flush.low_water = 0.9 and flush.high_water = 0.8"),
        (RamCacheSpec { flush: flush(0.5, f64::NAN), ..base() }, "flush.high_water = null"),
        (
            RamCacheSpec { flush: FlushSpec { most_write_bytes: 100, ..FlushSpec::default() }, ..base() },
            "flush.most_write_bytes = 100: less than a block of 512 B",
        ),
        (
            RamCacheSpec { flush: FlushSpec { demand_only: true, ..FlushSpec::default() }, ..base() },
            "flush.idle_ms = 50 has no effect with flush.demand_only = true",
        ),
        (
            RamCacheSpec { write: WritePolicy::Through, eviction: Eviction::Wait, ..base() },
            "eviction = \"wait\" has no effect with write = \"through\"",
        ),
        (
            RamCacheSpec {
                write: WritePolicy::Through,
                flush: FlushSpec { demand_only: true, idle_ms: None, ..FlushSpec::default() },
                ..base()
            },
            "flush.demand_only = true has no effect with write = \"through\"",
        ),
        (
            RamCacheSpec { read_ahead: ReadAheadSpec::Sequential { most_bytes: 512 }, ..base() },
            "read_ahead.most_bytes = 512: less than a line, and line_bytes = 4096",
        ),
        (
            RamCacheSpec { policy: slru.into(), ..base() },
            "policy.protected_share = 2 is out of range: expected a number from 0 to 1",
        ),
    ] {
        let error =
            RamCache::new(&spec, ComponentId(0), 65_536, 512).err().map_or_else(String::new, |fault| fault.to_string());
        assert!(error.contains(said), "{spec:?}: {error}");
    }
}

#[test]
fn requests_beyond_the_child_are_rejected() {
    let mut host = Host::new(&plain(16));
    for (lbn, blocks) in [(0, 0), (65_539, 1), (65_533, 7), (u64::MAX, 2)] {
        assert_eq!(host.ask(Op::Read, lbn, blocks), (0, Status::Refused));
    }
    assert_eq!(host.ask(Op::Read, 65_532, 7).1, Status::Served);
    let mut host = Host::new(&RamCacheSpec { read_ahead: ReadAheadSpec::Line {}, ..plain(16) });
    assert_eq!(host.ask(Op::Read, 65_538, 1).1, Status::Served);
    assert_eq!(host.below(), [(0, Op::Read, 65_536, 3)], "the last line ends with the child");
}

#[test]
fn scenarios_omit_defaults() {
    let read = |document| serde_json::from_value::<RamCacheSpec>(document);
    let spec = read(json!({
        "bytes": 4_194_304,
        "write": "through",
        "read_ahead": {"kind": "sequential"},
        "flush": {"period_s": 30.0},
    }));
    let spec = spec.expect("a cache");
    assert_eq!(spec.read_ahead, ReadAheadSpec::Sequential { most_bytes: 131_072 });
    assert_eq!(spec.flush, FlushSpec { idle_ms: None, period_s: Some(30.0), ..FlushSpec::default() });
    let again = serde_json::to_value(&spec).and_then(serde_json::from_value::<RamCacheSpec>);
    assert_eq!(again.expect("what was written can be read"), spec);
    assert!(read(json!({"bytes": 4_194_304, "lines": 3})).is_err());
}
