//! Recovery: the table is made anew from the headers in the log.
//!
//! Every log is read whole, one after the other. Sequence numbers rise from record to record and are never used again, so the
//! log with the highest is the one that was being filled; the logs before it belong to it as long as numbers fall. A record
//! counts if its header and its data are whole, and what stands behind one that does not is from earlier times. All records
//! are replayed in order. Some of what they say may have been cleaned before the cut: as everything newer is in the log as
//! well, writing it to the disk again does no harm.

use super::header::{decode, Run};
use super::{Job, WriteBuffer};
use crate::convert::{to_u32, to_usize};
use crate::engine::{Completion, Context, Payload};
use crate::request::Op;
use crate::time::Time;

/// What has been found of the log so far.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    began: Time,
    /// By log, those read so far.
    logs: Vec<Vec<Found>>,
    /// Higher than every sequence number seen.
    sequence: u64,
}

/// A record in a log.
#[derive(Clone, Debug)]
struct Found {
    /// Where it begins in its log, and where it ends.
    begin: u32,
    end: u32,
    sequence: u64,
    runs: Vec<Run>,
}

impl WriteBuffer {
    /// Forgets the table and begins to read the log. In runs without data nothing is on the MEMS device that could be read: the
    /// table stays, and reading takes its time.
    pub(super) fn recover(&mut self, context: &mut Context<'_>) {
        if context.holds_data() {
            self.ring.restore(0, 1, 0);
            self.sequence = 0;
        }
        self.recovery = Some(Recovery { began: context.now(), logs: Vec::new(), sequence: 0 });
        self.read_log(0, context);
    }

    fn read_log(&mut self, log: u32, context: &mut Context<'_>) {
        let blocks = self.ring.slot_blocks;
        let request = self.own(Job::Recover, Op::Read, u64::from(log) * u64::from(blocks), blocks, context.now());
        context.submit(self.mems.id, request);
    }

    /// A log has been read.
    pub(super) fn recovered(&mut self, completion: &Completion, answer: &Payload, context: &mut Context<'_>) {
        let mut recovery = self.recovery.take().expect("one log is read after the other until the recovery ends");
        if !completion.is_served() {
            self.lost = Some(completion.status);
        }
        let (found, sequence) = self.records(answer.bytes().unwrap_or_default());
        recovery.logs.push(found);
        recovery.sequence = recovery.sequence.max(sequence);
        let read = to_u32(recovery.logs.len());
        if read < self.ring.slots() && self.lost.is_none() {
            self.recovery = Some(recovery);
            self.read_log(read, context);
            return;
        }
        if context.holds_data() {
            self.replay(&recovery);
        }
        self.ring.free();
        self.counts.recovery_ns += context.now() - recovery.began;
        for (request, payload) in std::mem::take(&mut self.waiting) {
            self.begin(request, payload, context);
        }
        self.clean(context);
    }

    /// The records at the front of a log, and a number higher than those of all headers seen.
    fn records(&self, bytes: &[u8]) -> (Vec<Found>, u64) {
        let size = self.mems.block_bytes as usize;
        let (mut found, mut next, mut begin): (Vec<Found>, u64, usize) = (Vec::new(), 0, 0);
        while let Some(header) = bytes.get(begin * size..).and_then(|rest| decode(self.mems.id.0, rest.get(..size)?)) {
            let data = begin + 1;
            let end = data + to_usize(header.blocks());
            if header.sequence < next {
                break;
            }
            next = header.sequence + 1;
            if !bytes.get(data * size..end * size).is_some_and(|bytes| header.fits(bytes)) {
                break;
            }
            found.push(Found { begin: to_u32(begin), end: to_u32(end), sequence: header.sequence, runs: header.runs });
            begin = end;
        }
        (found, next)
    }

    /// Makes the table anew.
    fn replay(&mut self, recovery: &Recovery) {
        let logs = &recovery.logs;
        self.sequence = recovery.sequence;
        let newest = (0..logs.len()).max_by_key(|&log| logs[log].last().map(|record| record.sequence));
        let Some((newest, last)) = newest.and_then(|log| Some((log, logs[log].last()?))) else {
            // Nothing was ever appended: the ring was emptied when the recovery began.
            return;
        };
        let before = |log: usize| (log + logs.len() - 1) % logs.len();
        let mut tail = newest;
        while let (Some(last), Some(first)) = (logs[before(tail)].last(), logs[tail].first()) {
            if last.sequence >= first.sequence || before(tail) == newest {
                break;
            }
            tail = before(tail);
        }
        let used = (newest + logs.len() - tail) % logs.len() + 1;
        self.ring.restore(to_u32(tail), to_u32(used), last.end);
        for age in 0..used {
            let log = (tail + age) % logs.len();
            for record in &logs[log] {
                self.ring.enter(to_u32(log) * self.ring.slot_blocks + record.begin, &record.runs);
            }
        }
    }
}
