/* Contracts of compiled policies and mechanisms: functions that Sledsim calls.
 *
 * In a scenario:  scheduler = { library = "libmine.so", symbol = "pick", weight = 2 }
 *                 policy = { library = "libmine.so", symbol = "replace", slot_bytes = 16 }
 *                 read = { library = "libmine.so", symbol = "choose" }
 *                 spin_down = { library = "libmine.so", symbol = "rest", state_bytes = 8 }
 *                 device = { library = "libmine.so", symbol = "tape", state_bytes = 8 }
 * From Python:    scheduler = sledsim.schedulers.compiled(function, weight=2)
 *                 policy = sledsim.caches.compiled(function, slot_bytes=16)
 *                 read = sledsim.mirrors.compiled(function)
 *                 spin_down = sledsim.spin_down.compiled(function, state_bytes=8)
 *                 device = sledsim.devices.compiled(function, state_bytes=8)
 *
 * A function may write to `state` only. Other memory, such as static variables, would be shared by all queues and threads.
 * Pointers are valid only during the call.
 */
#ifndef SLEDSIM_POLICY_H
#define SLEDSIM_POLICY_H

#include <stdint.h>

/* The pending requests in order of arrival: `count` entries in each array, at least one. */
struct sledsim_pending {
    uint64_t now_ns;                /* simulated time, ns */
    uint64_t count;
    const uint64_t *id;             /* numbers of the requests, ascending */
    const uint64_t *lbn;            /* first blocks */
    const uint32_t *blocks;         /* sizes, blocks */
    const uint8_t *read;            /* 1 for a read, 0 for a write */
    const uint64_t *age_ns;         /* times since the requests became ready, ns */
    const uint64_t *positioning_ns; /* times until the first bit can be transferred, ns; null with positioning = false */
    const double *parameters;       /* in the order of their names */
    uint64_t parameter_count;
    void *state;                    /* state of the policy for one queue: `state_bytes`, initially zero */
    uint64_t state_bytes;
};

/* A request that arrived or has been served. */
struct sledsim_request {
    uint64_t at_ns;                 /* time at which it became ready or was served, ns */
    uint64_t id;
    uint64_t lbn;
    uint32_t blocks;
    uint32_t read;
    const double *parameters;
    uint64_t parameter_count;
    void *state;
    uint64_t state_bytes;
};

/* Returns the row to dispatch, from 0 to `count` - 1. Any other value ends the run. */
typedef int64_t sledsim_pick(const struct sledsim_pending *pending);

/* Receives a request that arrived or was served. */
typedef void sledsim_notify(const struct sledsim_request *request);

/* Events and queries of a replacement policy. A function returns 0 for those that it does not handle. */
enum sledsim_cache_event {
    SLEDSIM_HIT,      /* event: the key in `slot` was referenced */
    SLEDSIM_VICTIM,   /* query: returns the slot to free for `key` when all are in use. `slot` is the previous choice, whose
                         key can't be evicted now: return the next choice; SLEDSIM_NO_SLOT at first. Must not change
                         the state */
    SLEDSIM_ADMITTED, /* event: `key` was admitted to `slot` in place of `evicted`, or SLEDSIM_NO_KEY if the slot was free */
    SLEDSIM_REMOVED,  /* event: the key of `slot` was removed without a successor: the slot is free */
    SLEDSIM_REFUSES   /* query: returns 1 if `key`, which was referenced and is not cached, must not be admitted */
};

#define SLEDSIM_NO_SLOT UINT32_MAX
#define SLEDSIM_NO_KEY UINT64_MAX

/* An event or query of a cache. */
struct sledsim_cache {
    uint32_t what;                  /* one of `enum sledsim_cache_event` */
    uint32_t slot;                  /* from 0 on */
    uint64_t key;                   /* number of a page, line or segment */
    uint64_t evicted;
    uint64_t slots;                 /* number of slots of the cache */
    const double *parameters;
    uint64_t parameter_count;
    void *state;                    /* `state_bytes` for each cache, plus `slot_bytes` for each of its slots */
    uint64_t state_bytes;
};

/* Handles an event, or answers a query. */
typedef int64_t sledsim_replace(const struct sledsim_cache *event);

