//! Named random streams: the same seed and name give the same numbers on every platform.
//!
//! Each random part of a scenario has its own stream, so a change of one part (say, request sizes) does not change the
//! numbers of the others (arrivals, locations): common random numbers. Samples are drawn by inversion, one number per
//! sample, wherever that is possible: two runs that differ in a rate or a mean then stay in step. Transcendental
//! functions come from `libm`, because those of the platform differ.

use std::f64::consts::LN_2;

use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::convert::{to_usize, wide_product};
use crate::metrics::quantile::normal_quantile;

/// 2^-53: the distance between neighbouring outcomes of [`Stream::unit`].
const UNIT_STEP: f64 = 1.0 / (1_u64 << 53) as f64;

/// A stream of random numbers, determined by a seed and a name.
///
/// The generator is xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021). Its 256
/// bits of state are the first four outputs of SplitMix64 started at `mix(mix(seed) + fnv1a(name))`, where `mix` is
/// SplitMix64's output function and `fnv1a` the 64-bit FNV-1a hash of the name's UTF-8 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    generator: Xoshiro256PlusPlus,
}

impl Stream {
    /// The stream called `name` in a run with this `seed`.
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Self {
        let mut state = start(seed, name);
        let mut bytes = [0_u8; 32];
        for word in bytes.chunks_exact_mut(8) {
            state = state.wrapping_add(GOLDEN_GAMMA);
            word.copy_from_slice(&mix(state).to_le_bytes());
        }
        Self { generator: Xoshiro256PlusPlus::from_seed(bytes) }
    }

    /// 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * UNIT_STEP
    }

    /// Uniform in (0, 1], a multiple of 2^-53; never 0, so that its logarithm is finite.
    #[inline]
    pub fn positive_unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * UNIT_STEP
    }

    /// `true` with this `probability`: never for 0, always for 1.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Uniform integer below `n`, without bias; 0 for `n` = 0.
    ///
    /// Multiplication and rejection of D. Lemire, "Fast random integer generation in an interval", 2019: the division
    /// is needed with probability `n` / 2^64 only.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        let (mut high, mut low) = wide_product(self.bits(), n);
        if low < n {
            let threshold = n.wrapping_neg() % n;
            while low < threshold {
                (high, low) = wide_product(self.bits(), n);
            }
        }
        high
    }

    /// Exponential with mean 1, by inversion.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        minus_log_unit((self.bits() >> 11) + 1)
    }

    /// Normal with mean 0 and standard deviation 1, by inversion.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        // The middle of the step keeps the outcome off 0 and 1 and the distribution symmetric.
        normal_quantile((self.bits() >> 11) as f64 * UNIT_STEP + 0.5 * UNIT_STEP)
    }

    /// Gamma with this `shape` (> 0) and scale 1, so mean and variance are `shape`.
    ///
    /// Rejection of G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", 2000, with their
    /// correction for shapes below 1.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let boost = libm::pow(self.positive_unit(), 1.0 / shape);
            return self.gamma(shape + 1.0) * boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let root = 1.0 + c * x;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            if libm::log(self.positive_unit()) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
                return d * v;
            }
        }
    }

    /// Puts `items` into an order drawn uniformly from all orders (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let chosen = to_usize(self.below(last as u64 + 1));
            items.swap(chosen, last);
        }
    }
}

/// Random numbers by index, determined by a seed and a name: each can be computed without the preceding ones.
///
/// Number i is output i + 1 of SplitMix64 started where [`Stream`] starts it. It passes the usual batteries of tests
/// (G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indexed {
    start: u64,
}

impl Indexed {
    /// The numbers called `name` in a run with this `seed`.
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Self {
        Self { start: start(seed, name) }
    }

    #[inline]
    const fn bits(&self, index: u64) -> u64 {
        mix(self.start.wrapping_add(GOLDEN_GAMMA.wrapping_mul(index.wrapping_add(1))))
    }

    /// `true` with this `probability`: never for 0, always for 1.
    #[inline]
    #[must_use]
    pub fn chance(&self, index: u64, probability: f64) -> bool {
        ((self.bits(index) >> 11) as f64 * UNIT_STEP) < probability
    }

    /// Uniform integer below `n`, 0 for `n` = 0: each as likely as any other to `n` / 2^64.
    #[inline]
    #[must_use]
    pub fn below(&self, index: u64, n: u64) -> u64 {
        ((u128::from(self.bits(index)) * u128::from(n)) >> 64) as u64
    }
}

/// Returns the initial state of SplitMix64 for a seed and a name.
fn start(seed: u64, name: &str) -> u64 {
    mix(mix(seed).wrapping_add(fnv1a(name)))
}

