// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calls_of_cpp: virtual calls, thunks of multiple and of virtual inheritance, constructors before
 * main() and in derived objects, exceptions through counted frames. Prints its own counts.
 */
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "own_counts.h"

static uint64_t virtual_calls, second_calls, constructor_calls, destructor_calls, early_calls,
	thrower_calls, between_calls, catcher_calls, cleanup_calls, lambda_calls,
	template_int_calls, template_string_calls, operator_calls, noexcept_calls;
static volatile uint64_t sink;

struct first {
	virtual ~first() = default;
	virtual void virtual_work() = 0;
};

struct second {
	virtual ~second() = default;
	virtual void second_work() = 0;
	uint64_t padding = 1;
};

struct shared_base {
	COUNTED shared_base();
	COUNTED ~shared_base();
	virtual void shared_work();
	uint64_t value = 3;
};

shared_base::shared_base()
{
	OWN_CALL(constructor_calls);
}

shared_base::~shared_base()
{
	OWN_CALL(destructor_calls);
}

void shared_base::shared_work()
{
	sink += value;
}

/* Of virtual bases: C1 and C2 differ. */
struct left : virtual shared_base {
	COUNTED void shared_work() override;
};

void left::shared_work()
{
	OWN_CALL(operator_calls);
	sink += value;
}

struct whole : first, second, left {
	COUNTED void virtual_work() override;
	COUNTED void second_work() override;
};

void whole::virtual_work()
{
	OWN_CALL(virtual_calls);
}

void whole::second_work()
{
	OWN_CALL(second_calls);
	sink += padding;
}

struct early {
	COUNTED early();
};

early::early()
{
	OWN_CALL(early_calls);
}

static early before_main, and_another;

struct cleaned {
	COUNTED ~cleaned();
};

cleaned::~cleaned()
{
	OWN_CALL(cleanup_calls);
}

COUNTED void throws_at_zero(int depth);

COUNTED void throws_between(int depth)
{
	cleaned here;

	OWN_CALL(between_calls);
	throws_at_zero(depth - 1);
	sink += 1;
}

void throws_at_zero(int depth)
{
	OWN_CALL(thrower_calls);
	if (depth <= 0)
		throw std::runtime_error("depth");
	throws_between(depth);
}

COUNTED int catches(int depth)
{
	OWN_CALL(catcher_calls);
	try {
		throws_at_zero(depth);
	} catch (const std::runtime_error &error) {
		return error.what()[0];
	}
	return 0;
}

COUNTED void calls_noexcept(void) noexcept
{
	OWN_CALL(noexcept_calls);
}

template <typename T> COUNTED T template_work(T value, uint64_t &calls)
{
	OWN_CALL(calls);
	return value + value;
}

template int template_work<int>(int, uint64_t &);
template std::string template_work<std::string>(std::string, uint64_t &);

/* Where the compiler knows nothing of the object. */
COUNTED static void call_first(first *object)
{
	object->virtual_work();
}

COUNTED static void call_second(second *object)
{
	object->second_work();
}

COUNTED static void call_left(left *object)
{
	object->shared_work();
}

COUNTED static void call_shared(shared_base *object)
{
	object->shared_work();
}

int main()
{
	for (int i = 0; i < 57; i++) {
		whole object;

		call_first(&object);
		call_second(&object);
		call_second(&object);
		call_left(&object);
		call_shared(&object);
	}
	for (int i = 0; i < 41; i++) {
		if (catches(i) != 'd')
			abort();
	}
	for (int i = 0; i < 19; i++) {
		calls_noexcept();
		if (template_work<int>(i, template_int_calls) != 2 * i)
			abort();
	}
	for (int i = 0; i < 23; i++) {
		if (template_work<std::string>(std::to_string(i), template_string_calls).empty())
			abort();
	}
	say_own_count("whole::virtual_work()", virtual_calls);
	say_own_count("whole::second_work()", second_calls);
	say_own_count("shared_base::shared_base()", constructor_calls);
	say_own_count("shared_base::~shared_base()", destructor_calls);
	say_own_count("left::shared_work()", operator_calls);
	/* These are called at another address than that of the object. */
	say_own_count("non-virtual thunk to whole::second_work()", second_calls);
	say_own_count("virtual thunk to left::shared_work()", operator_calls / 2);
	say_own_count("early::early()", early_calls);
	say_own_count("throws_at_zero(int)", thrower_calls);
	say_own_count("throws_between(int)", between_calls);
	say_own_count("catches(int)", catcher_calls);
	say_own_count("cleaned::~cleaned()", cleanup_calls);
	say_own_count("calls_noexcept()", noexcept_calls);
	say_own_count("int template_work<int>(int, unsigned long&)", template_int_calls);
	say_own_count("std::__cxx11::basic_string<char, std::char_traits<char>, "
		      "std::allocator<char> > template_work<std::__cxx11::basic_string<char, "
		      "std::char_traits<char>, std::allocator<char> > "
		      ">(std::__cxx11::basic_string<char, std::char_traits<char>, "
		      "std::allocator<char> >, unsigned long&)",
		      template_string_calls);
	return sink == 0;
}
