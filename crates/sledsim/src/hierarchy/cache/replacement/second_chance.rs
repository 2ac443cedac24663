//! The hand of a clock: what was referenced gets another round.

use std::ops::RangeInclusive;

use super::entries::Entries;
use super::Slot;

/// The first slot from the back of `list` that has no references left and that `may_evict` lets go.
///
/// What the hand passes goes to the front. A slot that may go loses one of its `references`; one that may not keeps
/// them. Where none may go the hand comes round once, and nothing has changed.
pub(super) fn sweep<const N: usize>(
    entries: &mut Entries<N>,
    list: usize,
    references: &mut [u8],
    may_evict: &mut dyn FnMut(Slot) -> bool,
) -> Option<Slot> {
    let mut pinned = 0;
    while pinned < entries.len_of(list) {
        let slot = entries.back(list)?;
        if !may_evict(slot) {
            pinned += 1;
        } else if references[slot as usize] > 0 {
            references[slot as usize] -= 1;
            pinned = 0;
        } else {
            return Some(slot);
        }
        entries.move_front(list, slot);
    }
    None
}

/// Shows those slots of `list` that have so many `references`, in the order in which the hand would take them if nothing
/// was referenced any more: fewest references first, of equals those nearer to the back. Says whether `visit` wants more.
pub(super) fn in_sweeping_order<const N: usize>(
    entries: &Entries<N>,
    list: usize,
    references: &[u8],
    mut having: RangeInclusive<u8>,
    visit: &mut dyn FnMut(Slot) -> bool,
) -> bool {
    having.all(|count| entries.back_to_front(list).filter(|&slot| references[slot as usize] == count).all(&mut *visit))
}
