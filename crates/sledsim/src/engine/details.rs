//! Statistics that only some kinds of components have.

/// Statistics of a component over the measurement window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// Kind of the component, as in a scenario.
    pub kind: &'static str,
    /// Counts, in the order in which they are reported.
    pub counts: Vec<Count>,
    /// Response times by the path that requests took through the component. Each completed request took one path.
    pub paths: Vec<ServicePath>,
}

/// A named figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// Name in snake case.
    pub name: &'static str,
    /// Unit; empty for numbers of things.
    pub unit: &'static str,
    /// Value in that unit.
    pub value: f64,
}

impl Count {
    /// A number of things, without a unit.
    #[must_use]
    pub fn of(name: &'static str, value: u64) -> Self {
        Self { name, unit: "", value: value as f64 }
    }

    /// `part / whole`, or 0 if `whole` is 0.
    #[must_use]
    pub fn share(name: &'static str, part: u64, whole: u64) -> Self {
        Self { name, unit: "fraction", value: if whole == 0 { 0.0 } else { part as f64 / whole as f64 } }
    }
}

/// Response times of the requests that took one path through a component, for example the hits of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServicePath {
    /// Name in kebab case.
    pub name: &'static str,
    /// Number of requests.
    pub count: u64,
    /// Sum of their response times, from submission to completion, ns.
    pub sum_ns: u128,
    /// Longest response time, ns.
    pub max_ns: u64,
}

impl ServicePath {
    /// A path without requests.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, count: 0, sum_ns: 0, max_ns: 0 }
    }

    /// Adds a request.
    #[inline]
    pub fn record(&mut self, response_ns: u64) {
        self.count += 1;
        self.sum_ns += u128::from(response_ns);
        self.max_ns = self.max_ns.max(response_ns);
    }
}
