// SPDX-License-Identifier: GPL-2.0-or-later
/* Judges answers. */
#include "push/transport.h"

enum push_outcome push_outcome_of_status(long status)
{
	if (status >= 200 && status < 300)
		return PUSH_DELIVERED;
	switch (status) {
	case 400: /* a request that it cannot read */
	case 413: /* too large */
	case 414:
	case 415:
	case 422: /* Pyroscope: a profile that it cannot take */
		return PUSH_REFUSED;
	case 408: /* it did not come in time */
	case 425:
	case 429: /* too many */
		return PUSH_FAILED;
	default:
		return status >= 500 ? PUSH_FAILED : PUSH_DENIED;
	}
}