/// The increment of SplitMix64: 2^64 divided by the golden ratio, made odd.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64: a bijection of the 64-bit words that scatters neighbours.
const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The 64-bit FNV-1a hash of a name.
fn fnv1a(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Base-2 logarithm of the number of entries of [`LOG_TABLE`].
const LOG_TABLE_BITS: u32 = 7;

/// 1 / c and ln c for the middles c of 2^7 equal parts of [1, 2).
static LOG_TABLE: [(f64, f64); 1 << LOG_TABLE_BITS] = log_table();

const fn log_table() -> [(f64, f64); 1 << LOG_TABLE_BITS] {
    let mut table = [(0.0, 0.0); 1 << LOG_TABLE_BITS];
    let mut entry = 0;
    while entry < table.len() {
        let middle = 1.0 + (entry as f64 + 0.5) / table.len() as f64;
        // ln c = 2 artanh z with z = (c - 1) / (c + 1) <= 1/3: 20 terms reach beyond the last digit.
        let z = (middle - 1.0) / (middle + 1.0);
        let mut sum = 0.0;
        let mut term = 20;
        while term > 0 {
            term -= 1;
            sum = sum * z * z + 2.0 / (2 * term + 1) as f64;
        }
        table[entry] = (1.0 / middle, sum * z);
        entry += 1;
    }
    table
}

/// -ln(`n` / 2^53) for `n` from 1 to 2^53, to an absolute accuracy of 1e-15; never negative.
///
/// More than twice as fast as a general logarithm, which would be most of the cost of an arrival: a table reduces the
/// mantissa, the rest is a short series. Plain multiplications and additions give the same bits everywhere.
#[inline]
fn minus_log_unit(n: u64) -> f64 {
    let bits = (n as f64).to_bits();
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    let (inverse, log_middle) = LOG_TABLE[(bits >> (52 - LOG_TABLE_BITS)) as usize % LOG_TABLE.len()];
    // At most 1/256 away from 0.
    let r = mantissa * inverse - 1.0;
    let log_rest = r + r * r * (-0.5 + r * (1.0 / 3.0 + r * (-0.25 + r * 0.2)));
    let halvings = (53 + 1023) - (bits >> 52) as i32;
    (f64::from(halvings) * LN_2 - (log_middle + log_rest)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_seeds_choose_the_stream() {
        let first = |seed, name| Stream::new(seed, name).bits();
        assert_eq!(first(7, "a"), first(7, "a"));
        assert_ne!(first(7, "a"), first(8, "a"));
        assert_ne!(first(7, "a"), first(7, "b"));
        // A sum or an exclusive or of seed and hash alone would make such pairs collide.
        assert_ne!(first(0, ""), first(fnv1a(""), ""));
    }

    #[test]
    fn hash_matches_its_published_values() {
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a("foobar"), 0x8594_4171_f739_67e8);
        // The first outputs of SplitMix64 from state 0.
        assert_eq!(mix(GOLDEN_GAMMA), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(GOLDEN_GAMMA.wrapping_mul(2)), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn integers_below_n_stay_below_and_reach_every_value() {
        let mut stream = Stream::new(1, "below");
        assert_eq!(stream.below(0), 0);
        assert_eq!(stream.below(1), 0);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[stream.below(7) as usize] += 1;
        }
        let chi_square: f64 = counts.iter().map(|&n| (f64::from(n) - 1e4).powi(2) / 1e4).sum();
        assert!(chi_square < 22.5, "{chi_square} has a probability below 0.001 with 6 degrees of freedom");
        for _ in 0..1000 {
            assert!(stream.below(u64::MAX) < u64::MAX);
        }
    }

    #[test]
    fn fast_logarithm_agrees_with_the_general_one() {
        let check = |n: u64| {
            let (fast, general) = (minus_log_unit(n), -libm::log(n as f64 * UNIT_STEP));
            assert!(fast >= 0.0 && (fast - general).abs() < 1e-15 * (1.0 + general), "{n}: {fast}, not {general}");
        };
        let mut stream = Stream::new(2, "logarithm");
        for shift in 0..=52 {
            let power = 1_u64 << shift;
            (0..2000).for_each(|_| check(power + stream.below(power) + 1));
            [power, 2 * power - 1, 2 * power].into_iter().for_each(check);
        }
        assert_eq!(minus_log_unit(1 << 53), 0.0);
    }

    #[test]
    fn indexed_numbers_are_the_outputs_of_a_splitmix() {
        let numbers = Indexed::new(7, "a");
        let mut state = start(7, "a");
        for index in 0..100 {
            state = state.wrapping_add(GOLDEN_GAMMA);
            assert_eq!(numbers.bits(index), mix(state));
            assert!(numbers.below(index, 3) < 3 && numbers.below(index, 0) == 0);
            assert!(!numbers.chance(index, 0.0) && numbers.chance(index, 1.0));
        }
        assert_ne!(numbers, Indexed::new(8, "a"));
        assert_ne!(numbers, Indexed::new(7, "b"));
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        Stream::new(3, "shuffle").shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
