//! LIFO: last come, first served.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Policy, PolicySpec, Scheduler, SchedulerSpec};
use crate::devices::Mechanism;
use crate::request::Request;
use crate::time::Time;

/// LIFO in the list of policies.
pub const POLICY: Policy = Policy {
    name: "lifo",
    title: "LIFO",
    description: "Last come, first served; of those that came before, `oldest` go first.",
    source: "made up",
    default: SchedulerSpec::Lifo(Spec { oldest: 0 }),
};

/// Last come, first served.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Number of requests that are served in order of arrival before LIFO applies.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    pub oldest: u32,
}

impl PolicySpec for Spec {
    fn build(&self, _device: &dyn Mechanism) -> Box<dyn Scheduler> {
        Box::new(Lifo { pending: Vec::new(), oldest: self.oldest })
    }
}

#[derive(Clone)]
struct Lifo {
    pending: Vec<Request>,
    oldest: u32,
}

impl Scheduler for Lifo {
    fn push(&mut self, _now: Time, request: Request, _device: &dyn Mechanism) {
        self.pending.push(request);
    }

    fn pop(&mut self, _now: Time, _device: &dyn Mechanism) -> Option<Request> {
        if self.oldest > 0 && !self.pending.is_empty() {
            self.oldest -= 1;
            return Some(self.pending.remove(0));
        }
        self.pending.pop()
    }

    fn take(&mut self, request: &Request, _device: &dyn Mechanism) -> bool {
        let before = self.pending.len();
        self.pending.retain(|pending| pending.id != request.id);
        self.pending.len() < before
    }

    fn len(&self) -> usize {
        self.pending.len()
    }
}
