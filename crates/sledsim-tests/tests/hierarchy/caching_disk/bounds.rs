//! Rejected sizes, and host memory.

use sledsim::engine::ComponentId;
use sledsim::fault::Faults;
use sledsim::hierarchy::{CachingDisk, CachingDiskFlushSpec, CachingDiskSpec, Child};

const MIB: u64 = 1 << 20;

fn child(id: u32, bytes: u64, block_bytes: u32) -> Child {
    Child { id: ComponentId(id), capacity_blocks: bytes / u64::from(block_bytes), block_bytes }
}

fn build(spec: &CachingDiskSpec) -> Result<CachingDisk, Faults> {
    CachingDisk::new(spec, child(0, 3456 * MIB, 512), child(1, 8600 * MIB, 512))
}

#[test]
fn slots_and_buffer_of_hong_2006_follow_from_its_sizes() {
    let slots = |segment_bytes| {
        let cache =
            build(&CachingDiskSpec { mems_bytes: Some(256 * MIB), segment_bytes, ..CachingDiskSpec::default() })
                .expect("it fits");
        (cache.slots(), (cache.buffer_segments(), cache.journal_headers()))
    };
    // 524,288 blocks in strides of a segment and a header; 31/32 of 2 MiB in segments, the rest in headers of 16 bytes and
    // bits.
    assert_eq!(slots(8 * 1024), (524_288 / 17, (248, 65_536 / 18)));
    assert_eq!(slots(64 * 1024), (524_288 / 129, (31, 65_536 / 32)));
    assert_eq!(slots(256 * 1024), (524_288 / 513, (7, 65_536 / 80)));
}

#[test]
fn invalid_sizes_are_rejected_with_a_suggestion() {
    let fits = CachingDiskSpec { mems_bytes: Some(256 * MIB), ..CachingDiskSpec::default() };
    let flush = Some(CachingDiskFlushSpec { idle_ms: None, period_s: None, high_water: 0.2, low_water: 0.5 });
    let cases = [
        (
            CachingDiskSpec { mems_bytes: Some(4000 * MIB), ..fits.clone() },
            "mems_bytes = 4194304000 exceeds the 3623878656 B of mems",
        ),
        (
            CachingDiskSpec { segment_bytes: 6000, ..fits.clone() },
            "segment_bytes = 6000 is no multiple of the 512 B blocks of disk",
        ),
        (CachingDiskSpec { segment_bytes: 0, ..fits.clone() }, "segment_bytes = 0 is no multiple"),
        (CachingDiskSpec { segment_bytes: 4 * MIB, ..fits.clone() }, "exceeds 2015232 B: its header must fit a block"),
        (
            CachingDiskSpec { segment_bytes: MIB, ..fits.clone() },
            "exceeds half of the 2031616 B that buffer_bytes = 2097152 leaves",
        ),
        (
            CachingDiskSpec { segment_bytes: 512, buffer_bytes: 2000, ..fits.clone() },
            "room for 3 headers of 17 B, but 4 are needed: buffer_bytes = 2176",
        ),
        (
            CachingDiskSpec { mems_bytes: Some(100_000), ..fits.clone() },
            "holds 1 segments of segment_bytes = 65536 and a header",
        ),
        (CachingDiskSpec { flush, ..fits.clone() }, "flush.low_water = 0.5 is above flush.high_water = 0.2"),
    ];
    assert!(build(&fits).is_ok());
    for (spec, message) in cases {
        let error = build(&spec).err().unwrap_or_else(|| panic!("{spec:?} is accepted"));
        assert!(error.to_string().contains(message), "{error}");
    }
    let small = CachingDisk::new(&CachingDiskSpec::default(), child(0, 100 * MIB, 512), child(1, 100 * MIB, 512)).err();
    assert!(small.is_some_and(|error| error.to_string().contains("a cache must be smaller than what it caches")));
    let blocks = CachingDisk::new(&fits, child(0, 1000 * MIB, 4096), child(1, 8600 * MIB, 512)).err();
    assert!(blocks.is_some_and(|error| error.to_string().contains("mems has blocks of 4096 B, disk of 512 B")));
}

#[test]
fn a_segment_takes_the_documented_memory() {
    // The tables only: an empty policy has not allocated memory.
    let per_segment = |segment_bytes, partial_write| {
        let spec =
            CachingDiskSpec { mems_bytes: Some(256 * MIB), segment_bytes, partial_write, ..CachingDiskSpec::default() };
        let cache = build(&spec).expect("it fits");
        cache.memory_bytes() as f64 / f64::from(cache.slots())
    };
    assert_eq!((per_segment(8 * 1024, true), per_segment(64 * 1024, true)), (40.0, 48.0));
    assert_eq!((per_segment(8 * 1024, false), per_segment(256 * 1024, false)), (32.0, 32.0));
}

#[test]
fn unknown_keys_are_rejected_and_defaults_match_hong_2006() {
    let spec: CachingDiskSpec = serde_json::from_str("{}").expect("every key has a default");
    assert_eq!(spec, CachingDiskSpec::default());
    assert_eq!((spec.segment_bytes, spec.buffer_bytes, spec.policy.name()), (64 * 1024, 2 * MIB, "lru"));
    assert!(spec.shortcut && spec.immediate_report && spec.partial_write);
    assert!(serde_json::from_str::<CachingDiskSpec>(r#"{"segments": 3}"#).is_err());
}
