/* DiskSim's random numbers: POSIX rand48, one sequence for each thread. */
#ifndef DISKSIM_RAND48_H
#define DISKSIM_RAND48_H

#ifdef __cplusplus
extern "C" {
#endif

/* Starts the sequence of a seed. */
void DISKSIM_srand48(long seed);

/* Returns a number in [0, 1). */
double DISKSIM_drand48(void);

/* Returns a number in [0, 2^31). */
long DISKSIM_lrand48(void);

/* Returns a number in [0, 2^32): never negative, as in DiskSim. */
long DISKSIM_mrand48(void);

#ifdef __cplusplus
}
#endif

#endif
