// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A library to be preloaded into programs with zlib: each checksum is computed CHECKS_AGAIN times,
 * so that it has versions of known speed.
 */
#include <dlfcn.h>
#include <stdlib.h>

typedef unsigned long checksum(unsigned long, const unsigned char *, unsigned int);

checksum crc32;
unsigned long crc32(unsigned long former, const unsigned char *bytes, unsigned int nr_bytes)
{
	static checksum *once;
	static int nr_times;
	unsigned long sum = 0;

	if (!once) {
		nr_times = atoi(getenv("CHECKS_AGAIN"));
		once = (checksum *)dlsym(RTLD_NEXT, "crc32");
	}
	if (!bytes)
		return once(former, bytes, nr_bytes);
	for (int i = 0; i < nr_times; i++)
		sum = once(former, bytes, nr_bytes);
	return sum;
}
