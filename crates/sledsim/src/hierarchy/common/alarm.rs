//! A component's one timer.

use crate::engine::Context;
use crate::time::Time;

/// When a component is to look again: the earliest time that it asked for.
#[derive(Clone, Debug, Default)]
pub struct Alarm(Option<Time>);

impl Alarm {
    /// Has the component's timer fire at `at`, unless it will before.
    pub fn set(&mut self, at: Time, context: &mut Context<'_>) {
        if self.0.is_none_or(|alarm| alarm <= context.now() || alarm > at) {
            self.0 = Some(at);
            context.timer(at, 0);
        }
    }

    /// Timers are gone.
    pub fn clear(&mut self) {
        self.0 = None;
    }
}
