// SPDX-License-Identifier: GPL-2.0-or-later
// A library whose exceptions another module catches: see frames_of_throws.cpp.
#include <stdexcept>

static volatile int sink;

struct guard {
	~guard()
	{
		sink = sink + 1;
	}
};

__attribute__((noinline)) static void inner(int kind)
{
	guard here;

	if (kind)
		throw kind;
	throw std::out_of_range("thrown by a library");
}

extern "C" void throws(int kind);

void throws(int kind)
{
	guard here;

	inner(kind);
	sink = sink + 1;
}
