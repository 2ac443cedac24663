//! The queue of commands in a drive, below the scheduler of the host.

use std::collections::VecDeque;

use crate::devices::disk::CommandQueue as Parameters;
use crate::devices::Mechanism;
use crate::engine::Stop;
use crate::request::Request;
use crate::schedulers::Scheduler;
use crate::time::{ms_to_ns, Time};

/// A command in the drive.
#[derive(Clone, Copy)]
struct Command {
    request: Request,
    entered: Time,
}

/// A scheduler that moves requests from the host's scheduler to the drive while the drive holds fewer than `depth`, and serves the one
/// of the drive's with the shortest positioning time.
#[derive(Clone)]
pub(super) struct CommandQueue {
    host: Box<dyn Scheduler>,
    depth: usize,
    window: usize,
    age_limit_ns: u64,
    /// Commands that wait in the drive, the oldest first.
    commands: VecDeque<Command>,
    /// True while a command is under service, which still counts among those that the drive holds.
    is_serving: bool,
}

impl CommandQueue {
    pub(super) fn new(host: Box<dyn Scheduler>, parameters: Parameters) -> Self {
        Self {
            host,
            depth: parameters.depth as usize,
            window: parameters.window.map_or(usize::MAX, |window| window as usize),
            age_limit_ns: parameters.age_limit_ms.map_or(u64::MAX, ms_to_ns),
            commands: VecDeque::new(),
            is_serving: false,
        }
    }

    fn has_room(&self) -> bool {
        self.commands.len() + usize::from(self.is_serving) < self.depth
    }
}

impl Scheduler for CommandQueue {
    fn push(&mut self, ready: Time, request: Request, device: &dyn Mechanism) {
        if self.host.is_empty() && self.has_room() {
            self.commands.push_back(Command { request, entered: ready });
        } else {
            self.host.push(ready, request, device);
        }
    }

    fn pop(&mut self, now: Time, device: &dyn Mechanism) -> Option<Request> {
        // The mechanism is free.
        self.is_serving = false;
        while self.has_room() {
            let Some(request) = self.host.pop(now, device) else { break };
            self.commands.push_back(Command { request, entered: now });
        }
        let oldest = self.commands.front()?;
        let is_overdue = now.saturating_since(oldest.entered) >= self.age_limit_ns;
        let choices = if is_overdue { 1 } else { self.window.min(self.commands.len()) };
        let cost_ns = |index: &usize| device.positioning_ns(now, device.locate(&self.commands[*index].request));
        // Of equal costs `min_by_key` returns the first, which is the oldest.
        let best = if choices == 1 { 0 } else { (0..choices).min_by_key(cost_ns)? };
        self.is_serving = true;
        self.commands.remove(best).map(|command| command.request)
    }

    fn take(&mut self, request: &Request, device: &dyn Mechanism) -> bool {
        let is_pending = match self.commands.iter().position(|command| command.request.id == request.id) {
            Some(index) => self.commands.remove(index).is_some(),
            None => self.host.take(request, device),
        };
        // An anticipated read is served without a call of `pop`.
        self.is_serving |= is_pending;
        is_pending
    }

    fn len(&self) -> usize {
        self.commands.len() + self.host.len()
    }

    fn completed(&mut self, now: Time, request: &Request) {
        self.is_serving = false;
        self.host.completed(now, request);
    }

    fn failure(&self) -> Option<&Stop> {
        self.host.failure()
    }
}
