//! Time-weighted average of a step function, such as a queue length.

use crate::time::Time;

/// Time-weighted average of an integer over a measurement window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeAverage {
    value: u64,
    start: Time,
    since: Time,
    /// Integral of the value from `start` to `since`, in units of ns.
    area: u128,
}

impl TimeAverage {
    /// Sets the quantity to `value` from `now` on. A `now` before the last one is replaced by it.
    #[inline]
    pub fn set(&mut self, now: Time, value: u64) {
        let elapsed_ns = now.saturating_since(self.since);
        self.area += u128::from(self.value) * u128::from(elapsed_ns);
        self.since += elapsed_ns;
        self.value = value;
    }

    /// Starts a new window at `now`, with the present value.
    pub fn begin(&mut self, now: Time) {
        self.set(now, self.value);
        *self = Self { value: self.value, start: self.since, since: self.since, area: 0 };
    }

    /// Returns the average from the start of the window to `now`; the present value if no time has passed.
    #[must_use]
    pub fn average(&self, now: Time) -> f64 {
        let until = now.max(self.since);
        let area = self.area + u128::from(self.value) * u128::from(until - self.since);
        match until - self.start {
            0 => self.value as f64,
            window_ns => area as f64 / window_ns as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn average_weights_values_by_duration() {
        let mut queue = TimeAverage::default();
        queue.set(Time::from_ns(10), 4);
        queue.set(Time::from_ns(15), 1);
        assert_eq!(queue.average(Time::from_ns(20)), (4.0 * 5.0 + 5.0) / 20.0);
    }

    #[test]
    fn new_window_keeps_only_the_value() {
        let mut queue = TimeAverage::default();
        queue.set(Time::from_ns(0), 9);
        queue.set(Time::from_ns(50), 2);
        queue.begin(Time::from_ns(100));
        assert_eq!(queue.average(Time::from_ns(100)), 2.0);
        queue.set(Time::from_ns(110), 4);
        assert_eq!(queue.average(Time::from_ns(120)), 3.0);
    }
}
