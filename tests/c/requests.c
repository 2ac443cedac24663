/* Hands in requests as they arrive, one step at a time, and prints what came back and the result:
 * requests SCENARIO_FILE SETTING... <REQUESTS, where a request is a line "ARRIVAL_NS LBN BLOCKS OP", the last as sledsim_op has it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sledsim.h"

static void check(int code)
{
    if (code < 0) {
        fprintf(stderr, "%s: %s\n%s\n", sledsim_code_name(code), sledsim_message(), sledsim_faults());
        exit(1);
    }
}

static void fetch(sledsim_session session)
{
    sledsim_completion_t back;
    while (sledsim_completion(session, &back) == SLEDSIM_OK)
        printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %.17g %d\n", back.id, back.arrival_ns, back.start_ns, back.end_ns,
               back.energy_j, back.status);
}

int main(int argc, char **argv)
{
    sledsim_session session;
    uint64_t at_ns, lbn, next_ns;
    uint32_t blocks;
    int op;
    size_t length;
    char *json;
    if (argc < 2)
        return 2;
    check(sledsim_open_file(argv[1], (const char *const *)(argv + 2), (size_t)argc - 2, &session));
    while (scanf("%" SCNu64 " %" SCNu64 " %" SCNu32 " %d", &at_ns, &lbn, &blocks, &op) == 4) {
        while (sledsim_next_event(session, &next_ns) == SLEDSIM_OK && next_ns <= at_ns) {
            check(sledsim_advance(session, next_ns));
            fetch(session);
        }
        check(sledsim_submit(session, lbn, blocks, op, at_ns, NULL));
    }
    check(sledsim_drain(session));
    fetch(session);
    check(sledsim_result(session, NULL, 0, &length));
    json = malloc(length + 1);
    if (json == NULL)
        return 1;
    check(sledsim_result(session, json, length + 1, NULL));
    puts(json);
    free(json);
    check(sledsim_close(session));
    return 0;
}
