//! The adaptor of custom policies for the reads of a mirror.

use super::contract::{Copies, CustomMirror};
use super::{describe_request, BuiltIn, Choice, Role};
use crate::engine::{Context, Stop};
use crate::fault::Faults;
use crate::hierarchy::array::ReadChoice;
use crate::request::Request;

/// A built-in or custom choice of a mirror's copy.
pub type ReadPolicy = Choice<ReadChoice>;

impl BuiltIn for ReadChoice {
    fn policy_name(&self) -> &'static str {
        self.name()
    }

    fn check(&self) -> Result<(), Faults> {
        Ok(())
    }
}

/// A custom policy for the reads of a mirror, and the columns that it is shown. A failure of the policy stops the run.
#[derive(Clone)]
pub struct MirrorAdaptor {
    policy: Box<dyn CustomMirror>,
    copies: Copies,
}

impl MirrorAdaptor {
    /// Wraps a new policy.
    #[must_use]
    pub fn new(policy: Box<dyn CustomMirror>) -> Self {
        Self { policy, copies: Copies::default() }
    }

    /// Returns true if the column of positioning times is to be filled.
    pub(crate) fn uses_positioning(&self) -> bool {
        self.policy.uses_positioning()
    }

    /// Returns the columns for the next choice, to be filled.
    pub(crate) fn columns_mut(&mut self) -> &mut Copies {
        &mut self.copies
    }

    /// Returns the copy that the policy chooses for `request`; `None` if there is none. After a failure it is the first copy.
    pub(crate) fn pick(&mut self, request: &Request, context: &mut Context<'_>) -> Option<usize> {
        let first = *self.copies.copy.first()?;
        let picked = self.policy.pick(context.now(), request, &mut self.copies).and_then(|row| {
            let no_row = || {
                let (name, count) = (self.policy.name(), self.copies.len());
                Stop::from_plugin(format!("{name} chose {row} of {count} copies, counted from 0"))
            };
            self.copies.copy.get(row).copied().ok_or_else(no_row)
        });
        let copy = picked.unwrap_or_else(|stop| {
            stop_run(&stop, request, context);
            first
        });
        Some(copy as usize)
    }

    /// Reports an access sent to a member.
    pub(crate) fn arrived(&mut self, member: u32, access: &Request, context: &mut Context<'_>) {
        if let Err(stop) = self.policy.arrived(context.now(), member, access) {
            stop_run(&stop, access, context);
        }
    }

    /// Reports an access completed by a member.
    pub(crate) fn completed(&mut self, member: u32, access: &Request, context: &mut Context<'_>) {
        if let Err(stop) = self.policy.completed(context.now(), member, access) {
            stop_run(&stop, access, context);
        }
    }
}

#[cold]
fn stop_run(stop: &Stop, request: &Request, context: &mut Context<'_>) {
    context.stop(stop.located(Role::Mirror, context.now(), &describe_request(request), Some(request.id)));
}
