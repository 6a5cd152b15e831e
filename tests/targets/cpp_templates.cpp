// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cpp_templates [CPU_MS]: all time in a member function of a class template,
 * called through a virtual function and a lambda. Prints {"cpu_ns"}.
 */
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "self_measure.h"

namespace shapes
{

template <typename Number> class Mixer
{
      public:
	explicit Mixer(Number seed) : state(seed)
	{
	}

	[[gnu::noinline]] Number mix(unsigned rounds)
	{
		while (rounds--)
			state = (state ^ (state >> 7)) * 2654435761u + 1;
		return state;
	}

      private:
	Number state;
};

struct Worker {
	virtual ~Worker() = default;
	virtual std::uint64_t work() = 0;
};

template <typename Number> struct MixingWorker : Worker {
	Mixer<Number> mixer{7};

	[[gnu::noinline]] std::uint64_t work() override
	{
		return mixer.mix(300000) + 1;
	}
};

} // namespace shapes

int main(int argc, char **argv)
{
	std::uint64_t until_ns = number_argument(argc, argv, 1, 800) * MS;
	std::vector<std::unique_ptr<shapes::Worker>> workers;
	struct rounds rounds = rounds_until(CLOCK_PROCESS_CPUTIME_ID, until_ns);
	std::uint64_t x = 0;

	workers.push_back(std::make_unique<shapes::MixingWorker<std::uint64_t>>());
	std::function<std::uint64_t()> round = [&workers] {
		std::uint64_t sum = 0;

		for (auto &worker : workers)
			sum += worker->work();
		return sum;
	};
	while (rounds_go_on(&rounds))
		x += round();
	printf("{\"cpu_ns\": %llu, \"x\": %llu}\n", (unsigned long long)process_cpu_ns(),
	       (unsigned long long)(x & 1));
	return 0;
}
