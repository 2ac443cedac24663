/* Policies of every role, compiled: those that are built in, some that count their calls, and some that fail. */
#include "sledsim_policy.h"
#include <assert.h>
#include <stddef.h>

_Static_assert(offsetof(struct sledsim_pending, parameters) == 64, "no padding");
_Static_assert(sizeof(struct sledsim_request) == 64, "no padding");
_Static_assert(offsetof(struct sledsim_cache, parameters) == 32, "no padding");
_Static_assert(offsetof(struct sledsim_copies, parameters) == 88, "no padding");
_Static_assert(offsetof(struct sledsim_access, parameters) == 40, "no padding");
_Static_assert(offsetof(struct sledsim_idle, parameters) == 88, "no padding");

/* Schedulers. */

int64_t fcfs(const struct sledsim_pending *pending) { return 0; }

int64_t clook(const struct sledsim_pending *pending) {
    uint64_t *head = pending->state;
    int64_t lowest = 0, ahead = -1;
    assert(pending->positioning_ns == NULL);
    for (uint64_t row = 0; row < pending->count; row++) {
        uint64_t lbn = pending->lbn[row];
        if (lbn < pending->lbn[lowest]) lowest = row;
        if (lbn >= *head && (ahead < 0 || lbn < pending->lbn[ahead])) ahead = row;
    }
    int64_t next = ahead < 0 ? lowest : ahead;
    *head = pending->lbn[next] + pending->blocks[next];
    return next;
}

int64_t sptf(const struct sledsim_pending *pending) {
    int64_t best = 0;
    for (uint64_t row = 1; row < pending->count; row++)
        if (pending->positioning_ns[row] < pending->positioning_ns[best]) best = row;
    return best;
}

/* Parameters are in the order of their names: seven, weight. */
int64_t aged(const struct sledsim_pending *pending) {
    double weight = pending->parameters[1], least = 0;
    int64_t best = -1;
    if (pending->parameter_count != 2 || pending->parameters[0] != 7) return -7;
    for (uint64_t row = 0; row < pending->count; row++) {
        double cost = (double)pending->positioning_ns[row] - weight * (double)pending->age_ns[row];
        if (best < 0 || cost < least) { best = row; least = cost; }
    }
    return best;
}

/* Arrivals minus completions are the pending and active requests. */
struct counts { uint64_t there, reads; };

void request_arrived(const struct sledsim_request *request) {
    struct counts *counts = request->state;
    counts->there++;
    counts->reads += request->read;
}

void request_completed(const struct sledsim_request *request) {
    struct counts *counts = request->state;
    counts->there--;
    counts->reads -= request->read;
}

int64_t count_requests(const struct sledsim_pending *pending) {
    struct counts *counts = pending->state;
    uint64_t reads = 0;
    for (uint64_t row = 0; row < pending->count; row++) reads += pending->read[row];
    uint64_t under_way = counts->there - pending->count, reading = counts->reads - reads;
    return under_way <= 1 && reading <= under_way && pending->state_bytes == 16 ? 0 : -1;
}

int64_t invalid_row(const struct sledsim_pending *pending) { return pending->id[0] < 50 ? 0 : (int64_t)pending->count; }

/* Caches. LRU: for each slot the key it holds and its last reference, behind the number of references. */

struct line { uint64_t key, last; };
struct lru { uint64_t references; struct line lines[]; };

int64_t lru(const struct sledsim_cache *event) {
    struct lru *lru = event->state;
    struct line *line = lru->lines + event->slot;
    switch (event->what) {
    case SLEDSIM_VICTIM: {
        uint64_t after = event->slot == SLEDSIM_NO_SLOT ? 0 : line->last, least = UINT64_MAX;
        int64_t oldest = -1;
        for (uint64_t slot = 0; slot < event->slots; slot++) {
            uint64_t last = lru->lines[slot].last;
            if (last > after && last < least) { least = last; oldest = slot; }
        }
        return oldest;
    }
    case SLEDSIM_ADMITTED:
        assert(event->evicted == (line->last ? line->key : SLEDSIM_NO_KEY));
        *line = (struct line){event->key, ++lru->references};
        return 0;
    case SLEDSIM_HIT:
        assert(event->key == line->key);
        line->last = ++lru->references;
        return 0;
    case SLEDSIM_REMOVED:
        *line = (struct line){0, 0};
    }
    return 0;
}

