//! A host that keeps requests outstanding on a system, one step at a time.

use sledsim::engine::{Completion, System};
use sledsim::request::{Flags, Op, Request};
use sledsim::scenario::testing::assemble;
use sledsim::scenario::SystemSpec;
use sledsim::time::Time;

/// A host and its system.
pub struct Host {
    /// The system.
    pub system: System,
    next_id: u64,
    completions: std::collections::VecDeque<Completion>,
}

impl Host {
    /// Returns the host of a new system.
    ///
    /// # Panics
    /// The document is no valid system.
    #[must_use]
    pub fn new(document: &serde_json::Value) -> Self {
        let spec: SystemSpec = serde_json::from_value(document.clone()).unwrap_or_else(|error| panic!("{error}"));
        let mut system = assemble(&spec, 1, &mut |_, id, _| id).unwrap_or_else(|error| panic!("{error}\n{document:#}"));
        system.enable_checks();
        system.start_measuring();
        Self { system, next_id: 1, completions: std::collections::VecDeque::new() }
    }

    /// Returns the number of blocks of the system.
    #[must_use]
    pub fn capacity_blocks(&self) -> u64 {
        self.system.component(self.system.root()).capacity_blocks()
    }

    /// Submits a request now, and returns its id.
    pub fn submit(&mut self, op: Op, lbn: u64, blocks: u32, flags: Flags) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let request = Request { id, arrival: self.system.now(), op, flags, ..Request::read(lbn, blocks) };
        let done = &mut self.completions;
        self.system.submit(request, &mut |completion| done.push_back(*completion));
        id
    }

    /// Returns the next completion.
    ///
    /// # Panics
    /// No request is outstanding.
    pub fn completion(&mut self) -> Completion {
        loop {
            if let Some(completion) = self.completions.pop_front() {
                return completion;
            }
            assert!(self.system.next_time().is_some(), "a request is outstanding, but nothing happens");
            let done = &mut self.completions;
            self.system.step(&mut |completion| done.push_back(*completion));
        }
    }

    /// Submits a request, and returns its response time in ms once it is complete. No other request may be outstanding.
    pub fn response_ms(&mut self, op: Op, lbn: u64, blocks: u32, flags: Flags) -> f64 {
        self.submit(op, lbn, blocks, flags);
        let completion = self.completion();
        (completion.service.end - completion.request.arrival) as f64 * 1e-6
    }

    /// Flushes the system, and returns the response time in ms.
    pub fn flush_ms(&mut self) -> f64 {
        self.response_ms(Op::Flush, 0, 0, Flags::NONE)
    }

    /// Lets the system work until nothing is left to be done.
    pub fn rest(&mut self) {
        while self.system.next_time().is_some() {
            let done = &mut self.completions;
            self.system.step(&mut |completion| done.push_back(*completion));
        }
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.system.now()
    }

    /// Returns a count of the system's topmost component.
    ///
    /// # Panics
    /// It has no such count.
    #[must_use]
    pub fn count(&self, name: &str) -> f64 {
        let details = self.system.component(self.system.root()).details(self.now());
        let counts = details.map(|details| details.counts).unwrap_or_default();
        counts.iter().find(|count| count.name == name).unwrap_or_else(|| panic!("no {name} in {counts:?}")).value
    }
}
