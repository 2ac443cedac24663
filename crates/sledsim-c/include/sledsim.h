/* Sledsim for C and C++: your program drives a simulated storage system.
 *
 * Submit requests, ask for the time of the next event, advance the time, and fetch completions. Time is an integer number of
 * nanoseconds from the start. Your program controls it, and it never runs back. docs/how-to/c.md shows how to couple a session
 * with the event queue of another simulator.
 *
 * Every function returns a code: SLEDSIM_OK, SLEDSIM_NOTHING, or an error, which is negative. An error changes nothing. Invalid
 * numbers and handles give an error. A null pointer gives an error where a value is required; any other pointer must be valid
 * and aligned for what the function reads or writes, and results must not overlap.
 *
 * Different threads may use different sessions at the same time, but not the same session.
 */
#ifndef SLEDSIM_H
#define SLEDSIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Handle of a session. The handle of a closed session is never reused. 0 is never a session. */
typedef uint64_t sledsim_session;

/* Result codes. */
enum sledsim_code {
    SLEDSIM_OK = 0,        /* Success. */
    SLEDSIM_NOTHING = 1,   /* Success without a result: no completion, no future event. */
    SLEDSIM_NULL = -1,     /* A required pointer is null. */
    SLEDSIM_TEXT = -2,     /* A text is not UTF-8. */
    SLEDSIM_ARGUMENT = -3, /* An argument is out of range. */
    SLEDSIM_HANDLE = -4,   /* The session was closed or never opened. */
    SLEDSIM_BUSY = -5,     /* Another thread is using the session. */
    SLEDSIM_FULL = -6,     /* 65,536 sessions are open, the maximum. */
    SLEDSIM_SCENARIO = -7, /* The scenario is invalid or can't be read. */
    SLEDSIM_TIME = -8,     /* A time is before the current time. */
    SLEDSIM_RULE = -9,     /* The simulator violated one of its rules, or the load exceeds what it can hold. */
    SLEDSIM_TAKEN = -10,   /* The request was never submitted, or its completion was already fetched. */
    SLEDSIM_SPACE = -11,   /* The buffer is too small. */
    SLEDSIM_DEFECT = -12   /* A number overflowed, or the simulator has a defect: close the session. */
};

/* Operation of a request. */
enum sledsim_op {
    SLEDSIM_READ = 0,
    SLEDSIM_WRITE = 1,
    SLEDSIM_FLUSH = 2,    /* Completes when all writes that had completed before its arrival survive a power cut. */
    SLEDSIM_WRITE_FUA = 3, /* Forced unit access: a write that completes when it is on the medium. */
    SLEDSIM_RESET = 4      /* Empties whole zones that are written in order. Systems of another kind than zoned refuse it. */
};

/* Status of a completed request. */
enum sledsim_status {
    SLEDSIM_SERVED = 0,     /* Served. */
    SLEDSIM_REFUSED = 1,    /* Outside the capacity, too long, or not allowed by zones. */
    SLEDSIM_UNREADABLE = 2, /* Some blocks can't be read. */
    SLEDSIM_FAILED = 3      /* The component that should serve it has failed. */
};

/* A completed request. */
typedef struct sledsim_completion {
    uint64_t id;         /* Number from sledsim_submit. */
    uint64_t arrival_ns; /* Time of arrival. */
    uint64_t start_ns;   /* Time of dispatch. */
    uint64_t end_ns;     /* Time of completion. */
    double energy_j;     /* Energy, J; 0 if the powers of the device are unknown. */
    int status;          /* An enum sledsim_status. */
} sledsim_completion_t;

/* Returns the version of the library. */
const char *sledsim_version(void);

/* Returns the name of a code, such as "SLEDSIM_TIME". */
const char *sledsim_code_name(int code);

/* Returns the message of the last error of this thread, one line for each fault; empty before the first. The text is valid
 * until the next error of this thread. */
const char *sledsim_message(void);

/* Returns the faults of the last error of this thread as a JSON list: kind, path, value, allowed range, file and line. */
const char *sledsim_faults(void);

/* Opens a session with the system of a scenario, a text in the format "toml" (also for null), "yaml" or "json". Relative paths
 * start from folder, or from the working directory if folder is null. Settings, such as "device.settle_constants=0", override
 * keys of the scenario. The workload of the scenario is ignored, and its run except for the warm-up. A scenario that
 * names a library runs the code of that library in this process: open only scenarios that you trust. */
int sledsim_open(const char *scenario, const char *format, const char *folder, const char *const *settings,
                 size_t settings_count, sledsim_session *session);

/* Opens a session with the system of a scenario file. Its ending gives the format: .toml, .yaml, .yml or .json. */
int sledsim_open_file(const char *file, const char *const *settings, size_t settings_count, sledsim_session *session);

/* Closes a session. */
int sledsim_close(sledsim_session session);

/* Gets the capacity of the system, and the size of a block. Either pointer may be null. */
int sledsim_size(sledsim_session session, uint64_t *blocks, uint32_t *block_bytes);

/* Gets the current time. */
int sledsim_now(sledsim_session session, uint64_t *now_ns);

/* Gets the number of outstanding requests. */
int sledsim_under_way(sledsim_session session, uint64_t *requests);

/* Submits a request that arrives at at_ns, which must not be before the current time nor before the last arrival. It arrives when
 * the time advances, even to the current time. id may be null; it gets the number of the request, from 0. A request that
 * does not fit the system completes as refused. lbn and blocks of a flush are ignored. */
int sledsim_submit(sledsim_session session, uint64_t lbn, uint32_t blocks, int op, uint64_t at_ns, uint64_t *id);

/* Gets the time of the next event, such as an arrival, a completion or a spin-down. Returns SLEDSIM_NOTHING if there is none. */
int sledsim_next_event(sledsim_session session, uint64_t *at_ns);

/* Advances the time to until_ns, and processes all events up to then. */
int sledsim_advance(sledsim_session session, uint64_t until_ns);

/* Advances the time until all submitted requests have completed. */
int sledsim_drain(sledsim_session session);

/* Fetches the first completion that has not been fetched. Returns SLEDSIM_NOTHING if there is none. */
int sledsim_completion(sledsim_session session, sledsim_completion_t *completion);

/* Fetches up to capacity completions in their order; count gets their number. Returns SLEDSIM_NOTHING if there is none. */
int sledsim_completions(sledsim_session session, sledsim_completion_t *completions, size_t capacity, size_t *count);

/* Fetches the completion of one request. Returns SLEDSIM_NOTHING if it has not completed, and SLEDSIM_TAKEN if its completion
 * was already fetched or it was never submitted. */
int sledsim_completion_of(sledsim_session session, uint64_t id, sledsim_completion_t *completion);

/* Opens a copy of a session. */
int sledsim_snapshot(sledsim_session session, sledsim_session *snapshot);

/* Sets a session to the state of a copy, which is not changed. Returns SLEDSIM_ARGUMENT if their systems differ. */
int sledsim_restore(sledsim_session session, sledsim_session snapshot);

/* Writes the result of a run that ended now as JSON, in the form of `sledsim run --json`, with a zero at its end. length may be
 * null; it gets the length without the zero. If json is null and capacity is 0, only the length is returned. Returns
 * SLEDSIM_SPACE if capacity is not above the length. The session can be continued. */
int sledsim_result(sledsim_session session, char *json, size_t capacity, size_t *length);

#ifdef __cplusplus
}
#endif

#endif
