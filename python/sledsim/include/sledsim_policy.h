/* The contracts of policies that are compiled: functions that Sledsim calls.
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
 * A function may write to `state` and to nothing else. It has no other memory: what it keeps elsewhere, all queues and all
 * threads would share. What is pointed to is there during the call alone.
 */
#ifndef SLEDSIM_POLICY_H
#define SLEDSIM_POLICY_H

#include <stdint.h>

/* What is pending, in the order of arrival: `count` entries in each array, at least one. */
struct sledsim_pending {
    uint64_t now_ns;                /* simulated time, ns */
    uint64_t count;
    const uint64_t *id;             /* numbers of the requests, which rise */
    const uint64_t *lbn;            /* first blocks */
    const uint32_t *blocks;         /* sizes, blocks */
    const uint8_t *read;            /* 1 for a read, 0 for a write */
    const uint64_t *age_ns;         /* times since the requests became ready, ns */
    const uint64_t *positioning_ns; /* times until the first bit can be transferred, ns; null with positioning = false */
    const double *parameters;       /* in the order of their names */
    uint64_t parameter_count;
    void *state;                    /* the policy's own, of each queue: `state_bytes`, all zero at first */
    uint64_t state_bytes;
};

/* A request that arrived or has been served. */
struct sledsim_request {
    uint64_t at_ns;                 /* when it became ready, or had been served, ns */
    uint64_t id;
    uint64_t lbn;
    uint32_t blocks;
    uint32_t read;
    const double *parameters;
    uint64_t parameter_count;
    void *state;
    uint64_t state_bytes;
};

/* Returns the row to dispatch, from 0 to `count` less 1; anything else ends the run. */
typedef int64_t sledsim_pick(const struct sledsim_pending *pending);

/* Takes note of a request. */
typedef void sledsim_hear(const struct sledsim_request *request);

/* What a replacement policy is told or asked. What a function does not know it answers with 0. */
enum sledsim_what {
    SLEDSIM_HIT,      /* the key in `slot` is referenced */
    SLEDSIM_VICTIM,   /* every slot is in use: which one is given to `key`? `slot` is the one that was chosen before, whose
                         key may not leave now: the next after it; SLEDSIM_NO_SLOT at first. Changes nothing */
    SLEDSIM_ADMITTED, /* `key` has come into `slot`, for `evicted`, or SLEDSIM_NO_KEY where the slot was free */
    SLEDSIM_REMOVED,  /* the key has left `slot`, and not for another: the slot is free */
    SLEDSIM_REFUSES   /* `key` is referenced, and not there: 1 if it is not to come in */
};

#define SLEDSIM_NO_SLOT UINT32_MAX
#define SLEDSIM_NO_KEY UINT64_MAX

/* What happens in a cache. */
struct sledsim_cache {
    uint32_t what;                  /* one of `enum sledsim_what` */
    uint32_t slot;                  /* from 0 on */
    uint64_t key;                   /* number of a page, line or segment */
    uint64_t evicted;
    uint64_t slots;                 /* how many the cache has */
    const double *parameters;
    uint64_t parameter_count;
    void *state;                    /* `state_bytes` of each cache, and `slot_bytes` of each of its slots */
    uint64_t state_bytes;
};

/* Answers what it is asked, and takes note of what it is told. */
typedef int64_t sledsim_replace(const struct sledsim_cache *told);

/* A read of a mirror, and the copies that may serve it, by rising numbers: `count` entries in each array, at least one. */
struct sledsim_copies {
    uint64_t now_ns;                /* simulated time, ns */
    uint64_t count;
    const uint32_t *copy;           /* numbers of the copies, from 0; those that have failed are left out */
    const uint32_t *member;         /* numbers of the members that hold them */
    const uint64_t *pending;        /* accesses under way at each */
    const uint64_t *pending_blocks; /* their blocks */
    const uint64_t *next_lbn;       /* the block after the last access that was sent to each */
    const uint64_t *positioning_ns; /* times until each could reach the first block, once it has done what it does, ns;
                                       SLEDSIM_UNKNOWN where that can't be told; null with positioning = false */
    uint64_t id;                    /* the read */
    uint64_t lbn;
    uint32_t blocks;
    uint32_t read;                  /* 1 */
    const double *parameters;
    uint64_t parameter_count;
    void *state;                    /* `state_bytes` of each mirror */
    uint64_t state_bytes;
};

