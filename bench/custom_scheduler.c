/* A custom scheduler for the bench: the lowest block first, as custom_scheduler.py has it. */
#include "sledsim_policy.h"

int64_t lowest_lbn(const struct sledsim_pending *pending) {
    int64_t lowest = 0;
    for (uint64_t row = 1; row < pending->count; row++)
        if (pending->lbn[row] < pending->lbn[lowest]) lowest = row;
    return lowest;
}
