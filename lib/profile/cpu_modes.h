/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divides the CPU time of samples into user and system time. */
#ifndef PROFC_PROFILE_CPU_MODES_H
#define PROFC_PROFILE_CPU_MODES_H

struct profile;
struct sample;

/*
 * Each sample of a running thread says whether the kernel worked for the thread at that moment: for
 * a system call, or for a page fault. How much of a thread's time that is, the kernel counts at
 * ticks of its own. So the samples say where system time is, and the kernel how much there is: the
 * system time of samples in the kernel is scaled down to its total; where they are fewer, the rest
 * is shared by all other samples of the thread, as interrupts are. Threads of which the kernel
 * tells nothing have together what is left of their process; where that is not known either,
 * samples alone count.
 */
void profile_divide_cpu_time(struct profile *profile);

/* The share of the sample's CPU time that is system time; 0 where the recording does not tell. */
double sample_system_share(const struct profile *profile, const struct sample *sample);

#endif
