//! What is wrong with a description of an enclosure or of an experiment.

use crate::fault::{Fault, Range};

/// What is wrong with a value that is to lie between two others, both allowed.
pub(super) fn within(field: &str, value: f64, low: f64, high: f64) -> Option<Fault> {
    (!(low..=high).contains(&value)).then(|| Fault::out_of_range(field, value, Range::from_to(low, high)))
}

/// What is wrong with a time, h, that is to lie between two others, both allowed.
pub(super) fn time_within(field: &str, time_h: f64, (low_h, high_h): (f64, f64)) -> Option<Fault> {
    let range = Range { unit: "h".into(), ..Range::from_to(low_h, high_h) };
    (!(low_h..=high_h).contains(&time_h)).then(|| Fault::out_of_range(field, time_h, range))
}
