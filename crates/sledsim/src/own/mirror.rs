//! What a policy of one's own is asked and told that says which copy of a mirror serves a read.

use dyn_clone::DynClone;

use crate::engine::Stop;
use crate::request::Request;
use crate::time::Time;

/// The copies that may serve a read, in the order of their numbers: a column for each quantity, a row for each copy. One that has
/// failed, or does not have the blocks, is not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// Numbers of the copies, from 0; they rise.
    pub copy: Vec<u32>,
    /// Numbers of the members that hold them: a spare has another than the copy that it stands in for.
    pub member: Vec<u32>,
    /// Accesses under way at each, those of writes and rebuilds among them.
    pub pending: Vec<u64>,
    /// Their blocks.
    pub pending_blocks: Vec<u64>,
    /// The block after the last access that was sent to each; 0 before the first.
    pub next_lbn: Vec<u64>,
    /// Times until the first block could be reached, ns, if nothing else waited for the mechanism, from when it has done what it is
    /// doing; [`Copies::UNKNOWN`] where that can't be told. Empty for a policy that does without.
    pub positioning_ns: Vec<u64>,
}

impl Copies {
    /// In the place of a time that can't be told.
    pub const UNKNOWN: u64 = u64::MAX;

    /// How many copies may serve.
    #[must_use]
    pub fn len(&self) -> usize {
        self.copy.len()
    }

    /// Whether none may.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.copy.is_empty()
    }

    /// Takes out every row.
    pub fn clear(&mut self) {
        let Self { copy, member, pending, pending_blocks, next_lbn, positioning_ns } = self;
        copy.clear();
        member.clear();
        [pending, pending_blocks, next_lbn, positioning_ns].into_iter().for_each(Vec::clear);
    }
}

/// A choice of a mirror's copy that is no part of the simulator. A clone of it goes on as it does.
pub trait OwnMirror: DynClone + Send {
    /// What messages call it.
    fn name(&self) -> &str;

    /// Whether it looks at positioning times; finding them takes longer than all else.
    fn looks_at_positioning(&self) -> bool {
        true
    }

    /// Which row of `copies`, which is not empty, serves `request`, a read. It may take the columns and has to put them back.
    ///
    /// # Errors
    /// It can't go on.
    fn pick(&mut self, now: Time, request: &Request, copies: &mut Copies) -> Result<usize, Stop>;

    /// An access was sent to a member: a read, or what a write or a rebuild reads and writes there.
    ///
    /// # Errors
    /// It can't go on.
    fn arrived(&mut self, now: Time, member: u32, access: &Request) -> Result<(), Stop> {
        let _ = (now, member, access);
        Ok(())
    }

    /// An access of a member has come back, served or not. Of what a power cut ends nothing is told.
    ///
    /// # Errors
    /// It can't go on.
    fn completed(&mut self, now: Time, member: u32, access: &Request) -> Result<(), Stop> {
        let _ = (now, member, access);
        Ok(())
    }
}

dyn_clone::clone_trait_object!(OwnMirror);
