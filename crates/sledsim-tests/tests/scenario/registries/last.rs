//! A location at the end of the range.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Choice, ChoiceSpec, TestBed};
use crate::engine::random::Stream;
use crate::fault::Fault;

/// The last blocks of the range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {}

impl ChoiceSpec for Spec {
    fn start(&self, _ground: &TestBed, _shuffle: Stream) -> Result<Box<dyn Choice>, Fault> {
        Ok(Box::new(Last))
    }
}

#[derive(Debug)]
struct Last;

impl Choice for Last {
    fn place(&self, blocks: u64, _previous_end: u64, bed: &TestBed, _stream: &mut Stream) -> u64 {
        bed.extent.end - blocks
    }
}
