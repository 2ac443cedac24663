//! What components say of themselves besides what every one measures.

/// What a component says of itself over the measurement window: what it counted, and its responses by the way requests took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// Its kind, as in a scenario.
    pub kind: &'static str,
    /// What it counted, in an order of its own.
    pub counts: Vec<Count>,
    /// The ways of the requests that it completed; each took one of them.
    pub paths: Vec<ServicePath>,
}

/// Something that a component counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// What, in snake case.
    pub name: &'static str,
    /// Its unit; empty for numbers of things.
    pub unit: &'static str,
    /// How much.
    pub value: f64,
}

impl Count {
    /// A number of things.
    #[must_use]
    pub fn of(name: &'static str, value: u64) -> Self {
        Self { name, unit: "", value: value as f64 }
    }

    /// A fraction, 0 of nothing.
    #[must_use]
    pub fn share(name: &'static str, part: u64, whole: u64) -> Self {
        Self { name, unit: "fraction", value: if whole == 0 { 0.0 } else { part as f64 / whole as f64 } }
    }
}

/// A way that requests take through a component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServicePath {
    /// Which, in kebab case.
    pub name: &'static str,
    /// Requests that took it.
    pub count: u64,
    /// Their responses, from submission to completion, added up, ns.
    pub sum_ns: u128,
    /// The longest, ns.
    pub max_ns: u64,
}

impl ServicePath {
    /// A way that nobody has taken yet.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, count: 0, sum_ns: 0, max_ns: 0 }
    }

    /// Somebody took it.
    #[inline]
    pub fn record(&mut self, response_ns: u64) {
        self.count += 1;
        self.sum_ns += u128::from(response_ns);
        self.max_ns = self.max_ns.max(response_ns);
    }
}