#define SLEDSIM_UNKNOWN UINT64_MAX

/* An access that was sent to a member of a mirror, or came back: of a read, a write or a rebuild. */
struct sledsim_access {
    uint64_t at_ns;
    uint64_t id;                    /* its own */
    uint64_t lbn;
    uint32_t blocks;
    uint32_t read;
    uint64_t member;
    const double *parameters;
    uint64_t parameter_count;
    void *state;
    uint64_t state_bytes;
};

/* Returns the row of the copy that serves the read, from 0 to `count` less 1; anything else ends the run. */
typedef int64_t sledsim_choose(const struct sledsim_copies *copies);

/* Takes note of an access: what `arrived` and `completed` of a mirror's choice name. */
typedef void sledsim_note(const struct sledsim_access *access);

/* What a spin-down policy is asked or told. What a function does not know it answers with 0. */
enum sledsim_rest_what {
    SLEDSIM_AFTER, /* how long, ns, is the device idle before it enters `mode`? Below 0 for never. It is asked before all
                      else and after each request, of each mode below the ready one, from 1; one that would be entered later
                      than one below it is passed over */
    SLEDSIM_ENDED, /* a request that is dispatched at `now_ns` ended an idle period of `idle_ns` */
    SLEDSIM_SERVED /* the device was given a request, after which it is free at `now_ns` */
};

/* What happens to a device with idle modes. */
struct sledsim_idle {
    uint32_t what;                  /* one of `enum sledsim_rest_what` */
    uint32_t mode;                  /* of SLEDSIM_AFTER */
    uint64_t now_ns;                /* of SLEDSIM_AFTER: when the device will be free */
    uint64_t idle_ns;               /* of SLEDSIM_ENDED */
    uint64_t id;                    /* of SLEDSIM_SERVED: the request; a flush neither reads nor has blocks */
    uint64_t lbn;
    uint32_t blocks;
    uint32_t read;
    uint64_t modes;                 /* how many it has, the ready one first; 0 with SLEDSIM_SERVED */
    const double *power_w;          /* powers in them, W */
    const uint64_t *after_ns;       /* idle times after which it enters them without a policy; UINT64_MAX for never */
    const uint64_t *wake_ns;        /* times to be ready again, ns */
    const double *wake_w;           /* powers during those, W */
    const double *parameters;
    uint64_t parameter_count;
    void *state;                    /* `state_bytes` of each device */
    uint64_t state_bytes;
};

/* Answers what it is asked, and takes note of what it is told. */
typedef int64_t sledsim_rest(const struct sledsim_idle *told);

/* What a mechanism is asked. */
enum sledsim_asked {
    SLEDSIM_CAPACITY_BLOCKS, /* how many blocks it has, from 1 to 10^15; asked before all else */
    SLEDSIM_BLOCK_BYTES,     /* how large they are, from 1 to 2^20; 0 stands for 512 */
    SLEDSIM_POSITIONING,     /* the time from `now_ns` on until the first bit of `lbn` can pass, ns. Changes nothing */
    SLEDSIM_SERVE            /* the first bit of a request passes at `now_ns`: how long its data take to pass, ns; the mechanism
                                stands then where that leaves it */
};

/* What a mechanism is asked about. */
struct sledsim_motion {
    uint32_t what;                  /* one of `enum sledsim_asked` */
    uint32_t read;                  /* 1 for a read, 0 for a write */
    uint64_t now_ns;                /* simulated time, ns */
    uint64_t lbn;                   /* first block */
    uint64_t blocks;                /* how many; with SLEDSIM_SERVE alone */
    const double *parameters;
    uint64_t parameter_count;
    void *state;                    /* the mechanism's own: `state_bytes`, all zero at first */
    uint64_t state_bytes;
};

/* Answers what it is asked; times are from 0 to 10^12 ns. */
typedef int64_t sledsim_mechanism(const struct sledsim_motion *asked);

#endif
