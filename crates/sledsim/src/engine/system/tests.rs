//! Systems that break the rules of the whole, and what is said of it.

use super::*;
use crate::engine::component::{Completion, Instrumentation, PowerLoss};

/// A component that completes nothing.
#[derive(Clone)]
struct Swallows;

impl Component for Swallows {
    fn capacity_blocks(&self) -> u64 {
        100
    }

    fn block_bytes(&self) -> u32 {
        512
    }

    fn submit(&mut self, _request: Request, _context: &mut Context<'_>) {}

    fn completed(&mut self, _child: ComponentId, _completion: &Completion, _context: &mut Context<'_>) {}
}

impl PowerLoss for Swallows {}

impl Instrumentation for Swallows {
    fn check_invariants(&self, at_rest: bool) -> Result<(), String> {
        if at_rest {
            return Err("its own books disagree".into());
        }
        Ok(())
    }
}

/// Each breach of a rule, and a word of what is said of it; with debug assertions the breach itself panics.
#[test]
fn every_breach_is_told() {
    type Act = fn(&mut System);
    let breaches: [(&str, Act); 3] = [
        ("requests are counted as under way", |system| system.in_flight += 1),
        ("nothing will happen any more", |system| system.submit(Request::read(3, 2), &mut |_| {})),
        ("component 0: its own books disagree", |_| {}),
    ];
    for (word, act) in breaches {
        let told = std::panic::catch_unwind(|| {
            let mut system = System::default();
            system.check_rules();
            system.add(Box::new(Swallows), &[]);
            act(&mut system);
            system.broken_rule().map(str::to_owned)
        });
        let told = told.unwrap_or_else(|panic| panic.downcast_ref::<String>().cloned());
        assert!(told.as_ref().is_some_and(|told| told.contains(word)), "{word}: {told:?}");
    }
}
