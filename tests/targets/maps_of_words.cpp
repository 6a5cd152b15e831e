// SPDX-License-Identifier: GPL-2.0-or-later
// What a C++ program allocates that does little else than fill maps: made-up words in a map, with
// what was said of each in a vector and a shared pointer to who had it before; some are thrown out
// again. How long a round takes by the process' own CPU clock, the median of all.
//
//	maps_of_words ROUNDS
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "self_measure.h"

namespace
{

struct entry {
	std::string word;
	std::vector<int> said;
	std::shared_ptr<entry> former;
};

class dictionary
{
      public:
	explicit dictionary(uint64_t seed) : state(seed) {}

	void learn(int nr)
	{
		for (int i = 0; i < nr; i++) {
			auto made = std::make_shared<entry>();

			made->word = word();
			for (uint64_t n = random(16); n; n--)
				made->said.push_back(static_cast<int>(n));
			add(made->word.substr(0, 3) + std::to_string(i % 4096), made);
		}
	}

	// So that nothing of it can be left out.
	size_t sum() const
	{
		std::vector<std::string> keys;
		size_t sum = 0;

		for (const auto &pair : entries) {
			keys.push_back(pair.first);
			sum += pair.second->said.size();
		}
		std::sort(keys.begin(), keys.end(), [](const std::string &a, const std::string &b) {
			return a.back() != b.back() ? a.back() < b.back() : a < b;
		});
		return sum + keys.size() + seen.size();
	}

      private:
	uint64_t random(uint64_t below)
	{
		return (SPIN_STEP(state) >> 33) % below;
	}

	std::string word()
	{
		std::string text;

		for (uint64_t n = 6 + random(40); n; n--)
			text += static_cast<char>('a' + random(26));
		return text;
	}

	void add(const std::string &key, const std::shared_ptr<entry> &made)
	{
		auto &place = entries[key];

		seen[key]++;
		if (place && random(4))
			made->former = place->former;
		place = made;
		if (random(3) == 0)
			entries.erase(entries.begin());
	}

	uint64_t state;
	std::map<std::string, std::shared_ptr<entry>> entries;
	std::unordered_map<std::string, int> seen;
};

} // namespace

int main(int argc, char **argv)
{
	uint64_t rounds = number_argument(argc, argv, 1, 25);
	std::vector<uint64_t> used_ns;
	size_t sum = 0;

	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t began_ns = process_cpu_ns();
		dictionary words(i + 1);

		words.learn(20000);
		sum += words.sum();
		used_ns.push_back(process_cpu_ns() - began_ns);
	}
	if (used_ns.empty())
		return 2;
	std::sort(used_ns.begin(), used_ns.end());
	printf("{\"ms_per_round\":%.3f,\"sum\":%zu}\n",
	       static_cast<double>(used_ns[used_ns.size() / 2]) / 1e6, sum);
	return 0;
}
