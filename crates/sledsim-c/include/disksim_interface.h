/* The interface of DiskSim 4.0 for simulators of whole systems, implemented by Sledsim.
 *
 * A program for DiskSim compiles and links without changes: with this folder in its include path, and with -lsledsim instead of
 * -ldisksim and its libraries. The parameter file is imported; docs/how-to/import.md describes the import, docs/how-to/c.md
 * the differences.
 *
 * Times are milliseconds of simulated time. An error prints a message to standard error and ends the program with status 1,
 * as in DiskSim.
 */
#ifndef _DISKSIM_INTERFACE_H
#define _DISKSIM_INTERFACE_H

#include "disksim_reqflags.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A request. The program keeps it until its completion, which is identified by its address. */
struct disksim_request {
    int flags;           /* DISKSIM_READ or DISKSIM_WRITE; other bits are ignored. */
    short devno;         /* The device, from 0; all devices of a parameter file are equal. */
    unsigned long blkno; /* First block. */
    int bytecount;       /* Size in bytes, a multiple of 512. */
    double start;        /* These four are ignored. */
    int batchno;
    int batch_complete;
    void *reqctx;
};

/* A simulated system. */
struct disksim_interface;

/* Called when a request completes. ctx is the argument of disksim_interface_initialize. */
typedef void (*disksim_interface_complete_t)(double time, struct disksim_request *request, void *ctx);

/* A function that the program calls at a requested time. */
typedef void (*disksim_interface_callback_t)(struct disksim_interface *system, double time, void *ctx);

/* Called to request a call of fn at a time. At most one request is pending. */
typedef void (*disksim_interface_sched_t)(disksim_interface_callback_t fn, double time, void *ctx);

/* Called to cancel the pending request. The time is 0. */
typedef void (*disksim_interface_desched_t)(double time, void *ctx);

/* Creates the system of a parameter file. The output file gets the list of parameters that are not imported, and statistics;
 * "stdout" is standard output. argv has argc words, three for each overridden value: component, parameter, value. */
struct disksim_interface *disksim_interface_initialize(const char *pfile, const char *ofile,
                                                       disksim_interface_complete_t complete,
                                                       disksim_interface_sched_t schedule,
                                                       disksim_interface_desched_t deschedule, void *ctx, int argc,
                                                       char **argv);

/* Submits a request that arrives at time, which must not be before the current time. */
void disksim_interface_request_arrive(struct disksim_interface *system, double time, struct disksim_request *request);

/* Processes all events up to time. The last argument is ignored. */
void disksim_interface_internal_event(struct disksim_interface *system, double time, void *unused);

/* Writes statistics to the output file. The simulation can be continued. */
void disksim_interface_dump_stats(struct disksim_interface *system, double time);

/* Writes statistics to the output file, at the end of the simulation. */
void disksim_interface_shutdown(struct disksim_interface *system, double time);

/* Frees a system. */
void disksim_free_disksim(struct disksim_interface *system);

/* Returns the size of a device, see diskmodel/dm.h. It is valid until the system is freed. */
struct dm_disk_if;
struct dm_disk_if *disksim_getdiskmodel(struct disksim_interface *system, int device);

/* Convert to and from milliseconds, DiskSim's unit of time. */
double disksim_time_to_msec(double time);
double disksim_time_from_msec(double time);

#ifdef __cplusplus
}
#endif

#endif