/* A read of a mirror, and the copies that may serve it, by ascending number: `count` entries in each array, at least one. */
struct sledsim_copies {
    uint64_t now_ns;                /* simulated time, ns */
    uint64_t count;
    const uint32_t *copy;           /* numbers of the copies, from 0, without failed ones */
    const uint32_t *member;         /* numbers of the members that hold them */
    const uint64_t *pending;        /* outstanding accesses of each */
    const uint64_t *pending_blocks; /* blocks of those accesses */
    const uint64_t *next_lbn;       /* the block after the last access that was sent to each */
    const uint64_t *positioning_ns; /* times until each could reach the first block, from the end of its current service, ns;
                                       SLEDSIM_UNKNOWN if unknown; null with positioning = false */
    uint64_t id;                    /* the read */
    uint64_t lbn;
    uint32_t blocks;
    uint32_t read;                  /* 1 */
    const double *parameters;
    uint64_t parameter_count;
    void *state;                    /* `state_bytes` for each mirror */
    uint64_t state_bytes;
};

#define SLEDSIM_UNKNOWN UINT64_MAX

/* An access of a read, a write or a rebuild that was sent to a member of a mirror, or that a member completed. */
struct sledsim_access {
    uint64_t at_ns;
    uint64_t id;                    /* number of the access */
    uint64_t lbn;
    uint32_t blocks;
    uint32_t read;
    uint64_t member;
    const double *parameters;
    uint64_t parameter_count;
    void *state;
    uint64_t state_bytes;
};

/* Returns the row of the copy that serves the read, from 0 to `count` - 1. Any other value ends the run. */
typedef int64_t sledsim_choose(const struct sledsim_copies *copies);

/* Receives an access. The keys `arrived` and `completed` of a mirror's `read` name such functions. */
typedef void sledsim_notify_access(const struct sledsim_access *access);

/* Events and queries of a spin-down policy. A function returns 0 for those that it does not handle. */
enum sledsim_idle_event {
    SLEDSIM_AFTER, /* query: returns the idle time after which the device enters `mode`, ns; below 0 for never. Called
                      before the run and after each request, for each mode below the ready one, from 1. A mode that would
                      be entered later than a lower one is skipped */
    SLEDSIM_ENDED, /* event: a request that is dispatched at `now_ns` ended an idle period of `idle_ns` */
    SLEDSIM_SERVED /* event: the device serves a request, after which it is free at `now_ns` */
};

/* An event or query of a device with idle modes. */
struct sledsim_idle {
    uint32_t what;                  /* one of `enum sledsim_idle_event` */
    uint32_t mode;                  /* of SLEDSIM_AFTER */
    uint64_t now_ns;                /* of SLEDSIM_AFTER: the time at which the device will be free */
    uint64_t idle_ns;               /* of SLEDSIM_ENDED */
    uint64_t id;                    /* of SLEDSIM_SERVED: number of the request; a flush has `read` 0 and `blocks` 0 */
    uint64_t lbn;
    uint32_t blocks;
    uint32_t read;
    uint64_t modes;                 /* number of modes, the ready one first; 0 with SLEDSIM_SERVED */
    const double *power_w;          /* powers, W */
    const uint64_t *after_ns;       /* idle times after which it enters them without a policy; UINT64_MAX for never */
    const uint64_t *wake_ns;        /* times to return to the ready mode, ns */
    const double *wake_w;           /* powers during the return, W */
    const double *parameters;
    uint64_t parameter_count;
    void *state;                    /* `state_bytes` for each device */
    uint64_t state_bytes;
};

/* Handles an event, or answers a query. */
typedef int64_t sledsim_rest(const struct sledsim_idle *event);

/* Queries of a mechanism. */
enum sledsim_mechanism_query {
    SLEDSIM_CAPACITY_BLOCKS, /* returns the number of blocks, from 1 to 10^15; the first query */
    SLEDSIM_BLOCK_BYTES,     /* returns the size of a block, from 1 to 2^20; 0 stands for 512 */
    SLEDSIM_POSITIONING,     /* returns the time from `now_ns` until the first bit of `lbn` can be transferred, ns. Must not
                                change the state */
    SLEDSIM_SERVE,           /* serves a request whose first bit is transferred at `now_ns`, and moves the mechanism; returns
                                the transfer time, ns */
    SLEDSIM_POWER_CUT        /* power fails at `now_ns`: empties volatile memory, such as a read buffer. The answer is
                                ignored */
};

/* A query of a mechanism. */
struct sledsim_motion {
    uint32_t what;                  /* one of `enum sledsim_mechanism_query` */
    uint32_t read;                  /* 1 for a read, 0 for a write */
    uint64_t now_ns;                /* simulated time, ns */
    uint64_t lbn;                   /* first block */
    uint64_t blocks;                /* number of blocks; with SLEDSIM_SERVE only */
    const double *parameters;
    uint64_t parameter_count;
    void *state;                    /* state of the mechanism: `state_bytes`, initially zero */
    uint64_t state_bytes;
};

/* Answers a query. Times are from 0 to 10^12 ns. */
typedef int64_t sledsim_mechanism(const struct sledsim_motion *query);

#endif
