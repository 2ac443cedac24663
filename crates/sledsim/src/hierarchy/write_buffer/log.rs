//! The log: a ring of logs of equal size on the MEMS device, filled one after the other and freed in the same order.

use super::block_map::BlockMap;
use super::header::Run;
use crate::convert::to_u32;
use crate::fault::Fault;

/// The state of one log of the ring.
#[derive(Clone, Copy, Debug, Default)]
struct LogState {
    /// Number of its blocks that are the newest copies of disk blocks.
    valid: u32,
    /// Number of accesses under way that need its content.
    pins: u32,
}

const _: () = assert!(std::mem::size_of::<LogState>() == 8, "a log takes 8 bytes, as documented");

/// A block of the ring that holds the newest copy of a disk block. Ordered by disk block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogBlock {
    /// The disk block.
    pub lbn: u64,
    /// The block of the ring.
    pub at: u32,
}

/// The ring of logs and the map of its blocks. It takes 8 bytes for each log besides the map.
#[derive(Clone, Debug)]
pub(super) struct Log {
    /// Size of one log, blocks.
    pub log_blocks: u32,
    logs: Vec<LogState>,
    /// The oldest log in use.
    tail: u32,
    /// Number of logs in use, including the one that is being filled.
    used: u32,
    /// Number of filled blocks of the newest log.
    offset: u32,
    pub map: BlockMap,
}

impl Log {
    /// An empty ring of `logs` logs of `log_blocks` blocks.
    ///
    /// # Errors
    /// The ring has more blocks than 32 bits can number.
    pub fn new(logs: u32, log_blocks: u32) -> Result<Self, Fault> {
        let map = BlockMap::new(u64::from(logs) * u64::from(log_blocks))?;
        Ok(Self { log_blocks, logs: vec![LogState::default(); logs as usize], tail: 0, used: 1, offset: 0, map })
    }

    /// Number of logs.
    pub fn logs(&self) -> u32 {
        to_u32(self.logs.len())
    }

    /// Number of logs that are not empty.
    pub fn filled(&self) -> u32 {
        self.used - u32::from(self.offset == 0)
    }

    /// The largest number of data blocks of the next record; 0 if no log is free. Begins a new log if the newest is full.
    pub fn free_blocks(&mut self) -> u32 {
        if self.offset + 2 > self.log_blocks {
            if self.used == self.logs() {
                return 0;
            }
            self.used += 1;
            self.offset = 0;
        }
        self.log_blocks - self.offset - 1
    }

    /// The block of the next record.
    pub fn head(&self) -> u32 {
        (self.tail + self.used - 1) % self.logs() * self.log_blocks + self.offset
    }

    fn log_of(&mut self, at: u32) -> &mut LogState {
        &mut self.logs[(at / self.log_blocks) as usize]
    }

    /// Appends a record at the head. Returns the number of blocks that it has outdated.
    pub fn append(&mut self, runs: &[Run]) -> u64 {
        let at = self.head();
        let blocks: u32 = runs.iter().map(|run| run.blocks).sum();
        self.offset += 1 + blocks;
        self.insert_record(at, runs)
    }

    /// Maps the blocks of a record whose header is at block `at`. Returns the number of blocks that it has outdated.
    pub fn insert_record(&mut self, at: u32, runs: &[Run]) -> u64 {
        let lbns = runs.iter().flat_map(|run| run.lbn..run.lbn + u64::from(run.blocks));
        let mut outdated = 0;
        for (at, lbn) in (at + 1..).zip(lbns) {
            if let Some(before) = self.map.insert(lbn, at) {
                self.log_of(before).valid -= 1;
                outdated += 1;
            }
            self.log_of(at).valid += 1;
        }
        outdated
    }

    /// Marks a block as no longer needed.
    pub fn invalidate(&mut self, at: u32) {
        if self.map.remove(at) {
            self.log_of(at).valid -= 1;
        }
    }

    /// Keeps the log of a block in use until [`Log::unpin`].
    pub fn pin(&mut self, at: u32) {
        self.log_of(at).pins += 1;
    }

    /// Takes back one [`Log::pin`].
    pub fn unpin(&mut self, at: u32) {
        self.log_of(at).pins -= 1;
    }

    /// Frees the oldest logs without valid blocks and pins.
    pub fn free_oldest(&mut self) {
        while self.used > 1 && matches!(self.logs[self.tail as usize], LogState { valid: 0, pins: 0 }) {
            self.tail = (self.tail + 1) % self.logs();
            self.used -= 1;
        }
    }

    /// The first blocks of up to `limit` oldest logs, without the one that is being filled.
    pub fn oldest_logs(&self, limit: u32) -> impl Iterator<Item = u32> + '_ {
        (0..limit.min(self.used - 1)).map(|age| (self.tail + age) % self.logs() * self.log_blocks)
    }

    /// The valid blocks of the log that begins at block `at`.
    pub fn valid_blocks(&self, at: u32) -> impl Iterator<Item = LogBlock> + '_ {
        (at..at + self.log_blocks).filter_map(|at| Some(LogBlock { lbn: self.map.disk_block(at)?, at }))
    }

    /// Number of valid blocks of the log that begins at block `at`.
    pub fn valid_count(&self, at: u32) -> u32 {
        self.logs[(at / self.log_blocks) as usize].valid
    }

    /// Returns true if the map is consistent, the counts of valid blocks match it, and only logs in use have valid blocks.
    pub fn is_consistent(&self) -> bool {
        let (logs, head) = (self.logs(), self.head());
        let in_use = |log: u32| (log + logs - self.tail) % logs < self.used;
        let is_right = |(log, state): (u32, &LogState)| {
            let valid = to_u32(self.valid_blocks(log * self.log_blocks).count());
            state.valid == valid && (in_use(log) || (state.valid, state.pins) == (0, 0))
        };
        let fits = self.tail < logs && (1..=logs).contains(&self.used) && self.offset <= self.log_blocks;
        // The next records overwrite no valid block.
        let newest = head - self.offset;
        let is_free = (head..newest + self.log_blocks).all(|at| self.map.disk_block(at).is_none());
        fits && is_free && (0..).zip(&self.logs).all(is_right) && self.map.is_consistent()
    }

    /// Removes all pins.
    pub fn unpin_all(&mut self) {
        self.logs.iter_mut().for_each(|log| log.pins = 0);
    }

    /// Restarts with an empty map and `used` logs in use, from log `tail` on, the newest of which is filled up to `offset`.
    pub fn restart(&mut self, tail: u32, used: u32, offset: u32) {
        self.logs.fill(LogState::default());
        self.map.clear();
        (self.tail, self.used, self.offset) = (tail, used, offset);
    }
}
