// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cpp_exceptions [CPU_MS]: throws through ten frames and catches, all the time;
 * most of it is spent in the unwinder of the C++ runtime, called by thrower().
 * Prints {"caught", "cpu_ns"}.
 */
#include <cstdint>
#include <stdexcept>
#include <string>

#include "self_measure.h"

[[gnu::noinline]] int thrower(int depth)
{
	std::string held(32, 'x');

	if (depth == 0)
		throw std::runtime_error(held);
	return thrower(depth - 1) + static_cast<int>(held.size());
}

[[gnu::noinline]] int catcher()
{
	try {
		return thrower(10);
	} catch (const std::runtime_error &) {
		return 1;
	}
}

int main(int argc, char **argv)
{
	std::uint64_t until_ns = number_argument(argc, argv, 1, 600) * MS;
	unsigned caught = 0;

	while (process_cpu_ns() < until_ns)
		caught += static_cast<unsigned>(catcher());
	printf("{\"caught\": %u, \"cpu_ns\": %llu}\n", caught,
	       (unsigned long long)process_cpu_ns());
	return 0;
}
