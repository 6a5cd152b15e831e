// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuse_fault [MS]: a child whose thread reads a page of a mapped file that its parent serves by
 * FUSE, when its standard input is closed, or after MS milliseconds if they are given; another thread
 * calls count_on() until then. Says "ready" when the thread waits, then prints {"read", "calls"}.
 * Status 77 where it may not mount.
 */
#include "fuse_server.h"

#define FILE_BYTES 4096
#define ANSWER	   7

static volatile uint64_t nr_calls;
static atomic_int found = -1;

NOINLINE static void count_on(void)
{
	nr_calls++;
	__asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop");
}

static void *read_main(void *page)
{
	found = *(volatile uint8_t *)page;
	return NULL;
}

static void run_client(void)
{
	pthread_t thread;
	void *page;

	close(fuse_server.device);
	page = mmap(NULL, FILE_BYTES, PROT_READ, MAP_PRIVATE, fuse_open_file(), 0);
	if (page == MAP_FAILED)
		_exit(1);
	prctl(PR_SET_NAME, "client");
	pthread_create(&thread, NULL, read_main, page);
	usleep(200 * 1000);
	say_ready();
	while (found < 0)
		count_on();
	pthread_join(thread, NULL);
	printf("{\"read\": %d, \"calls\": %llu}\n", found, (unsigned long long)nr_calls);
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	uint64_t ms = number_argument(argc, argv, 1, 120000);
	uint8_t *bytes = calloc(1, FILE_BYTES);
	int status = 1;
	pid_t client;

	memset(bytes, ANSWER, FILE_BYTES);
	fuse_server.waits_for_stdin = argc == 1;
	fuse_server.read_ms = argc == 1 ? 1 : (unsigned)ms;
	if (fuse_server_start(bytes, FILE_BYTES, monotonic_ns() + ms * MS))
		return CANNOT;
	client = fork();
	if (client == 0)
		run_client();
	waitpid(client, &status, 0);
	fuse_server_end();
	_exit(status != 0);
}
