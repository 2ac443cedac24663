//! The hand of a clock: referenced entries get another round.

use std::ops::RangeInclusive;

use super::entries::Entries;
use super::Slot;

/// The first slot from the back of `list` without references for which `may_evict` returns true.
///
/// Slots that the hand passes move to the front. A slot that can be evicted loses one of its `references`; another keeps them. If
/// no slot can be evicted, the hand goes round once and nothing changes.
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

/// Visits the slots of `list` whose number of `references` is in `having`, in the order in which the hand would take them without
/// further references: by number of references, then from the back. Returns false once `visit` returns false.
pub(super) fn in_sweeping_order<const N: usize>(
    entries: &Entries<N>,
    list: usize,
    references: &[u8],
    mut having: RangeInclusive<u8>,
    visit: &mut dyn FnMut(Slot) -> bool,
) -> bool {
    having.all(|count| entries.back_to_front(list).filter(|&slot| references[slot as usize] == count).all(&mut *visit))
}
