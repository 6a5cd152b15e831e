// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pool_throws: pools that now and then do not return. pool_take() throws, pool_check() does so in a
 * function that it calls, pool_jump() leaves by longjmp(3), pool_get() and pool_put() do none of it.
 * pool_drop() frees, and throws. Prints {"caught", "jumped", "bytes"}: the last of pool_get().
 */
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#if defined(__clang__)
#define OWN extern "C" __attribute__((noinline))
#else
#define OWN extern "C" __attribute__((noipa))
#endif
#define ROUNDS 200

static jmp_buf back;

OWN void *pool_take(std::size_t nr)
{
	if (nr % 2)
		throw std::runtime_error("odd");
	return std::malloc(nr);
}

OWN void check(std::size_t nr)
{
	if (nr % 2)
		throw 1;
}

OWN void *pool_check(std::size_t nr)
{
	check(nr);
	return std::malloc(nr);
}

OWN void *pool_jump(std::size_t nr)
{
	if (nr % 2)
		std::longjmp(back, 1);
	return std::malloc(nr);
}

OWN void *pool_get(std::size_t nr)
{
	return std::malloc(nr);
}

OWN void pool_put(void *pointer)
{
	std::free(pointer);
}

OWN void pool_drop(void *pointer)
{
	std::free(pointer);
	throw 2;
}

static int caught, jumped;

static void take(void *(*function)(std::size_t), std::size_t nr)
{
	try {
		pool_put(function(nr));
	} catch (const std::exception &) {
		caught++;
	} catch (int) {
		caught++;
	}
}

int main()
{
	unsigned long bytes = 0;

	for (volatile std::size_t i = 0; i < ROUNDS; i = i + 1) {
		void *volatile kept;

		take(pool_take, 100 + i);
		take(pool_check, 100 + i);
		if (setjmp(back) == 0)
			pool_put(pool_jump(100 + i));
		else
			jumped++;
		kept = pool_get(64 + i);
		bytes += 64 + i;
		try {
			pool_drop(kept);
		} catch (int) {
			caught++;
		}
	}
	std::printf("{\"caught\": %d, \"jumped\": %d, \"bytes\": %lu}\n", caught, jumped, bytes);
	return 0;
}
