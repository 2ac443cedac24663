/* A custom policy for the reads of a mirror for the bench: the fewest blocks under way, as custom_mirror.py has it. */
#include "sledsim_policy.h"

int64_t fewest(const struct sledsim_copies *copies) {
    int64_t least = 0;
    for (uint64_t row = 1; row < copies->count; row++)
        if (copies->pending_blocks[row] < copies->pending_blocks[least]) least = row;
    return least;
}
