//! Synthetic workloads, which draw arrival, size, location and operation independently.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arrival::Arrivals;
use super::continuation::{ContinuationSpec, Operations};
use super::distribution::{above, within};
use super::location::{Extent, Locations};
use super::needs::{LastBlock, MetadataSpec, Needs};
use super::{ArrivalSpec, Distribution, LocationSpec, Next, Sampler, SourceSpec, Workload};
use crate::convert::trunc_to_u32;
use crate::engine::random::{Indexed, Stream};
use crate::engine::Completion;
use crate::fault::{Fault, Faults, Kind};
use crate::request::{Flags, Padding, Request};

/// Largest device, in blocks, that a workload supports, so that positions and distances do not overflow.
const MAX_CAPACITY_BLOCKS: u64 = 1 << 60;

/// The name of the parameters in the list of workloads.
pub type Spec = SyntheticSpec;

/// A synthetic workload. Arrivals, sizes, locations and operations are independent, and each has its own random stream. Only
/// `continuation` correlates operations and locations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyntheticSpec {
    /// Workload of the catalogue, or path of a workload file, that gives the values which are absent here.
    #[serde(default)]
    pub name: Option<String>,
    /// When requests arrive.
    pub arrival: ArrivalSpec,
    /// Factor on all times between requests: 0.5 is twice as fast.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
    #[serde(default = "one")]
    pub time_scale: f64,
    /// Sizes in bytes, rounded up to whole blocks, from one block to the range of the device in use. Subsector accesses leave
    /// out the bytes that the rounding adds.
    #[serde(default = "default_size_bytes")]
    pub size_bytes: Distribution,
    /// Start of the requests.
    #[serde(default)]
    pub location: LocationSpec,
    /// The part of the device in use.
    #[serde(default)]
    pub range: RangeSpec,
    /// Probability that a request is a read.
    #[schemars(range(min = 0, max = 1))]
    #[serde(default = "default_read_fraction")]
    pub read_fraction: f64,
    /// Requests that start where the one before ends; none when absent.
    #[serde(default)]
    pub continuation: Option<ContinuationSpec>,
    /// Share of the requests that are synchronous (a process waits for them), drawn at random.
    #[schemars(range(min = 0, max = 1))]
    #[serde(default)]
    pub synchronous_fraction: f64,
    /// The bytes that a request needs in its last block.
    #[serde(default)]
    pub last_block: LastBlock,
    /// Metadata requests, which need only a few bytes; none when absent.
    #[serde(default)]
    pub metadata: Option<MetadataSpec>,
}

fn default_size_bytes() -> Distribution {
    Distribution::Fixed { value: 4096.0 }
}

const fn default_read_fraction() -> f64 {
    1.0
}

pub(super) const fn one() -> f64 {
    1.0
}

/// A part of the device, from one fraction of its capacity to another; the whole device by default.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RangeSpec {
    /// Start, as a fraction of the capacity.
    #[schemars(range(min = 0, max = 1))]
    pub start_fraction: f64,
    /// End, as a fraction of the capacity; above the start.
    #[schemars(range(min = 0, max = 1))]
    pub end_fraction: f64,
}

impl Default for RangeSpec {
    fn default() -> Self {
        Self { start_fraction: 0.0, end_fraction: 1.0 }
    }
}

impl RangeSpec {
    fn validate(self) -> Result<(), Fault> {
        within("start_fraction", self.start_fraction, 0.0, 1.0)?;
        above("end_fraction", self.end_fraction, self.start_fraction, 1.0)
    }
}

impl SyntheticSpec {
    /// Checks the parameters, as far as that is possible without the device.
    ///
    /// # Errors
    /// Every key that is wrong.
    pub fn validate(&self) -> Result<(), Faults> {
        Faults::of_all([
            self.arrival.validate().map_err(|faults| faults.within("arrival")),
            self.size_bytes.validate().map_err(|fault| fault.within("size_bytes").into()),
            self.location.validate().map_err(|faults| faults.within("location")),
            self.range.validate().map_err(|fault| fault.within("range").into()),
            above("time_scale", self.time_scale, 0.0, 1e9).map_err(Faults::from),
            within("read_fraction", self.read_fraction, 0.0, 1.0).map_err(Faults::from),
            self.continuation
                .map_or(Ok(()), |shares| shares.validate().map_err(|fault| fault.within("continuation").into())),
            within("synchronous_fraction", self.synchronous_fraction, 0.0, 1.0).map_err(Faults::from),
            self.check_metadata().map_err(Faults::from),
        ])
    }

    fn check_metadata(&self) -> Result<(), Fault> {
        match self.metadata {
            Some(MetadataSpec { share: None, .. }) => Err(Fault::missing("metadata.share")
                .says(": there is no trace that marks metadata, so give their share, from 0 to 1")),
            Some(spec) => spec.validate(),
            None => Ok(()),
        }
    }
}

impl SourceSpec for SyntheticSpec {
    fn faults(&self) -> Vec<Fault> {
        self.validate().err().into_iter().flatten().collect()
    }

