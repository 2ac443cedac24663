/* A program as they were written for DiskSim 4.0: a simulator with its own list of events replays requests on a drive.
 *
 * disksim_program PARAMETERS OUTPUT [COMPONENT PARAMETER VALUE]... <REQUESTS
 * A request is a line "ARRIVAL_MS DEVICE BLOCK BLOCKS IS_READ". Prints number, arrival and response of each, ms. */
#include <stdio.h>
#include <stdlib.h>

#include "syssim_driver.h"
#include "disksim_interface.h"
#include "disksim_rand48.h"

struct tracked {
    struct disksim_request request;
    int number;
};

static SysTime now = 0;
static SysTime next_event = -1;
static int under_way = 0;

void syssim_schedule_callback(disksim_interface_callback_t fn, SysTime t, void *ctx)
{
    (void)fn;
    (void)ctx;
    next_event = t;
}

void syssim_deschedule_callback(double t, void *ctx)
{
    (void)t;
    (void)ctx;
    next_event = -1;
}

void syssim_report_completion(SysTime t, struct disksim_request *r, void *ctx)
{
    struct tracked *tracked = r->reqctx;
    now = t;
    under_way--;
    ++*(int *)ctx;
    printf("%d %.6f %.6f\n", tracked->number, r->start, t - r->start);
    free(tracked);
}

static void pass_until(struct disksim_interface *disksim, double until)
{
    while (next_event >= 0 && next_event <= until) {
        now = next_event;
        next_event = -1;
        disksim_interface_internal_event(disksim, now, 0);
    }
}

int main(int argc, char **argv)
{
    struct disksim_interface *disksim;
    double arrival;
    unsigned long block;
    int device, blocks, is_read, number = 0, done = 0;
    if (argc < 3)
        return 2;
    disksim = disksim_interface_initialize(argv[1], argv[2], syssim_report_completion, syssim_schedule_callback,
                                           syssim_deschedule_callback, &done, argc - 3, argv + 3);
    while (scanf("%lf %d %lu %d %d", &arrival, &device, &block, &blocks, &is_read) == 5) {
        struct tracked *tracked = calloc(1, sizeof *tracked);
        if (tracked == NULL)
            return 1;
        tracked->number = number++;
        tracked->request.start = arrival;
        tracked->request.flags = is_read ? DISKSIM_READ : DISKSIM_WRITE;
        tracked->request.devno = (short)device;
        tracked->request.blkno = block;
        tracked->request.bytecount = blocks * 512;
        tracked->request.reqctx = tracked;
        pass_until(disksim, arrival);
        now = arrival;
        under_way++;
        disksim_interface_request_arrive(disksim, disksim_time_from_msec(now), &tracked->request);
    }
    disksim_interface_dump_stats(disksim, now);
    pass_until(disksim, 1e12);
    disksim_interface_shutdown(disksim, now);
    disksim_free_disksim(disksim);
    if (under_way != 0 || done != number) {
        fprintf(stderr, "%d of %d requests came back\n", done, number);
        return 1;
    }
    return 0;
}
