/* DiskSim's random numbers, which programs written for it draw: those of POSIX's rand48, for each thread its own. */
#ifndef DISKSIM_RAND48_H
#define DISKSIM_RAND48_H

#ifdef __cplusplus
extern "C" {
#endif

/* Begins the sequence that a seed stands for. */
void DISKSIM_srand48(long seed);

/* From 0 up to but not 1. */
double DISKSIM_drand48(void);

/* From 0 up to but not 2^31. */
long DISKSIM_lrand48(void);

/* From 0 up to but not 2^32: never negative, as in DiskSim. */
long DISKSIM_mrand48(void);

#ifdef __cplusplus
}
#endif

#endif
