//! Policies of one's own that are compiled: functions at addresses.

use sledsim::engine::Stop;
use sledsim::fault::{Fault, Kind};
use sledsim::request::Request;
use sledsim::scenario::Maker;
use sledsim::schedulers::{OwnPolicy, Pending};
use sledsim::time::Time;

use crate::raw::{Function, Memory};

/// A compiled policy: one to which nothing has happened makes others.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub name: String,
    pub positioning: bool,
    pub pick: Function,
    pub arrived: Option<Function>,
    pub completed: Option<Function>,
    pub memory: Memory,
}

impl Maker for Compiled {
    fn scheduler(&self) -> Result<Box<dyn OwnPolicy>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

impl OwnPolicy for Compiled {
    fn name(&self) -> &str {
        &self.name
    }

    fn looks_at_positioning(&self) -> bool {
        self.positioning
    }

    fn pick(&mut self, now: Time, pending: &mut Pending) -> Result<usize, Stop> {
        let row = self.pick.pick(now, pending, &mut self.memory);
        usize::try_from(row).map_err(|_| {
            let says = format!("{} returned {row}: expected from 0 to {}", self.name, pending.len() - 1);
            Stop::Failed(Fault::new(Kind::Policy).says(says))
        })
    }

    fn arrived(&mut self, ready: Time, request: &Request) -> Result<(), Stop> {
        if let Some(arrived) = self.arrived {
            arrived.tell(ready, request, &mut self.memory);
        }
        Ok(())
    }

    fn completed(&mut self, now: Time, request: &Request) -> Result<(), Stop> {
        if let Some(completed) = self.completed {
            completed.tell(now, request, &mut self.memory);
        }
        Ok(())
    }
}