    fn stand_in(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn start(&self, seed: u64, capacity_blocks: u64, block_bytes: u32) -> Result<Box<dyn Workload>, Fault> {
        Ok(Box::new(Synthetic::new(self, seed, capacity_blocks, block_bytes)?))
    }
}

/// A running synthetic workload, without an end.
#[derive(Debug)]
pub struct Synthetic {
    arrivals: Arrivals,
    sizes: Sizes,
    locations: Locations,
    operations: Operations,
    synchronous: Option<Synchronous>,
    needs: Needs,
    next_id: u64,
}

impl Synthetic {
    /// Starts the workload of `spec` for a device of `capacity_blocks` blocks of `block_bytes` bytes.
    ///
    /// Its random streams are called `workload.arrival`, `workload.size`, `workload.location`, `workload.shuffle`,
    /// `workload.operation`, `workload.continuation`, `workload.synchronous` and `workload.needs.…`.
    ///
    /// # Errors
    /// A parameter is out of range or does not suit the device.
    pub fn new(spec: &SyntheticSpec, seed: u64, capacity_blocks: u64, block_bytes: u32) -> Result<Self, Fault> {
        Self::build(spec, "workload", seed, capacity_blocks, block_bytes)
    }

    /// As [`Synthetic::new`], with `prefix` in place of `workload` in the names of the random streams.
    pub(super) fn build(
        spec: &SyntheticSpec,
        prefix: &str,
        seed: u64,
        capacity_blocks: u64,
        block_bytes: u32,
    ) -> Result<Self, Fault> {
        spec.validate().map_err(Faults::first)?;
        if !(1..=MAX_CAPACITY_BLOCKS).contains(&capacity_blocks) || block_bytes == 0 {
            let says = format!("no workload fits a device of {capacity_blocks} blocks of {block_bytes} bytes");
            return Err(Fault::new(Kind::Misfit).says(says));
        }
        let stream = |part: &str| Stream::new(seed, &format!("{prefix}.{part}"));
        let extent = Extent { first: 0, end: capacity_blocks }
            .part(spec.range.start_fraction, spec.range.end_fraction)
            .map_err(|fault| fault.within("range"))?;
        let locations = Locations::new(&spec.location, extent, block_bytes, stream("location"), stream("shuffle"))
            .map_err(|fault| fault.within("location"))?;
        let max_blocks = u32::try_from(locations.max_blocks()).unwrap_or(u32::MAX);
        Ok(Self {
            arrivals: Arrivals::new(&spec.arrival, spec.time_scale, stream("arrival"))
                .map_err(|fault| fault.within("arrival"))?,
            sizes: Sizes::new(&spec.size_bytes, stream("size"), block_bytes, max_blocks)?,
            locations,
            operations: Operations::new(
                spec.read_fraction,
                spec.continuation,
                stream("operation"),
                stream("continuation"),
            ),
            synchronous: (spec.synchronous_fraction > 0.0).then(|| Synchronous {
                choices: Indexed::new(seed, &format!("{prefix}.synchronous")),
                fraction: spec.synchronous_fraction,
            }),
            needs: Needs::new(spec.last_block, spec.metadata, prefix, seed, block_bytes),
            next_id: 0,
        })
    }

    /// The next arrival.
    #[inline]
    pub(super) const fn next(&self) -> Next {
        self.arrivals.next()
    }
}

/// A generator of the synchronous flag.
#[derive(Debug)]
struct Synchronous {
    choices: Indexed,
    fraction: f64,
}

impl Synchronous {
    #[inline]
    fn flags(&self, index: u64) -> Flags {
        if self.choices.chance(index, self.fraction) {
            Flags::SYNCHRONOUS
        } else {
            Flags::NONE
        }
    }
}

impl Workload for Synthetic {
    #[inline]
    fn peek(&mut self) -> Result<Next, Fault> {
        Ok(self.next())
    }

    #[inline]
    fn take(&mut self) -> Request {
        let id = self.next_id;
        self.next_id += 1;
        let Size { blocks, spare_bytes } = self.sizes.draw();
        let (op, continues) = self.operations.next();
        let after = if continues { self.locations.continue_with(blocks) } else { None };
        let mut request = Request {
            id,
            arrival: self.arrivals.take(),
            lbn: after.unwrap_or_else(|| self.locations.place(blocks)),
            blocks,
            op,
            flags: self.synchronous.as_ref().map_or(Flags::NONE, |synchronous| synchronous.flags(id)),
            origin: 0,
            padding: Padding { front_bytes: 0, back_bytes: spare_bytes },
        };
        self.needs.apply(id, &mut request);
        request
    }

    fn is_open(&self) -> bool {
        self.arrivals.are_open()
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) {
        self.arrivals.completed(completion.service.end);
    }
}

/// The size of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    blocks: u32,
    /// Bytes at the end that rounding up has added, fewer than a block.
    spare_bytes: u32,
}

