/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_PERL_LINKS_H
#define PROFC_SCRIPT_PERL_LINKS_H

#include <stdint.h>

struct frame_links;
struct perl;

/* How a thread of the process finds its contexts itself. Perl's key is at the address key_at. */
void perl_find_links(const struct perl *perl, uint64_t key_at, struct frame_links *links);

#endif
