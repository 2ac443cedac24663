/* Random calls of every function, right and wrong: misuse SEED CALLS. Prints how often each code was answered. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sledsim.h"

enum { HANDLES = 24, COMPLETIONS = 8, CODES = 14, LEAST = -12 };

static const char *const SCENARIOS[] = {
    "[system]\ndevice = \"g2\"\n",
    "[system]\ndevice = \"g2\"\nscheduler = \"sptf\"\n",
    "[system]\nkind = \"mirror\"\nmembers = [{ count = 2, system = { device = \"g1\" } }]\n",
    "[system]\ndevice = \"no such device\"\n",
    "[system\n",
    "\xff\xfe",
    "",
    NULL,
};
static const char *const SETTINGS[] = {"device.settle_constants=0", "device.settle_constants=-1", "no setting", "\xc3", NULL};

static uint64_t state;
static long answered[CODES];
static sledsim_session handles[HANDLES];

static uint64_t drawn(uint64_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % below;
}

/* Mostly a session, open or closed; now and then a number that none ever had. */
static sledsim_session any(void)
{
    if (drawn(50) == 0)
        return drawn(2) ? drawn(1u << 20) : state;
    return handles[drawn(HANDLES)];
}

/* A place for an answer, or none. */
static void *place(void *answer) { return drawn(20) == 0 ? NULL : answer; }

/* Mostly a time near now; now and then one long ago, or the last that there is. */
static uint64_t some_time(sledsim_session session)
{
    uint64_t now_ns = 0;
    sledsim_now(session, &now_ns);
    switch (drawn(40)) {
    case 0:
        return now_ns / 2;
    case 1:
        return UINT64_MAX - drawn(3);
    case 2:
        return now_ns + drawn(UINT64_C(1000000000));
    default:
        return now_ns + drawn(3000000);
    }
}

static void note(const char *function, int code)
{
    const char *name = sledsim_code_name(code);
    if (code < LEAST || code > SLEDSIM_NOTHING || strncmp(name, "SLEDSIM_", 8) != 0) {
        printf("%s answered %d\n", function, code);
        exit(2);
    }
    if (code < 0 && (strlen(sledsim_message()) == 0 || sledsim_faults()[0] != '[')) {
        printf("%s answered %s without a word\n", function, name);
        exit(2);
    }
    answered[code - LEAST]++;
}

static void open_some(void)
{
    const char *const settings[] = {SETTINGS[drawn(5)], SETTINGS[0]};
    const char *const formats[] = {NULL, "toml", "toml", "json", "xml"};
    sledsim_session session = 0;
    size_t place_of = drawn(HANDLES);
    int code;
    /* Opening takes longest, so wrong ways to do it are rarer. */
    if (drawn(3)) {
        code = sledsim_open(SCENARIOS[drawn(3)], NULL, NULL, NULL, 0, place(&session));
    } else if (drawn(8)) {
        code = sledsim_open(SCENARIOS[drawn(8)], formats[drawn(5)], drawn(2) ? NULL : "/", settings, drawn(3), place(&session));
    } else {
        code = sledsim_open_file(drawn(2) ? "no such file.toml" : NULL, settings, drawn(2), place(&session));
    }
    note("open", code);
    if (code == SLEDSIM_OK) {
        sledsim_close(handles[place_of]);
        handles[place_of] = session;
    }
}

static void copy_some(sledsim_session session)
{
    sledsim_session copy = 0;
    size_t place_of = drawn(HANDLES);
    int code = sledsim_snapshot(session, place(&copy));
    note("snapshot", code);
    if (code == SLEDSIM_OK) {
        sledsim_close(handles[place_of]);
        handles[place_of] = copy;
    }
}

static void ask_result(sledsim_session session)
{
    static char json[65536];
    size_t length;
    note("result", sledsim_result(session, place(json), drawn(3) ? sizeof json : drawn(64), place(&length)));
}

/* One call, of a function by number. */
static void call(sledsim_session session, unsigned which)
{
    sledsim_completion_t back[COMPLETIONS];
    uint64_t number, blocks = 0;
    uint32_t block_bytes;
    size_t count;
    switch (which) {
    case 0:
        note("now", sledsim_now(session, place(&number)));
        break;
    case 1:
        note("under_way", sledsim_under_way(session, place(&number)));
        break;
    case 2:
        note("size", sledsim_size(session, place(&blocks), place(&block_bytes)));
        break;
    case 3:
        note("completion", sledsim_completion(session, place(back)));
        break;
    case 4:
        note("completions", sledsim_completions(session, place(back), drawn(COMPLETIONS + 1), place(&count)));
        break;
    case 5:
        note("completion_of", sledsim_completion_of(session, drawn(10) ? drawn(64) : state, place(back)));
        break;
    case 6:
        note("next_event", sledsim_next_event(session, place(&number)));
        break;
    case 7:
        note("drain", sledsim_drain(session));
        break;
    case 8:
        note("restore", sledsim_restore(session, any()));
        break;
    case 9:
    case 10:
    case 11:
        note("advance", sledsim_advance(session, some_time(session)));
        break;
    default:
        sledsim_size(session, &blocks, NULL);
        number = drawn(20) && blocks ? drawn(blocks) : state;
        note("submit", sledsim_submit(session, number, drawn(20) ? (uint32_t)drawn(64) : (uint32_t)state,
                                      drawn(30) ? (int)drawn(2) : (int)drawn(9) - 4, some_time(session), place(&number)));
    }
}

int main(int argc, char **argv)
{
    long calls = argc > 2 ? atol(argv[2]) : 10000, done;
    int code;
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    for (done = 0; done < calls; done++) {
        sledsim_session session = any();
        uint64_t turn = drawn(400);
        if (turn < 2 || done < HANDLES)
            open_some();
        else if (turn < 4)
            note("close", sledsim_close(session));
        else if (turn < 8)
            copy_some(session);
        else if (turn < 10)
            ask_result(session);
        else if (turn < 11 && strlen(sledsim_version()) == 0)
            return 1;
        else
            call(session, (unsigned)drawn(18));
    }
    for (code = LEAST; code <= SLEDSIM_NOTHING; code++)
        printf("%s %ld\n", sledsim_code_name(code), answered[code - LEAST]);
    for (done = 0; done < HANDLES; done++)
        sledsim_close(handles[done]);
    return 0;
}
