// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A library with an allocator of its own: operator new and malloc() have different memory, and the
 * former asks the new handler where there is none. With SHORT_FREE free() is shorter than a jump,
 * and C++ is left alone.
 */
#include <cstddef>
#include <cstring>
#include <new>

#define EXPORTED __attribute__((noinline, visibility("default")))

struct arena {
	char bytes[8 << 20];
	std::size_t used;
};

static arena of_malloc, of_new;

__attribute__((noinline)) static void *take(arena *from, std::size_t size)
{
	std::size_t whole, at;

	if (size > sizeof(from->bytes) / 2)
		return nullptr;
	whole = ((size + 15) & ~std::size_t(15)) + 16;
	at = __atomic_fetch_add(&from->used, whole, __ATOMIC_RELAXED);
	if (at + whole > sizeof(from->bytes))
		return nullptr;
	std::memcpy(from->bytes + at, &size, sizeof(size));
	return from->bytes + at + 16;
}

extern "C" {
EXPORTED void *malloc(std::size_t size)
{
	return take(&of_malloc, size);
}

EXPORTED void *calloc(std::size_t count, std::size_t size)
{
	return take(&of_malloc, count * size);
}

EXPORTED void *realloc(void *old, std::size_t size)
{
	void *block = take(&of_malloc, size);
	std::size_t was = 0;

	if (old)
		std::memcpy(&was, static_cast<char *>(old) - 16, sizeof(was));
	if (old && block)
		std::memcpy(block, old, was < size ? was : size);
	return block;
}

#ifdef SHORT_FREE
__asm__(".text\n.p2align 4\n.globl free\n.type free, @function\nfree:\n\tret\n.size free, 1\n"
	".globl behind_free\n.type behind_free, @function\nbehind_free:\n\tret\n"
	".size behind_free, 1\n");
#else
static volatile long nr_freed;

EXPORTED void free(void *block)
{
	nr_freed = nr_freed + (block != nullptr);
}
#endif
}

#ifndef SHORT_FREE
static long nr_news, nr_others;

__attribute__((noinline)) static void *take_or_ask(std::size_t size)
{
	for (;;) {
		std::new_handler handler = std::get_new_handler();

		if (void *block = take(&of_new, size))
			return block;
		if (!handler)
			throw std::bad_alloc();
		handler();
	}
}

EXPORTED void *operator new(std::size_t size, const std::nothrow_t &) noexcept
{
	try {
		return take_or_ask(size);
	} catch (...) {
		return nullptr;
	}
}

EXPORTED void *operator new(std::size_t size)
{
	nr_news++;
	return take_or_ask(size);
}

EXPORTED void *operator new[](std::size_t size)
{
	nr_news++;
	return take_or_ask(size);
}

EXPORTED void operator delete(void *block) noexcept
{
	nr_others += block && (block < of_new.bytes || block >= of_new.bytes + sizeof(of_new.bytes));
}

EXPORTED void operator delete(void *block, std::size_t) noexcept
{
	operator delete(block);
}

EXPORTED void operator delete[](void *block) noexcept
{
	operator delete(block);
}

extern "C" EXPORTED long nr_called_new()
{
	return nr_news;
}

extern "C" EXPORTED long nr_deleted_of_others()
{
	return nr_others;
}
#endif
