/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_WANTED_SITES_H
#define PROFC_PROBE_WANTED_SITES_H

struct elf_image;
struct wanted;

/*
 * Can the places amid functions have probes? If one cannot, gate_refusal says so. Once all starts
 * are added.
 */
void wanted_judge_sites(struct wanted *wanted, const struct elf_image *image);

#endif
