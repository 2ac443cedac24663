/* A custom replacement policy for the benchmark: LRU, as in custom_cache.py. */
#include "sledsim_policy.h"

/* Neighbours in a ring of slots in order of use. `older` of the head is the most recently used slot, `newer` of the head the
   least recently used one. The entry after the head is nonzero once the ring is initialised. */
struct neighbours { uint32_t newer, older; };

static void leave(struct neighbours *ring, uint32_t slot) {
    ring[ring[slot].newer].older = ring[slot].older;
    ring[ring[slot].older].newer = ring[slot].newer;
}

static void lead(struct neighbours *ring, uint32_t head, uint32_t slot) {
    ring[slot] = (struct neighbours){.newer = head, .older = ring[head].older};
    ring[ring[slot].older].newer = slot;
    ring[head].older = slot;
}

int64_t lru(const struct sledsim_cache *event) {
    struct neighbours *ring = event->state;
    uint32_t head = event->slots, slot = event->slot;
    switch (event->what) {
    case SLEDSIM_HIT:
        leave(ring, slot);
        lead(ring, head, slot);
        return 0;
    case SLEDSIM_VICTIM:
        return slot == SLEDSIM_NO_SLOT ? ring[head].newer : ring[slot].newer;
    case SLEDSIM_ADMITTED:
        if (event->evicted != SLEDSIM_NO_KEY) leave(ring, slot);
        else if (!ring[head + 1].newer) ring[head] = (struct neighbours){head, head};
        ring[head + 1].newer = 1;
        lead(ring, head, slot);
        return 0;
    case SLEDSIM_REMOVED:
        leave(ring, slot);
    }
    return 0;
}
