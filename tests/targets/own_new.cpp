// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * own_new [malloc]: has an operator new of its own, of an arena, or one that asks malloc() by way of
 * another function. Leaks 100 blocks of 1000 bytes and frees 50; prints {"news", "deletes"}.
 */
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

static char arena[1 << 20] __attribute__((aligned(64)));
static std::size_t used;
static long nr_new, nr_deleted;
static bool asks_malloc;

static bool is_in_arena(void *block)
{
	return block >= arena && block < arena + sizeof(arena);
}

__attribute__((noinline)) static void *take(std::size_t size)
{
#ifdef ASKS_MALLOC
	if (asks_malloc)
		return std::malloc(size);
#endif
	std::size_t at = used;

	used += (size + 15) & ~std::size_t(15);
	return used <= sizeof(arena) ? arena + at : nullptr;
}

__attribute__((noinline)) void *operator new(std::size_t size)
{
	void *block = take(size);

	if (!block)
		throw std::bad_alloc();
	nr_new++;
	return block;
}

__attribute__((noinline)) void operator delete(void *block) noexcept
{
	nr_deleted += block != nullptr;
	if (block && !is_in_arena(block))
		std::free(block);
}

__attribute__((noinline)) void operator delete(void *block, std::size_t) noexcept
{
	operator delete(block);
}

struct thing {
	char bytes[1000];
};

static thing *volatile kept;

__attribute__((noinline)) static void leaks()
{
	kept = new thing;
	__asm__ volatile("");
}

__attribute__((noinline)) static void frees()
{
	kept = new thing;
	delete kept;
}

int main(int argc, char **)
{
	asks_malloc = argc > 1;
	for (int i = 0; i < 100; i++)
		leaks();
	for (int i = 0; i < 50; i++)
		frees();
	std::printf("{\"news\": %ld, \"deletes\": %ld}\n", nr_new, nr_deleted);
	return 0;
}