/// A generator of sizes.
#[derive(Debug)]
struct Sizes {
    stream: Stream,
    bytes: Sampler,
    block_bytes: u32,
    max_blocks: u32,
    /// The size, if it is always the same.
    fixed: Option<Size>,
}

impl Sizes {
    fn new(size_bytes: &Distribution, stream: Stream, block_bytes: u32, max_blocks: u32) -> Result<Self, Fault> {
        let bytes = size_bytes.sampler().map_err(|fault| fault.within("size_bytes"))?;
        let fixed = bytes.fixed().map(|bytes| whole_blocks(bytes, block_bytes, max_blocks));
        Ok(Self { stream, bytes, block_bytes, max_blocks, fixed })
    }

    #[inline]
    fn draw(&mut self) -> Size {
        match self.fixed {
            Some(size) => size,
            None => whole_blocks(self.bytes.sample(&mut self.stream), self.block_bytes, self.max_blocks),
        }
    }
}

/// `bytes` rounded up to whole blocks, at least 1 and at most `max_blocks`.
#[inline]
fn whole_blocks(bytes: f64, block_bytes: u32, max_blocks: u32) -> Size {
    let block = f64::from(block_bytes);
    let blocks = bytes / block;
    let floor = trunc_to_u32(blocks);
    let up = u32::from(f64::from(floor) < blocks);
    let blocks = floor.saturating_add(up).clamp(1, max_blocks);
    // A size above the maximum gives a negative number, which is 0 here. A request needs at least one byte.
    let spare_bytes = trunc_to_u32(f64::from(blocks) * block - bytes);
    Size { blocks, spare_bytes: spare_bytes.min(block_bytes - 1) }
}

#[cfg(test)]
mod tests {
    use super::super::arrival::poisson;
    use super::super::location::uniform;
    use super::*;
    use crate::fault::Range;

    #[test]
    fn sizes_round_up_to_whole_blocks() {
        let blocks = |bytes| whole_blocks(bytes, 512, 1000).blocks;
        assert_eq!([0.0, 1.0, 512.0, 512.5, 513.0, 4096.0].map(blocks), [1, 1, 1, 2, 2, 8]);
        assert_eq!([512e3, 512e3 + 1.0, 1e300, f64::INFINITY].map(blocks), [1000; 4]);
        assert_eq!(whole_blocks(f64::INFINITY, 512, u32::MAX), Size { blocks: u32::MAX, spare_bytes: 0 });
    }

    #[test]
    fn bytes_added_by_rounding_are_spare() {
        let spare = |bytes| whole_blocks(bytes, 512, 1000).spare_bytes;
        assert_eq!([0.0, 0.5, 1.0, 66.0, 511.5, 512.0, 512.5, 513.0].map(spare), [511, 511, 511, 446, 0, 0, 511, 511]);
        assert_eq!([512e3, 512e3 + 1.0, 1e300, f64::INFINITY].map(spare), [0; 4]);
    }

    #[test]
    fn defaults_are_reads_of_4096_bytes_anywhere() {
        let text = r#"{"arrival": {"kind": "poisson", "rate_per_s": 100}}"#;
        let spec: SyntheticSpec = serde_json::from_str(text).expect("a valid workload");
        assert_eq!(spec.size_bytes, Distribution::Fixed { value: 4096.0 });
        assert_eq!(spec.location, LocationSpec::Uniform(uniform::Spec { align_bytes: None }));
        assert_eq!((spec.range, spec.read_fraction), (RangeSpec::default(), 1.0));
        assert_eq!((spec.time_scale, spec.synchronous_fraction, spec.last_block), (1.0, 0.0, LastBlock::Whole));
        assert_eq!((spec.name, spec.continuation, spec.metadata), (None, None, None));
    }

    #[test]
    fn errors_name_their_key() {
        let text = r#"{"arrival": {"kind": "poisson", "rate_per_s": -1}}"#;
        let mut spec: SyntheticSpec = serde_json::from_str(text).expect("well-formed");
        let message = spec.validate();
        let below = Fault::out_of_range("arrival.rate_per_s", -1.0, Range::above_to(0.0, 1e9));
        assert_eq!(message, Err(below.clone().into()));
        spec.range = RangeSpec { start_fraction: 0.5, end_fraction: 0.2 };
        let order = Fault::out_of_range("range.end_fraction", 0.2, Range::above_to(0.5, 1.0));
        assert_eq!(spec.faults(), [below, order]);
        spec.range = RangeSpec::default();
        spec.arrival = ArrivalSpec::Poisson(poisson::Spec { rate_per_s: 1.0 });
        assert!(Synthetic::new(&spec, 0, 0, 512).is_err());
        assert!(Synthetic::new(&spec, 0, 1, 0).is_err());
        assert!(Synthetic::new(&spec, 0, 1, 512).is_ok());
        spec.range = RangeSpec { start_fraction: 0.2, end_fraction: 0.3 };
        assert!(Synthetic::new(&spec, 0, 3, 512).is_err());
    }
}
