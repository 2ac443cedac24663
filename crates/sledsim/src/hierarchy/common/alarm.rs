//! The single timer of a component.

use crate::engine::Context;
use crate::time::Time;

/// The single timer of a component: it fires at the earliest of the times that were set.
#[derive(Clone, Debug, Default)]
pub struct Alarm(Option<Time>);

impl Alarm {
    /// Sets the timer to `at`, unless it is set to an earlier time.
    pub fn set(&mut self, at: Time, context: &mut Context<'_>) {
        if self.0.is_none_or(|alarm| alarm <= context.now() || alarm > at) {
            self.0 = Some(at);
            context.timer(at, 0);
        }
    }

    /// Forgets the timer, which a power cut has removed.
    pub fn clear(&mut self) {
        self.0 = None;
    }
}
