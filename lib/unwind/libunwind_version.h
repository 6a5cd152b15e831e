/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_UNWIND_LIBUNWIND_VERSION_H
#define PROFC_UNWIND_LIBUNWIND_VERSION_H

/* The version of libunwind at compile time, "1.6.2"; the library does not report its own. */
const char *libunwind_version(void);

#endif
