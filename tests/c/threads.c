/* A session for each of four threads, and one that all of them use at once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "sledsim.h"

static const char SCENARIO[] = "[system]\ndevice = \"g2\"\nscheduler = \"sptf\"\n";
static sledsim_session shared;

static void *drive(void *answer)
{
    sledsim_session own;
    sledsim_completion_t back;
    uint64_t at_ns, sum_ns = 0;
    int turn, code;
    if (sledsim_open(SCENARIO, NULL, NULL, NULL, 0, &own) != SLEDSIM_OK)
        exit(1);
    for (turn = 0; turn < 2000; turn++) {
        sledsim_submit(own, (uint64_t)turn * 7919 % 6000000, 8, turn % 2, (uint64_t)turn * 1000000, NULL);
        code = sledsim_next_event(shared, &at_ns);
        if (code == SLEDSIM_OK)
            code = sledsim_advance(shared, at_ns);
        if (code < 0 && code != SLEDSIM_BUSY && code != SLEDSIM_TIME)
            exit(1);
    }
    sledsim_drain(own);
    while (sledsim_completion(own, &back) == SLEDSIM_OK)
        sum_ns += back.end_ns - back.arrival_ns;
    sledsim_close(own);
    *(uint64_t *)answer = sum_ns;
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    uint64_t sums_ns[4];
    int each;
    if (sledsim_open(SCENARIO, NULL, NULL, NULL, 0, &shared) != SLEDSIM_OK)
        return 1;
    for (each = 0; each < 1000; each++)
        sledsim_submit(shared, (uint64_t)each * 997, 8, 0, (uint64_t)each * 100000, NULL);
    for (each = 0; each < 4; each++)
        pthread_create(&threads[each], NULL, drive, &sums_ns[each]);
    for (each = 0; each < 4; each++)
        pthread_join(threads[each], NULL);
    puts(sums_ns[0] > 0 && sums_ns[0] == sums_ns[1] && sums_ns[0] == sums_ns[2] && sums_ns[0] == sums_ns[3] ? "alike" : "not alike");
    return sledsim_close(shared);
}
