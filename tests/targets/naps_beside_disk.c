// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * naps_beside_disk MS FILE: 120 threads that nap for 20 to 50 ms, again and again, while four write
 * to FILE and wait for the disk: no CPU is busy, but hardly one idles without somebody waiting for
 * the disk. After MS prints {"cpu_ns"}.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "self_measure.h"

#define NAPPERS	    120
#define WRITERS	    4
#define STACK_BYTES 65536

static atomic_bool ends;
static const char *path;

static void *nap_on(void *argument)
{
	unsigned seed = (unsigned)(uintptr_t)argument;

	while (!atomic_load(&ends))
		usleep(20000 + (unsigned)rand_r(&seed) % 30000);
	return NULL;
}

static void *write_on(void *argument)
{
	off_t place = (off_t)(uintptr_t)argument * 4096;
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	char block[4096] = {1};

	while (!atomic_load(&ends) && pwrite(fd, block, sizeof(block), place) > 0)
		fdatasync(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[NAPPERS + WRITERS];
	pthread_attr_t attributes;

	path = argc > 2 ? argv[2] : "naps_beside_disk.out";
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (uintptr_t i = 0; i < NAPPERS + WRITERS; i++)
		if (pthread_create(&threads[i], &attributes, i < NAPPERS ? nap_on : write_on,
				   (void *)i))
			return 2;
	usleep((useconds_t)(number_argument(argc, argv, 1, 2000) * 1000));
	atomic_store(&ends, true);
	for (size_t i = 0; i < NAPPERS + WRITERS; i++)
		pthread_join(threads[i], NULL);
	printf("{\"cpu_ns\": %llu}\n", (unsigned long long)process_cpu_ns());
	return 0;
}
