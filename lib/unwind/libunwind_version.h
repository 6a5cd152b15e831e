/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_UNWIND_LIBUNWIND_VERSION_H
#define PROFC_UNWIND_LIBUNWIND_VERSION_H

/* The version of libunwind that was compiled with, "1.6.2"; the library does not tell its own. */
const char *libunwind_version(void);

#endif