/* Admits no key that is a multiple of its parameter. */
int64_t choosy(const struct sledsim_cache *event) {
    if (event->what == SLEDSIM_REFUSES) return event->key % (uint64_t)event->parameters[0] == 0;
    return lru(event);
}

int64_t invalid_slot(const struct sledsim_cache *event) {
    return event->what == SLEDSIM_VICTIM ? (int64_t)event->slots : 0;
}

int64_t invalid_refusal(const struct sledsim_cache *event) { return event->what == SLEDSIM_REFUSES ? 1 << 30 : 0; }

/* Mirrors. */

static uint64_t distance(uint64_t one, uint64_t other) { return one < other ? other - one : one - other; }

/* The least cost, among equals the next copy in turn. */
static int64_t least(const struct sledsim_copies *copies, const uint64_t *cost) {
    uint64_t *turn = copies->state, best = 0;
    for (uint64_t row = 1; row < copies->count; row++) {
        int behind = copies->copy[row] < *turn, best_behind = copies->copy[best] < *turn;
        if (cost[row] != cost[best] ? cost[row] < cost[best] : behind < best_behind) best = row;
    }
    *turn = copies->copy[best] + 1;
    return best;
}

int64_t round_robin(const struct sledsim_copies *copies) {
    const uint64_t none[8] = {0};
    assert(copies->positioning_ns == NULL && copies->read == 1 && copies->count <= 8);
    return least(copies, none);
}

int64_t shortest_queue(const struct sledsim_copies *copies) { return least(copies, copies->pending_blocks); }

int64_t nearest(const struct sledsim_copies *copies) {
    uint64_t cost[8];
    for (uint64_t row = 0; row < copies->count; row++) {
        uint64_t time_ns = copies->positioning_ns[row];
        cost[row] = time_ns == SLEDSIM_UNKNOWN ? distance(copies->next_lbn[row], copies->lbn) : time_ns;
    }
    return least(copies, cost);
}

void access_arrived(const struct sledsim_access *access) { ((uint64_t *)access->state)[access->member]++; }
void access_completed(const struct sledsim_access *access) { ((uint64_t *)access->state)[access->member]--; }

int64_t count_accesses(const struct sledsim_copies *copies) {
    const uint64_t *there = copies->state;
    for (uint64_t row = 0; row < copies->count; row++)
        if (copies->pending[row] != there[copies->member[row]]) return -1;
    return copies->parameters[0] == 7 ? 0 : -2;
}

int64_t invalid_copy(const struct sledsim_copies *copies) { return copies->id < 50 ? 0 : (int64_t)copies->count; }

/* Spin-down. */

static int64_t stop_after(const struct sledsim_idle *call, int64_t after_ns) {
    if (call->what != SLEDSIM_AFTER) return 0;
    return call->mode == call->modes - 1 ? after_ns : (int64_t)call->after_ns[call->mode];
}

int64_t immediate(const struct sledsim_idle *call) { return stop_after(call, 0); }
int64_t never(const struct sledsim_idle *call) { return call->what == SLEDSIM_AFTER ? -1 : 0; }
int64_t timeout(const struct sledsim_idle *call) { return stop_after(call, (int64_t)(call->parameters[0] * 1e6)); }

/* Half of the last idle period, and the time in which the ready mode takes the energy of the way back. */
int64_t learns(const struct sledsim_idle *call) {
    uint64_t *last_ns = call->state;
    unsigned lowest = call->modes - 1;
    if (call->what == SLEDSIM_ENDED) *last_ns = call->idle_ns;
    if (call->what != SLEDSIM_AFTER) return 0;
    double back_j = call->wake_w[lowest] * (double)call->wake_ns[lowest];
    return stop_after(call, (int64_t)(back_j / call->power_w[0] + (double)(*last_ns / 2)));
}
