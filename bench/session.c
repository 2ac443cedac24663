/* Drives a session with random 4 KB reads at 500 a second, one by one: session REQUESTS. Prints the processor time of a request,
 * in seconds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sledsim.h"

static const char SCENARIO[] = "[system]\ndevice = \"g2\"\nscheduler = \"fcfs\"\n";

int main(int argc, char **argv)
{
    const long requests = argc > 1 ? atol(argv[1]) : 1000000;
    const uint64_t gap_ns = 2000000;
    uint64_t blocks, now_ns = 0, state = 1;
    long done = 0, each;
    sledsim_session session;
    sledsim_completion_t back;
    clock_t start;
    if (sledsim_open(SCENARIO, "toml", NULL, NULL, 0, &session) < 0 || sledsim_size(session, &blocks, NULL) < 0)
        return 1;
    start = clock();
    for (each = 0; each < requests; each++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        now_ns += gap_ns;
        if (sledsim_submit(session, (state >> 16) % (blocks - 8), 8, SLEDSIM_READ, now_ns, NULL) < 0)
            return 1;
        if (sledsim_advance(session, now_ns) < 0)
            return 1;
        while (sledsim_completion(session, &back) == SLEDSIM_OK)
            done += back.end_ns > back.arrival_ns;
    }
    if (sledsim_drain(session) < 0)
        return 1;
    while (sledsim_completion(session, &back) == SLEDSIM_OK)
        done++;
    printf("%.12g\n", (double)(clock() - start) / CLOCKS_PER_SEC / (double)requests);
    return done == requests ? 0 : 1;
}
