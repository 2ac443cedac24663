/* The part of DiskSim's disksim_global.h that belongs to its interface. DiskSim's internal structures are not available. */
#ifndef DISKSIM_GLOBAL_H
#define DISKSIM_GLOBAL_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "disksim_rand48.h"
#include "disksim_reqflags.h"

#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif
#ifndef MAXINT
#define MAXINT 0x7FFFFFFF
#endif

#define MILLI 1000
#define MICRO 1000000
#define NANO 1000000000

#define SECONDS_PER_MINUTE 60
#define SECONDS_PER_HOUR 3600
#define SECONDS_PER_DAY 86400
#define MSECS_PER_MIN 60000

#define READ DISKSIM_READ
#define WRITE DISKSIM_WRITE
#define TIME_CRITICAL DISKSIM_TIME_CRITICAL
#define TIME_LIMITED DISKSIM_TIME_LIMITED
#define TIMED_OUT DISKSIM_TIMED_OUT
#define HALF_OUT DISKSIM_HALF_OUT
#define MAPPED DISKSIM_MAPPED
#define READ_AFTR_WRITE DISKSIM_READ_AFTR_WRITE
#define SYNCHRONOUS DISKSIM_SYNC
#define ASYNCHRONOUS DISKSIM_ASYNC
#define IO_FLAG_PAGEIO DISKSIM_IO_FLAG_PAGEIO
#define SEQ DISKSIM_SEQ
#define LOCAL DISKSIM_LOCAL
#define BATCH_COMPLETE DISKSIM_BATCH_COMPLETE

#endif
