//! Fills: segments, or what is not valid of them, come from the disk to MEMS.

use super::access::Piece;
use super::header::{self, Header};
use super::transit::Phase;
use super::{Awaiting, Job, Mcd};
use crate::engine::{Completion, Context, Payload};
use crate::request::Op;

impl Mcd {
    /// Reads from the disk what a slot lacks of its segment, when the buffer has room for it.
    pub(super) fn fill(&mut self, id: u64, context: &mut Context<'_>) {
        let Some(transit) = self.transits.get_mut(id) else { return };
        transit.phase = Phase::Reading;
        let segment = transit.segment;
        let Some(held) = self.buffer.take(segment) else {
            self.statistics.buffer_stalls += 1;
            self.awaiting.push_back(Awaiting::Fill(id));
            return;
        };
        transit.held = Some(held);
        self.set_window(id);
        let (first, blocks) = self.lacking(id).map_or((0, self.layout.blocks(segment)), |runs| span(&runs));
        self.statistics.fills += 1;
        self.statistics.filled_blocks += u64::from(blocks);
        self.disk_reads += 1;
        let lbn = self.layout.disk_lbn(segment) + u64::from(first);
        self.send(self.disk, Job::Fill { transit: id }, Op::Read, (lbn, blocks), Payload::NONE, context);
    }

    /// Which blocks come: those that are waited for, with what comes with them.
    fn set_window(&mut self, id: u64) {
        let Some(transit) = self.transits.get_mut(id) else { return };
        let (segment, blocks) = (transit.segment, self.layout.blocks(transit.segment));
        if let (Some(units), false) = (&mut self.units, transit.fresh) {
            let reads = || transit.waiters.iter().filter(|piece| piece.op == Op::Read);
            let from = reads().map(|piece| piece.offset).min().unwrap_or(0);
            let to = reads().map(|piece| piece.offset + piece.blocks).max().unwrap_or(blocks);
            let (from, to) = units.window(segment, (from, to));
            transit.window = (from, to.min(blocks));
        }
        if let Some(units) = &mut self.units {
            units.bring(transit.slot, segment, transit.window);
        }
    }

    /// The runs of blocks to come that a segment in its slot lacks; `None` where it lacks all.
    fn lacking(&mut self, id: u64) -> Option<Vec<(u32, u32)>> {
        let transit = self.transits.get_mut(id).filter(|transit| !transit.fresh)?;
        Some(self.table.runs_within(transit.slot, transit.window, false))
    }

    /// The buffer has what the disk had of a segment.
    pub(super) fn filled(&mut self, id: u64, completion: &Completion, answer: &Payload, context: &mut Context<'_>) {
        self.disk_reads -= 1;
        let Some(transit) = self.transits.get_mut(id) else { return };
        let Some(held) = transit.held else { return };
        if !completion.served() {
            self.buffer.release(held);
            self.give_up(id, completion.status, context);
            return;
        }
        let (slot, segment, fresh) = (transit.slot, transit.segment, transit.fresh);
        transit.phase = Phase::Placing;
        if let Some(brought) = answer.bytes() {
            let (size, disk_lbn) = (self.layout.block_bytes as usize, self.layout.disk_lbn(segment));
            let bytes = &mut self.buffer.held_mut(held).bytes;
            bytes.resize(self.layout.blocks(segment) as usize * size, 0);
            bytes[(completion.request.lbn - disk_lbn) as usize * size..][..brought.len()].copy_from_slice(brought);
        }
        let waiters = if self.spec.shortcut { std::mem::take(&mut transit.waiters) } else { Vec::new() };
        self.serve_waiters(id, held, waiters, completion, context);
        match self.lacking(id) {
            Some(runs) if !fresh => {
                if let Some(transit) = self.transits.get_mut(id) {
                    transit.left = runs.len() as u32;
                }
                let lbn = self.layout.header_lbn(self.table.slot(slot).frame) + 1;
                for (first, blocks) in runs {
                    let data = self.held_blocks(held, first, blocks, context);
                    let place = (lbn + u64::from(first), blocks);
                    self.send(self.mems, Job::Place { transit: id }, Op::Write, place, data, context);
                }
            }
            _ => {
                if let Some(transit) = self.transits.get_mut(id) {
                    transit.left = 1;
                }
                let data = self.held_blocks(held, 0, self.layout.blocks(segment), context);
                self.place_whole(id, slot, segment, &data, context);
            }
        }
    }

    /// With shortcut, whoever waited for the disk is served from the buffer, in the order in which they came.
    fn serve_waiters(
        &mut self,
        id: u64,
        held: u32,
        waiters: Vec<Piece>,
        completion: &Completion,
        context: &mut Context<'_>,
    ) {
        // The disk's work is booked to the first.
        let mut first = Some(*completion);
        for piece in waiters {
            let Some(transit) = self.transits.get_mut(id) else { return };
            // MEMS may have what a write to an old segment overwrites.
            if !piece.is_within(transit.window) || (piece.op == Op::Write && !transit.fresh) {
                transit.waiters.push(piece);
                continue;
            }
            if piece.op == Op::Write {
                let size = self.layout.block_bytes as usize;
                let into = self.buffer.held_mut(held);
                into.runs.push((piece.offset, piece.blocks));
                if let Some(bytes) = piece.data.bytes() {
                    into.bytes[piece.offset as usize * size..][..bytes.len()].copy_from_slice(bytes);
                }
            }
            self.answer(held, &piece, first.take().as_ref(), context);
        }
    }

    /// Writes a header and the whole segment behind it to MEMS.
    pub(super) fn place_whole(&mut self, id: u64, slot: u32, segment: u64, data: &Payload, context: &mut Context<'_>) {
        let blocks = self.layout.blocks(segment);
        let lbn = self.layout.header_lbn(self.table.slot(slot).frame);
        let data = if data.is_some() {
            let header = Header::whole(segment, blocks);
            Payload::join(&[header::block(Some(&header), self.layout.block_bytes), data.clone()])
        } else {
            Payload::NONE
        };
        self.send(self.mems, Job::Place { transit: id }, Op::Write, (lbn, blocks + 1), data, context);
    }

    /// Blocks of a segment in the buffer, in a run that checks data.
    pub(super) fn held_blocks(&self, held: u32, first: u32, blocks: u32, context: &Context<'_>) -> Payload {
        if !context.checks_data() {
            return Payload::NONE;
        }
        let size = self.layout.block_bytes as usize;
        Payload::of(&self.buffer.held(held).bytes[first as usize * size..][..blocks as usize * size])
    }
}

/// From the first block of the first run to the last block of the last.
pub(super) fn span(runs: &[(u32, u32)]) -> (u32, u32) {
    match (runs.first(), runs.last()) {
        (Some(&(first, _)), Some(&(last, blocks))) => (first, last + blocks - first),
        _ => (0, 0),
    }
}
