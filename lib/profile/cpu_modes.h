/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divides the CPU time of samples into user and system time. */
#ifndef PROFC_PROFILE_CPU_MODES_H
#define PROFC_PROFILE_CPU_MODES_H

struct profile;
struct sample;

/*
 * Divide the CPU time of each thread's samples. Samples say where system time is: in system calls
 * and page faults. The kernel says how much there is: it counts the user and system time of a
 * thread at its own ticks. If samples have more system time, it is scaled down to that total; if
 * they have less, all other samples of the thread share the rest, which may be interrupts. Threads
 * that the kernel does not tell about share the rest of the total of their process. If that is not
 * known either, samples alone decide.
 */
void profile_divide_cpu_time(struct profile *profile);

/* The share of system time in the CPU time of a sample; 0 if the recording does not have it. */
double sample_system_share(const struct profile *profile, const struct sample *sample);

#endif
