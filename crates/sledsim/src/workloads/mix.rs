//! Several synthetic workloads at the same time on one system.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::above;
use super::synthetic::one;
use super::{Next, SourceSpec, Synthetic, SyntheticSpec, Workload};
use crate::convert::to_u32;
use crate::engine::Completion;
use crate::fault::{Fault, Faults, Kind, Path, Range};
use crate::request::Request;
use crate::time::Time;

/// The most streams of a mix.
const MAX_STREAMS: usize = 256;

/// The name of the parameters in the list of workloads.
pub type Spec = MixSpec;

/// Several synthetic workloads at the same time.
///
/// Each has its own arrivals, part of the device, sizes and share of reads. The origin of a request is the number of its stream,
/// from 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MixSpec {
    /// Workload of the catalogue, or path of a workload file, that gives the values which are absent here.
    #[serde(default)]
    pub name: Option<String>,
    /// Factor on all times between requests, in addition to that of each stream: 0.5 is twice as fast.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0))]
    #[serde(default = "one")]
    pub time_scale: f64,
    /// Bytes that the streams use, from the start of the system, rounded down to whole blocks; their ranges are fractions of
    /// it. The whole system when absent.
    #[schemars(range(min = 1), extend("x-unit" = "B"))]
    #[serde(default)]
    pub footprint_bytes: Option<u64>,
    /// The workloads, without a name.
    #[schemars(length(min = 1, max = 256))]
    pub streams: Vec<SyntheticSpec>,
}

impl MixSpec {
    /// Checks the parameters, as far as that is possible without the device.
    ///
    /// # Errors
    /// Every key of every stream that is wrong.
    pub fn validate(&self) -> Result<(), Faults> {
        above("time_scale", self.time_scale, 0.0, 1e9)?;
        if self.footprint_bytes == Some(0) {
            return Err(Fault::out_of_range("footprint_bytes", 0, Range::at_least(1.0).whole()).into());
        }
        if !(1..=MAX_STREAMS).contains(&self.streams.len()) {
            let says = format!(" are {}: 1 to {MAX_STREAMS} are allowed", self.streams.len());
            return Err(Fault::at(Kind::OutOfRange, "streams").says(says).into());
        }
        let mut found = Vec::new();
        for (index, stream) in self.streams.iter().enumerate() {
            let path = Path::from("streams").step(index);
            if let Some(name) = &stream.name {
                let says = ": only the whole mix may have a name; remove this one";
                found.push(Fault::conflict(path.step("name"), name.as_str()).says(says));
            }
            found.extend(stream.faults().into_iter().map(|fault| fault.within(&path)));
            if stream.time_scale * self.time_scale > 1e9 {
                found.push(
                    Fault::conflict(path.step("time_scale"), stream.time_scale)
                        .says(" times ")
                        .key_is("time_scale", self.time_scale)
                        .says(" is above 1e9"),
                );
            }
        }
        Faults::none_of(found)
    }

    /// Blocks that the streams use.
    fn footprint_blocks(&self, capacity_blocks: u64, block_bytes: u32) -> Result<u64, Fault> {
        let (Some(bytes), block) = (self.footprint_bytes, u64::from(block_bytes)) else { return Ok(capacity_blocks) };
        let says = match bytes.checked_div(block) {
            // The streams refuse a system without blocks.
            None => return Ok(capacity_blocks),
            Some(0) => format!(": less than a block of {block} B"),
            Some(blocks) if blocks > capacity_blocks => {
                format!(": the system has {} B; give as much or less", u128::from(capacity_blocks) * u128::from(block))
            }
            Some(blocks) => return Ok(blocks),
        };
        Err(Fault::misfit("footprint_bytes", bytes).says(says))
    }
}

impl SourceSpec for MixSpec {
    fn faults(&self) -> Vec<Fault> {
        self.validate().err().into_iter().flatten().collect()
    }

    fn stand_in(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn start(&self, seed: u64, capacity_blocks: u64, block_bytes: u32) -> Result<Box<dyn Workload>, Fault> {
        Ok(Box::new(Mix::new(self, seed, capacity_blocks, block_bytes)?))
    }
}

/// A running mix.
#[derive(Debug)]
pub struct Mix {
    streams: Vec<Synthetic>,
    next_id: u64,
    /// The next arrival and its stream.
    next: (Next, usize),
}

impl Mix {
    /// Starts the workload of `spec` for a device of `capacity_blocks` blocks of `block_bytes` bytes.
    ///
    /// The random streams of stream k are called `workload.k.arrival` and so on, as those of [`Synthetic`]. Adding or removing
    /// streams at the end of the list does not change the requests of the others.
    ///
    /// # Errors
    /// A parameter is out of range or does not suit the device.
    pub fn new(spec: &MixSpec, seed: u64, capacity_blocks: u64, block_bytes: u32) -> Result<Self, Fault> {
        spec.validate().map_err(Faults::first)?;
        let footprint_blocks = spec.footprint_blocks(capacity_blocks, block_bytes)?;
        let stream_of = |(index, stream): (usize, &SyntheticSpec)| {
            let scaled = SyntheticSpec { time_scale: stream.time_scale * spec.time_scale, ..stream.clone() };
            Synthetic::build(&scaled, &format!("workload.{index}"), seed, footprint_blocks, block_bytes)
                .map_err(|fault| fault.within(format!("streams.{index}")))
        };
        let streams = spec.streams.iter().enumerate().map(stream_of).collect::<Result<Vec<_>, _>>()?;
        let mut mix = Self { streams, next_id: 0, next: (Next::Ended, 0) };
        mix.find_next();
        Ok(mix)
    }

    /// Finds the stream with the earliest next request; of several, the first in the list.
    fn find_next(&mut self) {
        let mut first: Option<(Time, usize)> = None;
        let mut waiting = false;
        for (index, stream) in self.streams.iter().enumerate() {
            match stream.next() {
                Next::At(at) if first.is_none_or(|(earliest, _)| at < earliest) => first = Some((at, index)),
                Next::Waiting => waiting = true,
                _ => {}
            }
        }
        self.next = match first {
            Some((at, index)) => (Next::At(at), index),
            None => (if waiting { Next::Waiting } else { Next::Ended }, 0),
        };
    }
}

impl Workload for Mix {
    #[inline]
    fn peek(&mut self) -> Result<Next, Fault> {
        Ok(self.next.0)
    }

    #[inline]
    fn take(&mut self) -> Request {
        let (id, index) = (self.next_id, self.next.1);
        self.next_id += 1;
        let request = self.streams[index].take();
        self.find_next();
        Request { id, origin: to_u32(index), ..request }
    }

    fn is_open(&self) -> bool {
        self.streams.iter().all(Workload::is_open)
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) {
        if let Some(stream) =
            self.streams.get_mut(completion.request.origin as usize).filter(|stream| !stream.is_open())
        {
            stream.completed(completion);
            self.find_next();
        }
    }
}
