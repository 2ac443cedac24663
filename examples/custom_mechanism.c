/* The mechanisms of custom_mechanism.py, compiled:
 *
 *     cc -O2 -ffp-contract=off -shared -fPIC -I"$(python -c 'import sledsim.devices as d; print(d.include_folder())')" \
 *         -o libmechanism.so custom_mechanism.c -lm
 *     sledsim run first.toml --set 'device={ library = "libmechanism.so", symbol = "linear", state_bytes = 8,
 *         capacity_blocks = 6750000, nearest_ms = 0.1, farthest_ms = 2.0 }'
 *
 * Parameters come in the order of their names.
 */
#include <math.h>

#include "sledsim_policy.h"

enum linear { CAPACITY_BLOCKS, FARTHEST_MS, NEAREST_MS };

int64_t linear(const struct sledsim_motion *asked) {
    const double *given = asked->parameters;
    uint64_t *next_lbn = asked->state;
    switch (asked->what) {
    case SLEDSIM_CAPACITY_BLOCKS:
        return (int64_t)given[CAPACITY_BLOCKS];
    case SLEDSIM_POSITIONING: {
        double ns_per_block = (given[FARTHEST_MS] - given[NEAREST_MS]) * 1e6 / given[CAPACITY_BLOCKS];
        uint64_t distance = asked->lbn > *next_lbn ? asked->lbn - *next_lbn : *next_lbn - asked->lbn;
        return llround(given[NEAREST_MS] * 1e6) + (int64_t)(ns_per_block * (double)distance + 0.5);
    }
    case SLEDSIM_SERVE:
        *next_lbn = asked->lbn + asked->blocks;
        return 0;
    default:
        return 0;
    }
}

enum sled { ACCELERATION_M_S2, BLOCK_US, COLUMN_BLOCKS, COLUMNS, LENGTH_UM, SETTLE_MS, WIDTH_UM };

struct stands {
    uint64_t column;
    uint64_t place;
};

static double distance(uint64_t one, uint64_t other) { return (double)(one > other ? one - other : other - one); }

static double seek_ns(const double *given, const struct stands *sled, uint64_t column, uint64_t place) {
    double across_m = distance(column, sled->column) * given[WIDTH_UM] * 1e-6 / given[COLUMNS];
    double along_m = distance(place, sled->place) * given[LENGTH_UM] * 1e-6 / given[COLUMN_BLOCKS];
    double settle_s = across_m > 0 ? given[SETTLE_MS] * 1e-3 : 0.0;
    double across_s = 2 * sqrt(across_m / given[ACCELERATION_M_S2]) + settle_s;
    return fmax(across_s, 2 * sqrt(along_m / given[ACCELERATION_M_S2])) * 1e9;
}

int64_t sled(const struct sledsim_motion *asked) {
    const double *given = asked->parameters;
    struct stands *sled = asked->state;
    uint64_t column_blocks = (uint64_t)given[COLUMN_BLOCKS];
    switch (asked->what) {
    case SLEDSIM_CAPACITY_BLOCKS:
        return (int64_t)((uint64_t)given[COLUMNS] * column_blocks);
    case SLEDSIM_POSITIONING:
        return llround(seek_ns(given, sled, asked->lbn / column_blocks, asked->lbn % column_blocks));
    case SLEDSIM_SERVE: {
        double took_ns = 0;
        uint64_t left = asked->blocks;
        sled->column = asked->lbn / column_blocks;
        sled->place = asked->lbn % column_blocks;
        while (left > 0) {
            uint64_t here = column_blocks - sled->place < left ? column_blocks - sled->place : left;
            took_ns += (double)here * given[BLOCK_US] * 1e3;
            sled->place += here;
            left -= here;
            if (left > 0) {
                took_ns += seek_ns(given, sled, sled->column + 1, 0);
                sled->column++;
                sled->place = 0;
            }
        }
        return llround(took_ns);
    }
    default:
        return 0;
    }
}
