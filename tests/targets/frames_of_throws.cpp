// SPDX-License-Identifier: GPL-2.0-or-later
// Does little but throw C++ exceptions: nested and rethrown ones, kept in an exception_ptr,
// from constructors and destructors, through function-try blocks and callbacks of C code, from
// a library opened at run time (throwing_plugin) and, last, out of a noexcept function into a
// terminate handler.
//
//	frames_of_throws [TIMES [LIBRARY]]
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

static volatile int sink;

#define NOINLINE __attribute__((noinline))

struct note {
	int what;
	explicit note(int w) : what(w)
	{
	}
	NOINLINE ~note()
	{
		sink = sink + what;
	}
};

NOINLINE static void thrower(int kind)
{
	if (kind == 0)
		throw std::runtime_error("thrown");
	if (kind > 0)
		throw kind;
	sink = sink + 1;
}

NOINLINE static void plain(int kind)
{
	thrower(kind);
	sink = sink + 1;
}

// Two calls with one landing pad.
NOINLINE static void cleans_up(int depth, int kind)
{
	note guard(depth);

	if (depth)
		cleans_up(depth - 1, kind);
	else
		plain(kind);
	sink = sink + 1;
}

// Two calls of libraries with one landing pad.
NOINLINE static int by_library(const char *text)
{
	note guard(1);
	std::string copy(text);

	return std::stoi(copy) + static_cast<int>(copy.at(40));
}

NOINLINE static void nested(int kind)
{
	try {
		cleans_up(1, kind);
	} catch (const std::exception &) {
		std::throw_with_nested(std::logic_error("nested"));
	}
}

NOINLINE static void rethrows(int kind)
{
	try {
		plain(kind);
	} catch (...) {
		sink = sink + 1;
		throw;
	}
}

NOINLINE static void by_pointer(int kind)
{
	std::exception_ptr kept;

	try {
		plain(kind);
	} catch (...) {
		kept = std::current_exception();
	}
	if (kept)
		std::rethrow_exception(kept);
}

struct half_made {
	note first;
	std::unique_ptr<int> second;
	NOINLINE explicit half_made(int kind)
	try : first(kind), second(new int(kind)) {
		thrower(kind);
	} catch (...) {
		sink = sink + 1;
	}
};

struct throws_at_end {
	int kind;
	NOINLINE ~throws_at_end() noexcept(false)
	{
		thrower(kind);
	}
};

NOINLINE static void from_destructor(int kind)
{
	throws_at_end end{kind};

	sink = sink + kind;
}

static int compare(const void *a, const void *b)
{
	thrower(*static_cast<const int *>(a) - *static_cast<const int *>(b));
	return 0;
}

NOINLINE static void through_c(int kind)
{
	int numbers[] = {kind, 0, 3};

	std::qsort(numbers, 3, sizeof(*numbers), compare);
}

NOINLINE static void temporary(int kind)
{
	half_made made(kind);
}

template <typename Function> NOINLINE static void caught(Function function, int kind)
{
	try {
		function(kind);
	} catch (const std::logic_error &error) {
		try {
			std::rethrow_if_nested(error);
		} catch (...) {
			sink = sink + 1;
		}
	} catch (const std::exception &) {
		sink = sink + 1;
	} catch (int number) {
		sink = sink + number;
	}
}

NOINLINE static void all_ways(int kind)
{
	caught(plain, kind);
	caught([](int k) { cleans_up(3, k); }, kind);
	caught([](int k) { by_library(k ? "text" : "5"); }, kind);
	caught(nested, kind);
	caught(rethrows, kind);
	caught(by_pointer, kind);
	caught(temporary, kind);
	caught(from_destructor, kind);
	caught(through_c, kind);
}

NOINLINE static void lets_none_out() noexcept
{
	plain(1);
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? std::atoi(argv[1]) : 2;
	void *library = argc > 2 ? dlopen(argv[2], RTLD_NOW) : nullptr;
	auto throws = reinterpret_cast<void (*)(int)>(library ? dlsym(library, "throws") : nullptr);

	for (int i = 0; i < nr; i++) {
		all_ways(i % 2);
		if (throws)
			caught(throws, i % 2);
	}
	std::set_terminate([] { std::_Exit(0); });
	lets_none_out();
	return 1;
}
