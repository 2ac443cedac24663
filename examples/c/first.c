/* A device that a program in C drives: requests in, completions out, and a question of what would be. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sledsim.h"

static const char SCENARIO[] = "[system]\n"
                               "device = \"g2\"\n"
                               "scheduler = \"sptf\"\n";

/* Ends the program where a call was refused. */
static void check(int code)
{
    if (code < 0) {
        fprintf(stderr, "%s: %s\n", sledsim_code_name(code), sledsim_message());
        exit(1);
    }
}

/* What the response time of a read would be, were it handed in now: found out on a copy. */
static uint64_t response_ns(sledsim_session session, uint64_t lbn)
{
    sledsim_session trial;
    sledsim_completion_t back;
    uint64_t id, now_ns;
    check(sledsim_snapshot(session, &trial));
    check(sledsim_now(trial, &now_ns));
    check(sledsim_submit(trial, lbn, 8, SLEDSIM_READ, now_ns, &id));
    check(sledsim_drain(trial));
    check(sledsim_completion_of(trial, id, &back));
    check(sledsim_close(trial));
    return back.end_ns - back.arrival_ns;
}

int main(void)
{
    sledsim_session session;
    sledsim_completion_t back;
    uint64_t blocks, next_ns;
    uint32_t block_bytes;
    size_t length;
    char *json;

    check(sledsim_open(SCENARIO, "toml", NULL, NULL, 0, &session));
    check(sledsim_size(session, &blocks, &block_bytes));
    printf("%" PRIu64 " blocks of %" PRIu32 " bytes\n", blocks, block_bytes);

    /* Three at once, and a fourth 2 ms later. */
    check(sledsim_submit(session, 1000, 8, SLEDSIM_READ, 0, NULL));
    check(sledsim_submit(session, 5000000, 8, SLEDSIM_WRITE, 0, NULL));
    check(sledsim_submit(session, 1064, 8, SLEDSIM_READ, 0, NULL));
    check(sledsim_submit(session, blocks - 8, 8, SLEDSIM_READ, 2000000, NULL));
    while (sledsim_next_event(session, &next_ns) == SLEDSIM_OK) {
        check(sledsim_advance(session, next_ns));
        while (sledsim_completion(session, &back) == SLEDSIM_OK)
            printf("request %" PRIu64 " back at %.6f ms, after %.6f ms\n", back.id, (double)back.end_ns / 1e6,
                   (double)(back.end_ns - back.arrival_ns) / 1e6);
    }
    printf("a read of block 0 would take %.6f ms\n", (double)response_ns(session, 0) / 1e6);

    check(sledsim_result(session, NULL, 0, &length));
    json = malloc(length + 1);
    if (json == NULL)
        return 1;
    check(sledsim_result(session, json, length + 1, NULL));
    printf("%s\n", json);
    free(json);
    check(sledsim_close(session));
    return 0;
}
