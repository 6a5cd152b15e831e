/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_SUSPEND_H
#define PROFC_CMD_SUSPEND_H

struct sampler;

/*
 * Job control stops us (SIGTSTP, which has to be blocked): at a moment at which no thread is
 * traced, or that would stand still with us. Returns once profc is continued; what happened
 * meanwhile is not recorded.
 */
void stop_by_job_control(struct sampler *sampler);
#endif
