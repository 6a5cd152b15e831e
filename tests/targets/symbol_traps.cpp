// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * symbol_traps: never run for its time; its code has what readers of debug
 * information stumble over. Lambdas and local classes, whose code hangs below
 * types and abstract functions; names that gcc gives no linkage name; inlining
 * across headers; code in several ranges; code of no line.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

struct Point {
	int x, y;
};

[[gnu::noinline]] int hidden(const Point &point)
{
	return point.x * 31 + point.y;
}

class Counter
{
      public:
	[[gnu::noinline]] void add(const std::string &word)
	{
		if (word.empty())
			throw std::invalid_argument("empty"); // a cold part of its own
		counts[word]++;
	}

	std::map<std::string, int> counts;
};

} // namespace

namespace outer
{

template <typename Compare>
[[gnu::noinline]] void sort_points(std::vector<Point> &points, Compare c)
{
	std::sort(points.begin(), points.end(), c);
}

inline int twice(int value)
{
	return value * 2 + std::rand() % 3;
}

inline int four_times(int value)
{
	return twice(twice(value)) /* call of the outer twice */;
}

[[gnu::noinline]] static int with_local_class(int value)
{
	struct Local {
		[[gnu::noinline]] static int scale(int factor)
		{
			return factor * std::rand();
		}
	};
	auto add_random = [value](int other) __attribute__((noinline))
	{
		return value + other + std::rand();
	};

	return Local::scale(value) + add_random(value);
}

} // namespace outer

int main(int argc, char **argv)
{
	std::vector<Point> points;
	Counter counter;
	int sum = 0;

	for (int i = 0; i < 100; i++)
		points.push_back({std::rand(), i});
	outer::sort_points(points, [](const Point &a, const Point &b) { return a.x < b.x; });
	for (const Point &point : points)
		sum += hidden(point) + outer::four_times(point.y) +
		       outer::with_local_class(point.x);
	for (int i = 0; i < argc; i++)
		counter.add(argv[i]);
	std::printf("%d %zu\n", sum & 1, counter.counts.size());
	return 0;
}
