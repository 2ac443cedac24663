//! Pins the random streams: results of published scenarios depend on every bit of them.

use sledsim::engine::random::Stream;

#[test]
fn first_numbers_of_a_stream_never_change() {
    let mut stream = Stream::new(42, "workload.arrival");
    let bits: [u64; 4] = std::array::from_fn(|_| stream.bits());
    assert_eq!(bits, [0; 4]);

    let mut stream = Stream::new(0, "");
    assert_eq!(stream.bits(), 0);
}

#[test]
fn first_samples_never_change_on_any_platform() {
    let mut stream = Stream::new(42, "samples");
    let samples = [
        stream.unit(),
        stream.exponential(),
        stream.exponential(),
        stream.normal(),
        stream.normal(),
        stream.gamma(0.3),
        stream.gamma(4.5),
        stream.below(1_000_003) as f64,
    ];
    assert_eq!(samples.map(f64::to_bits), [0; 8], "{samples:?}");
}
