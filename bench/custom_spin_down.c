/* A custom spin-down policy for the bench: a fixed timeout of 5 ms, as custom_spin_down.py has it. */
#include "sledsim_policy.h"

int64_t timeout(const struct sledsim_idle *event) { return event->what == SLEDSIM_AFTER ? 5000000 : 0; }
