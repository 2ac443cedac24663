/* A custom replacement policy for the bench: LRU, as custom_cache.py has it. */
#include "sledsim_policy.h"

/* Neighbours in a ring of slots: after the head the one used last, before it the one used longest ago. Behind the head stands
   whether there is a ring yet. */
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

int64_t lru(const struct sledsim_cache *told) {
    struct neighbours *ring = told->state;
    uint32_t head = told->slots, slot = told->slot;
    switch (told->what) {
    case SLEDSIM_HIT:
        leave(ring, slot);
        lead(ring, head, slot);
        return 0;
    case SLEDSIM_VICTIM:
        return slot == SLEDSIM_NO_SLOT ? ring[head].newer : ring[slot].newer;
    case SLEDSIM_ADMITTED:
        if (told->evicted != SLEDSIM_NO_KEY) leave(ring, slot);
        else if (!ring[head + 1].newer) ring[head] = (struct neighbours){head, head};
        ring[head + 1].newer = 1;
        lead(ring, head, slot);
        return 0;
    case SLEDSIM_REMOVED:
        leave(ring, slot);
    }
    return 0;
}
