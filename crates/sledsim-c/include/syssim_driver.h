/* Header of DiskSim's example of a system simulator: the type of a time, and the functions that such a program defines and
 * passes to disksim_interface_initialize. */
#ifndef _SYSSIM_DRIVER_H
#define _SYSSIM_DRIVER_H

#include "disksim_interface.h"

/* A simulated time, ms. */
typedef double SysTime;

#ifdef __cplusplus
extern "C" {
#endif

void syssim_schedule_callback(disksim_interface_callback_t fn, SysTime time, void *ctx);
void syssim_report_completion(SysTime time, struct disksim_request *request, void *ctx);
void syssim_deschedule_callback(double time, void *ctx);

#ifdef __cplusplus
}
#endif

#endif
