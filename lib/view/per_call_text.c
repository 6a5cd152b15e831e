// SPDX-License-Identifier: GPL-2.0-or-later
/* The time of a call as text. */
#include "view/per_call_text.h"

#include "base/buf.h"
#include "calltree/per_call.h"
#include "view/number.h"

bool per_call_is_measured(const struct per_call *per_call)
{
	return per_call->ns > 0;
}

void append_per_call(struct buf *out, const struct per_call *per_call, enum time_unit wanted)
{
	bool is_measured = per_call_is_measured(per_call);
	double ns = is_measured ? per_call->ns : per_call->ci_ns;
	struct unit unit = unit_of_time(wanted, ns);

	buf_append_str(out, is_measured ? "" : "<");
	append_time(out, ns, &unit);
	if (wanted == TIME_UNIT_AUTO)
		buf_printf(out, " %s", unit.name);
}

void append_per_call_interval(struct buf *out, const struct per_call *per_call,
			      enum time_unit wanted)
{
	struct unit unit = unit_of_time(wanted, per_call->ns);

	if (per_call_is_measured(per_call))
		append_time(out, per_call->ci_ns, &unit);
}

const char *per_call_unit_name(enum time_unit wanted)
{
	return wanted == TIME_UNIT_AUTO ? "" : unit_of_time(wanted, 0).name;
}
