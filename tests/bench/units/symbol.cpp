// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One translation unit as large C++ programs have them: containers, algorithms,
 * regular expressions and lambdas, instantiated for several types. bench_symbol.py
 * links many copies of it; nobody runs them.
 */
#include <algorithm>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace unit
{

template <int Number> struct Key {
	int value;
	std::string text;

	bool operator<(const Key &other) const
	{
		return value < other.value;
	}
};

template <int Number> class Job
{
	using Its = Key<Number>;

      public:
	int run(int rounds)
	{
		std::vector<Its> all;
		int sum = 0;

		for (int i = 0; i < rounds; i++)
			add(Its{i * Number, std::to_string(i)});
		for (auto &entry : lists)
			all.push_back(entry.first);
		std::sort(all.begin(), all.end(),
			  [](const Its &a, const Its &b) { return a.text < b.text; });
		std::stable_sort(queue.begin(), queue.end());
		weigh = [&](const Its &key) { return key.value + (int)lists.size(); };
		for (auto &key : all)
			sum += weigh(key) +
			       std::visit([](auto &&held) { return (int)sizeof(held); }, held);
		return sum;
	}

      private:
	std::map<Its, std::vector<std::string>> lists;
	std::unordered_map<std::string, std::shared_ptr<Its>> shared;
	std::variant<int, std::string, Its> held;
	std::function<int(const Its &)> weigh;
	std::set<std::string> names;
	std::deque<Its> queue;

	void add(const Its &key)
	{
		lists[key].push_back(key.text + "x");
		shared[key.text] = std::make_shared<Its>(key);
		queue.push_back(key);
		names.insert(key.text);
	}
};

} // namespace unit

extern "C" int unit_run(int rounds)
{
	unit::Job<1> first;
	unit::Job<2> second;
	unit::Job<3> third;
	unit::Job<4> fourth;
	std::regex pattern("a(b|c)*d");
	std::string text = "abcd";
	std::smatch match;
	std::ostringstream out;
	auto later = std::async(std::launch::deferred, [&] { return first.run(rounds); });

	out << std::regex_match(text, match, pattern) << second.run(rounds) << third.run(rounds);
	return later.get() + fourth.run(rounds) + (int)out.str().size();
}
