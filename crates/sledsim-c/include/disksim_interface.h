/* The interface by which programs use DiskSim 4.0 as the storage of their own simulation, on Sledsim.
 *
 * A program that was written for DiskSim compiles and links without a change: with this folder in its include path, and
 * with -lsledsim in the place of -ldisksim and the libraries that go with it. Its parameter file is imported on the way;
 * docs/how-to/import.md says what is carried over, and docs/how-to/c.md what differs.
 *
 * Times are milliseconds of simulated time. Where something is wrong, a message goes to standard error and the program ends
 * with status 1, as DiskSim's does.
 */
#ifndef _DISKSIM_INTERFACE_H
#define _DISKSIM_INTERFACE_H

#include "disksim_reqflags.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A request. It stays the program's own: where it lies in memory is what its completion is known by. */
struct disksim_request {
    int flags;           /* DISKSIM_READ or DISKSIM_WRITE; other bits are not looked at. */
    short devno;         /* The device, from 0 on, of those in the parameter file that are alike. */
    unsigned long blkno; /* The first block. */
    int bytecount;       /* Bytes, in whole blocks of 512. */
    double start;        /* These four are the program's own, and not looked at. */
    int batchno;
    int batch_complete;
    void *reqctx;
};

/* A simulated system. */
struct disksim_interface;

/* Told by a system: a request has come back at a time. ctx is what the program gave when it made the system. */
typedef void (*disksim_interface_complete_t)(double time, struct disksim_request *request, void *ctx);

/* What a program calls at a time that it was asked to call at. */
typedef void (*disksim_interface_callback_t)(struct disksim_interface *system, double time, void *ctx);

/* Asked by a system: to call fn when simulated time reaches a time. One call at most is outstanding. */
typedef void (*disksim_interface_sched_t)(disksim_interface_callback_t fn, double time, void *ctx);

/* Asked by a system: not to make the call that is outstanding. The time is 0. */
typedef void (*disksim_interface_desched_t)(double time, void *ctx);

/* Makes a system of a parameter file. What is not carried over, and later statistics, go to an output file; "stdout" is
 * standard output. argv holds argc words that replace values of the file, three for each value: component, parameter, value. */
struct disksim_interface *disksim_interface_initialize(const char *pfile, const char *ofile,
                                                       disksim_interface_complete_t complete,
                                                       disksim_interface_sched_t schedule,
                                                       disksim_interface_desched_t deschedule, void *ctx, int argc,
                                                       char **argv);

/* Hands in a request, which arrives at a time: not before now. */
void disksim_interface_request_arrive(struct disksim_interface *system, double time, struct disksim_request *request);

/* Lets everything happen that is due by a time. The last argument is not looked at. */
void disksim_interface_internal_event(struct disksim_interface *system, double time, void *unused);

/* Writes statistics to the output file; the simulation may go on. */
void disksim_interface_dump_stats(struct disksim_interface *system, double time);

/* Writes statistics to the output file, at the end of the simulation. */
void disksim_interface_shutdown(struct disksim_interface *system, double time);

/* Gives back what a system takes. */
void disksim_free_disksim(struct disksim_interface *system);

/* The size of a device; diskmodel/dm.h has the structure. It is there as long as the system is. */
struct dm_disk_if;
struct dm_disk_if *disksim_getdiskmodel(struct disksim_interface *system, int device);

/* Milliseconds to and from DiskSim's unit of time, which is the millisecond. */
double disksim_time_to_msec(double time);
double disksim_time_from_msec(double time);

#ifdef __cplusplus
}
#endif

#endif
