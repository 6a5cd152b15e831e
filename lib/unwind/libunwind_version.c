// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/libunwind_version.h"

#include <libunwind.h>

#define TEXT(number)	 #number
#define TEXT_OF(defined) TEXT(defined)

const char *libunwind_version(void)
{
	return TEXT_OF(UNW_VERSION_MAJOR) "." TEXT_OF(UNW_VERSION_MINOR) "." TEXT_OF(
		UNW_VERSION_EXTRA);
}
