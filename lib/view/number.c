// SPDX-License-Identifier: GPL-2.0-or-later
/* Formats times, counts, sizes and percentages. */
#include "view/number.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"

/* More decimals would be finer than any measurement. */
#define DECIMALS_MAX 9

#define MICROSECONDS "\xc2\xb5s"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)

static struct unit unit_for_bytes(uint64_t largest)
{
	static const struct {
		uint64_t from_bytes;
		struct unit unit;
	} units[] = {
		{100 * GIB, {"GiB", GIB, 1}}, {10 * GIB, {"GiB", GIB, 2}},
		{GIB, {"MiB", MIB, 0}},	      {10 * MIB, {"MiB", MIB, 1}},
		{MIB, {"KiB", KIB, 0}},	      {10 * KIB, {"KiB", KIB, 1}},
	};
	static const struct unit smallest = {"B", 1, 0};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (largest >= units[i].from_bytes)
			return units[i].unit;
	return smallest;
}

struct unit unit_for(enum metric metric, uint64_t largest)
{
	static const struct unit count = {"", 1, 0};
	static const struct {
		uint64_t from_ns;
		struct unit unit;
	} units[] = {
		{100 * NS_PER_SEC, {"s", NS_PER_SEC, 1}},  {10 * NS_PER_SEC, {"s", NS_PER_SEC, 2}},
		{NS_PER_SEC, {"ms", NS_PER_MS, 0}},	   {10 * NS_PER_MS, {"ms", NS_PER_MS, 1}},
		{NS_PER_MS, {MICROSECONDS, NS_PER_US, 0}},
	};
	static const struct unit smallest = {MICROSECONDS, NS_PER_US, 1};

	if (metric_info(metric)->kind == METRIC_OF_COUNT)
		return count;
	if (!metric_is_time(metric))
		return unit_for_bytes(largest);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (largest >= units[i].from_ns)
			return units[i].unit;
	return smallest;
}

/* By enum time_unit. */
static const struct unit chosen_units[] = {
	[TIME_UNIT_NS] = {"ns", 1, 0},
	[TIME_UNIT_US] = {MICROSECONDS, NS_PER_US, 1},
	[TIME_UNIT_MS] = {"ms", NS_PER_MS, 1},
	[TIME_UNIT_S] = {"s", NS_PER_SEC, 2},
};

struct unit unit_chosen(enum time_unit wanted, enum metric metric, uint64_t largest)
{
	if (wanted == TIME_UNIT_AUTO || !metric_is_time(metric))
		return unit_for(metric, largest);
	return chosen_units[wanted];
}

/* The decimals for three significant digits, taking the rounding into account. */
static int decimals_of(double value)
{
	double limit = 99.95;
	int decimals = 0;

	while (value > 0 && value < limit && decimals < DECIMALS_MAX) {
		limit /= 10;
		decimals++;
	}
	return decimals;
}

struct unit unit_of_time(enum time_unit wanted, double ns)
{
	struct unit unit;

	if (wanted == TIME_UNIT_AUTO) {
		wanted = TIME_UNIT_S;
		while (wanted > TIME_UNIT_NS && ns < (double)chosen_units[wanted].divisor)
			wanted--;
	}
	unit = chosen_units[wanted];
	unit.decimals = decimals_of(ns / (double)unit.divisor);
	return unit;
}

void append_time(struct buf *out, double ns, const struct unit *unit)
{
	buf_printf(out, "%.*f", unit->decimals, ns / (double)unit->divisor);
}

void append_in_unit(struct buf *out, uint64_t value, const struct unit *unit)
{
	buf_printf(out, "%.*f", unit->decimals, (double)value / (double)unit->divisor);
}

void append_count(struct buf *out, uint64_t count)
{
	char digits[24];
	int nr = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);

	for (int i = 0; i < nr; i++) {
		if (i > 0 && (nr - i) % 3 == 0)
			buf_append_byte(out, ',');
		buf_append_byte(out, (uint8_t)digits[i]);
	}
}

void append_rate(struct buf *out, uint64_t count, uint64_t duration_ns)
{
	double rate = (double)count * (double)NS_PER_SEC / (double)duration_ns;

	if (count > 0 && rate < 9.95)
		buf_printf(out, "%.1f", rate);
	else
		append_count(out, (uint64_t)(rate + 0.5));
}

/* Three significant digits. */
static void append_duration(struct buf *out, uint64_t ns)
{
	static const struct {
		const char *name;
		uint64_t divisor;
	} units[] = {{"s", NS_PER_SEC}, {"ms", NS_PER_MS}, {MICROSECONDS, NS_PER_US}, {"ns", 1}};
	size_t i = 0;
	double value;

	while (i + 1 < ARRAY_SIZE(units) && ns < units[i].divisor)
		i++;
	value = (double)ns / (double)units[i].divisor;
	if (units[i].divisor == 1 || value >= 99.95)
		buf_printf(out, "%.0f %s", value, units[i].name);
	else
		buf_printf(out, "%.*f %s", value >= 9.995 ? 1 : 2, value, units[i].name);
}

void append_memory(struct buf *out, uint64_t nr_bytes)
{
	static const struct {
		const char *name;
		uint64_t divisor;
	} units[] = {{"GiB", GIB}, {"MiB", MIB}, {"KiB", KIB}};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		double value = (double)nr_bytes / (double)units[i].divisor;

		if (nr_bytes < units[i].divisor)
			continue;
		buf_printf(out, "%.*f %s",
			   value >= 99.95   ? 0
			   : value >= 9.995 ? 1
					    : 2,
			   value, units[i].name);
		return;
	}
	buf_printf(out, "%llu byte%s", (unsigned long long)nr_bytes, nr_bytes == 1 ? "" : "s");
}

void append_weight(struct buf *out, enum metric metric, uint64_t weight)
{
	const struct metric_info *info = metric_info(metric);

	switch (info->kind) {
	case METRIC_OF_TIME:
		append_duration(out, weight);
		break;
	case METRIC_OF_BYTES:
		append_memory(out, weight);
		break;
	case METRIC_OF_COUNT:
		append_count(out, weight);
		buf_printf(out, " %s", weight == 1 ? info->item : info->items);
		break;
	}
}

void append_percent(struct buf *out, double percent)
{
	if (percent > 0 && percent < 0.05)
		buf_append_str(out, "<0.1");
	else
		buf_printf(out, "%.1f", percent);
}

void append_bytes(struct buf *out, uint64_t nr_bytes)
{
	static const struct {
		const char *name;
		double divisor;
	} units[] = {{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if ((double)nr_bytes >= units[i].divisor) {
			buf_printf(out, "%.1f %s", (double)nr_bytes / units[i].divisor,
				   units[i].name);
			return;
		}
	}
	buf_printf(out, "%llu byte%s", (unsigned long long)nr_bytes, nr_bytes == 1 ? "" : "s");
}
