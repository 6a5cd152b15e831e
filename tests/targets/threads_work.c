// SPDX-License-Identifier: GPL-2.0-or-later
/* Two threads that work; the main thread waits for them. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static void *work(void *result)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < 400000000; i++)
		sum += i * i ^ sum >> 3;
	*(volatile uint64_t *)result = sum;
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	uint64_t sums[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, &sums[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("{\"sum\": %llu}\n", (unsigned long long)(sums[0] ^ sums[1]));
	return 0;
}
