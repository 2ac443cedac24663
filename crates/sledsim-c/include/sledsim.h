/* Sledsim from C and C++: a system of storage that your program drives.
 *
 * Hand in requests, ask when something happens next, let time pass, and fetch what came back. Time is a whole number of
 * nanoseconds from the start; it is yours, and never runs back. docs/how-to/c.md shows how to couple this with the event
 * queue of another simulator.
 *
 * Every function answers with a code: SLEDSIM_OK, SLEDSIM_NOTHING, or an error, which is negative and changes nothing.
 * Whatever you do with numbers and handles is answered, never crashed on. Of pointers nothing can be known but whether
 * they are null: any other has to lead where the function may read or write.
 *
 * Different sessions may be used from different threads at once; one session from one thread at a time.
 */
#ifndef SLEDSIM_H
#define SLEDSIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A session: a number, of which one that is closed is never used again. 0 is none. */
typedef uint64_t sledsim_session;

/* What a function answers. */
enum sledsim_code {
    SLEDSIM_OK = 0,        /* Done. */
    SLEDSIM_NOTHING = 1,   /* Done, and there is nothing: no completion, no event to come. */
    SLEDSIM_NULL = -1,     /* A pointer is null where something is to be read or written. */
    SLEDSIM_TEXT = -2,     /* A text is not UTF-8. */
    SLEDSIM_ARGUMENT = -3, /* A number is none that it may be. */
    SLEDSIM_HANDLE = -4,   /* No such session: it was closed, or never opened. */
    SLEDSIM_BUSY = -5,     /* Another thread is using the session. */
    SLEDSIM_FULL = -6,     /* More sessions are open than there is room for: 65,536. */
    SLEDSIM_SCENARIO = -7, /* The scenario is wrong, or can't be read. */
    SLEDSIM_TIME = -8,     /* Time would run back. */
    SLEDSIM_RULE = -9,     /* The simulator broke a rule of its own, or has fallen too far behind its load. */
    SLEDSIM_TAKEN = -10,   /* No such request, or its completion was fetched before. */
    SLEDSIM_SPACE = -11,   /* The buffer is too small. */
    SLEDSIM_DEFECT = -12   /* Numbers beyond what can be simulated, or a defect: close the session. */
};

/* What a request does. */
enum sledsim_op {
    SLEDSIM_READ = 0,
    SLEDSIM_WRITE = 1,
    SLEDSIM_FLUSH = 2,    /* Nothing; comes back when all writes that had come back before it arrived outlive a power cut. */
    SLEDSIM_WRITE_FUA = 3 /* Forced unit access: a write that comes back when the medium has it, whatever buffers there are. */
};

/* What came of a request. */
enum sledsim_status {
    SLEDSIM_SERVED = 0,     /* It was served. */
    SLEDSIM_REFUSED = 1,    /* It does not fit the system. */
    SLEDSIM_UNREADABLE = 2, /* Some of its blocks can't be read. */
    SLEDSIM_FAILED = 3      /* What should have served it has failed. */
};

/* A request that has come back. */
typedef struct sledsim_completion {
    uint64_t id;         /* The number that sledsim_submit gave. */
    uint64_t arrival_ns; /* When it arrived. */
    uint64_t start_ns;   /* When it was dispatched. */
    uint64_t end_ns;     /* When it came back. */
    double energy_j;     /* Joules spent on it; 0 where the powers of the device are not known. */
    int status;          /* One of sledsim_status. */
} sledsim_completion_t;

/* The version of the library. */
const char *sledsim_version(void);

/* The name of a code, such as "SLEDSIM_TIME". */
const char *sledsim_code_name(int code);

/* What the last error on this thread says, a line for each thing that is wrong; empty before the first. The text stays
 * until the next error on this thread. */
const char *sledsim_message(void);

/* The same as data: a JSON list, of each fault its kind, path, value, what is allowed, file and line. */
const char *sledsim_faults(void);

/* Opens a session with the system of a scenario, which is a text in a format: "toml", "yaml" or "json"; null is "toml".
 * Relative paths in it start from a folder; null is the working folder. Settings, such as "device.settle_constants=0", are
 * laid over it; settings_count may be 0. Its workload is left out, and of its run only the warm-up counts. A scenario that
 * names a library runs the code of that library in this process: open only scenarios that you trust. */
int sledsim_open(const char *scenario, const char *format, const char *folder, const char *const *settings,
                 size_t settings_count, sledsim_session *session);

/* The same of a file, whose ending says the format: .toml, .yaml, .yml, .json. */
int sledsim_open_file(const char *file, const char *const *settings, size_t settings_count, sledsim_session *session);

/* Closes a session. Its number is never used again. */
int sledsim_close(sledsim_session session);

/* How many blocks a system has, and how many bytes a block; either may be null. */
int sledsim_size(sledsim_session session, uint64_t *blocks, uint32_t *block_bytes);

/* The current time. */
int sledsim_now(sledsim_session session, uint64_t *now_ns);

/* How many requests have been handed in and have not come back. */
int sledsim_under_way(sledsim_session session, uint64_t *requests);

/* Hands in a request that arrives at at_ns: not before now, nor before one handed in earlier. It arrives when time passes,
 * even where that is now. id, which may be null, becomes its number: 0 for the first, and so on. A request that does not fit
 * comes back refused. Of a flush lbn and blocks mean nothing. */
int sledsim_submit(sledsim_session session, uint64_t lbn, uint32_t blocks, int op, uint64_t at_ns, uint64_t *id);

/* When something happens next: a request arrives, a service ends, a disk spins down. SLEDSIM_NOTHING where nothing ever
 * will, unless you hand in something. */
int sledsim_next_event(sledsim_session session, uint64_t *at_ns);

/* Lets time pass to until_ns, and everything happen that is due by then. */
int sledsim_advance(sledsim_session session, uint64_t until_ns);

/* Lets time pass until all that has been handed in has come back, and no further. */
int sledsim_drain(sledsim_session session);

/* Fetches the completion that came first, of those not fetched yet; SLEDSIM_NOTHING where there is none. */
int sledsim_completion(sledsim_session session, sledsim_completion_t *completion);

/* Fetches up to capacity of them, in their order; count becomes how many. */
int sledsim_completions(sledsim_session session, sledsim_completion_t *completions, size_t capacity, size_t *count);

/* Fetches that of one request, out of turn; SLEDSIM_NOTHING where it has not come back yet, SLEDSIM_TAKEN where it was
 * fetched before or was never handed in. */
int sledsim_completion_of(sledsim_session session, uint64_t id, sledsim_completion_t *completion);

/* Opens a second session that stands where the first one does, and goes its own way from there. */
int sledsim_snapshot(sledsim_session session, sledsim_session *snapshot);

/* Goes back, or on, to where another session of the same system stands, which stays as it is; of another, SLEDSIM_ARGUMENT. */
int sledsim_restore(sledsim_session session, sledsim_session snapshot);

/* Writes what a run that had gone like this session, and ended now, would report: JSON, as `sledsim run --json` does. length,
 * which may be null, becomes its length without the zero at its end. With json null and capacity 0 nothing else happens;
 * SLEDSIM_SPACE where capacity is not above the length. The session may go on. */
int sledsim_result(sledsim_session session, char *json, size_t capacity, size_t *length);

#ifdef __cplusplus
}
#endif

#endif
