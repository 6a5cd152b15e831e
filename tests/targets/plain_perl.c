// SPDX-License-Identifier: GPL-2.0-or-later
/* Exports the names that a Perl without threads exports. */
#include <stdint.h>

const unsigned char PL_revision = 5, PL_version = 36;
const uint16_t PL_interp_size = 3768;

#define FUNCTION(name)                                                                             \
	void name(void);                                                                           \
	void name(void)                                                                            \
	{                                                                                          \
	}

FUNCTION(Perl_runops_standard)
FUNCTION(perl_run)
FUNCTION(Perl_call_sv)
FUNCTION(Perl_amagic_call)
FUNCTION(Perl_pp_entersub)
FUNCTION(Perl_pp_leavesub)
FUNCTION(Perl_pp_leavesublv)
FUNCTION(Perl_pp_return)
