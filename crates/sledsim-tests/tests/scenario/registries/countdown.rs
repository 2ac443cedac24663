//! A workload that reads single blocks in descending order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Next, SourceSpec, Workload};
use crate::engine::Completion;
use crate::fault::Fault;
use crate::registry::check_ranges;
use crate::request::Request;
use crate::time::Time;

/// Reads of single blocks in descending order, down to block 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// The first block to read.
    #[schemars(range(min = 1, max = 1000))]
    pub from: u64,
}

impl SourceSpec for Spec {
    fn faults(&self) -> Vec<Fault> {
        check_ranges(self).err().into_iter().flatten().collect()
    }

    fn start(&self, _seed: u64, _capacity_blocks: u64, _block_bytes: u32) -> Result<Box<dyn Workload>, Fault> {
        Ok(Box::new(Countdown { from: self.from, taken: 0 }))
    }
}

struct Countdown {
    from: u64,
    taken: u64,
}

impl Workload for Countdown {
    fn peek(&mut self) -> Result<Next, Fault> {
        let at = Time::from_ns(self.taken * 1_000_000);
        Ok(if self.taken <= self.from { Next::At(at) } else { Next::Ended })
    }

    fn take(&mut self) -> Request {
        let id = self.taken;
        self.taken += 1;
        Request { id, arrival: Time::from_ns(id * 1_000_000), ..Request::read(self.from - id, 1) }
    }

    fn is_open(&self) -> bool {
        true
    }

    fn completed(&mut self, _completion: &Completion) {}
}
