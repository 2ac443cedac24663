//! Recovery: the map is rebuilt from the headers in the log.
//!
//! All logs are read whole, one after the other. Sequence numbers rise from record to record and are never reused, so the log
//! with the highest number was being filled; the logs before it are in use as long as the numbers fall. A record counts if its
//! header and its data are intact; blocks behind a record that is not are older. All records are replayed in order. Blocks that
//! were cleaned before the cut are cleaned again. This does no harm: all newer copies are in the log, too.

use super::children::{Children, Job};
use super::header::{decode, Run};
use super::log::Log;
use crate::convert::{to_u32, to_usize};
use crate::engine::{Completion, Context, Payload};
use crate::hierarchy::common::Child;
use crate::request::{Op, Request};
use crate::time::Time;

/// A recovery under way.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    pub began: Time,
    /// The records of the logs read so far.
    logs: Vec<Vec<FoundRecord>>,
    /// A number higher than all sequence numbers read so far.
    pub next_sequence: u64,
    /// Host requests that wait for the end of the recovery, with the data that they write.
    pub waiting: Vec<(Request, Payload)>,
}

/// An intact record in a log.
#[derive(Clone, Debug)]
struct FoundRecord {
    /// First block in its log.
    begin: u32,
    /// The block after the last.
    end: u32,
    sequence: u64,
    runs: Vec<Run>,
}

impl Recovery {
    /// Begins a recovery with the read of the first log.
    pub fn begin(log: &Log, children: &mut Children, context: &mut Context<'_>) -> Self {
        let recovery = Self { began: context.now(), logs: Vec::new(), next_sequence: 0, waiting: Vec::new() };
        recovery.read_next(log, children, context);
        recovery
    }

    fn read_next(&self, log: &Log, children: &mut Children, context: &mut Context<'_>) {
        let lbn = self.logs.len() as u64 * u64::from(log.log_blocks);
        children.send(Job::Recover, Op::Read, lbn, log.log_blocks, Payload::NONE, context);
    }

    /// Handles a completed read of a log and reads the next one. Returns true after the last log, or if this one could not be
    /// read.
    pub fn log_read(
        &mut self,
        completion: &Completion,
        data: &Payload,
        log: &Log,
        children: &mut Children,
        context: &mut Context<'_>,
    ) -> bool {
        self.add_records(data.bytes().unwrap_or_default(), children.mems);
        if to_u32(self.logs.len()) == log.logs() || !completion.is_served() {
            return true;
        }
        self.read_next(log, children, context);
        false
    }

    /// Adds the intact records at the front of a log.
    fn add_records(&mut self, bytes: &[u8], mems: Child) {
        let block_bytes = mems.block_bytes as usize;
        let (mut found, mut next, mut begin): (Vec<FoundRecord>, u64, usize) = (Vec::new(), 0, 0);
        while let Some(header) =
            bytes.get(begin * block_bytes..).and_then(|rest| decode(mems.id.0, rest.get(..block_bytes)?))
        {
            let data = begin + 1;
            let end = data + to_usize(header.blocks());
            if header.sequence < next {
                break;
            }
            next = header.sequence + 1;
            if !bytes.get(data * block_bytes..end * block_bytes).is_some_and(|bytes| header.matches(bytes)) {
                break;
            }
            let (begin_block, end_block) = (to_u32(begin), to_u32(end));
            let (sequence, runs) = (header.sequence, header.runs);
            found.push(FoundRecord { begin: begin_block, end: end_block, sequence, runs });
            begin = end;
        }
        self.logs.push(found);
        self.next_sequence = self.next_sequence.max(next);
    }

    /// Rebuilds the map of an empty log from all records read.
    pub fn replay(&self, log: &mut Log) {
        let logs = &self.logs;
        let newest = (0..logs.len()).max_by_key(|&index| logs[index].last().map(|record| record.sequence));
        let Some((newest, last)) = newest.and_then(|index| Some((index, logs[index].last()?))) else {
            return;
        };
        let before = |index: usize| (index + logs.len() - 1) % logs.len();
        let mut tail = newest;
        while let (Some(last), Some(first)) = (logs[before(tail)].last(), logs[tail].first()) {
            if last.sequence >= first.sequence || before(tail) == newest {
                break;
            }
            tail = before(tail);
        }
        let used = (newest + logs.len() - tail) % logs.len() + 1;
        log.restart(to_u32(tail), to_u32(used), last.end);
        for age in 0..used {
            let index = (tail + age) % logs.len();
            for record in &logs[index] {
                log.insert_record(to_u32(index) * log.log_blocks + record.begin, &record.runs);
            }
        }
    }
}
