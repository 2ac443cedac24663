// A program as they were written for DiskSim 4.0, in C++: eight users, each of whom asks again from within the callback that
// tells of a completion. disksim_closed PARAMETERS OUTPUT REQUESTS: prints arrival, block and response of each, ms.
#include <cstdio>
#include <cstdlib>
#include <map>

#include <disksim_global.h>
#include <disksim_interface.h>
#include <disksim_rand48.h>

static struct disksim_interface *disksim;
static std::multimap<double, disksim_interface_callback_t> events;
static int asked, limit;

static void ask(struct disksim_request *request, double now)
{
    request->start = now;
    request->flags = DISKSIM_lrand48() % 3 ? DISKSIM_READ : DISKSIM_WRITE;
    request->blkno = 8 * (DISKSIM_lrand48() % 100000);
    asked++;
    disksim_interface_request_arrive(disksim, now, request);
}

static void complete(double now, struct disksim_request *request, void *)
{
    std::printf("%.6f %lu %d %.6f\n", request->start, request->blkno, request->flags & READ, now - request->start);
    if (asked < limit)
        ask(request, now);
}

static void schedule(disksim_interface_callback_t fn, double time, void *) { events.insert({time, fn}); }

static void deschedule(double, void *) { events.clear(); }

int main(int argc, char **argv)
{
    struct disksim_request requests[8] = {};
    if (argc != 4)
        return 2;
    limit = std::atoi(argv[3]);
    disksim = disksim_interface_initialize(argv[1], argv[2], complete, schedule, deschedule, nullptr, 0, nullptr);
    DISKSIM_srand48(1);
    for (auto &request : requests) {
        request.bytecount = 4096;
        ask(&request, 0.0);
    }
    double now = 0;
    while (!events.empty()) {
        auto first = *events.begin();
        events.erase(events.begin());
        now = first.first;
        first.second(disksim, now, nullptr);
    }
    disksim_interface_shutdown(disksim, now);
    return asked == limit ? 0 : 1;
}
