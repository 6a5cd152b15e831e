// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/errand.h"
#include "tests/unit/unit.h"

#define MS UINT64_C(1000000)

struct shared {
	int kept, other;
	bool has_kept, has_other;
};

static bool look(void *context)
{
	struct shared *shared = context;

	shared->has_kept = fcntl(shared->kept, F_GETFD) >= 0;
	shared->has_other = fcntl(shared->other, F_GETFD) >= 0 || fcntl(1, F_GETFD) >= 0;
	return true;
}

/* Else who reads what profc prints would wait for a child that cannot end. */
TEST(errand, has_no_descriptor_but_its_own)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(shared != MAP_FAILED);
	shared->kept = open("/dev/null", O_RDONLY | O_CLOEXEC);
	shared->other = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(errand_run(look, shared, &shared->kept, 1, ERRAND_NS));
	assert_true(shared->has_kept);
	assert_false(shared->has_other);
	close(shared->kept);
	close(shared->other);
	munmap(shared, sizeof(*shared));
}

static bool return_false(void *context)
{
	return context != NULL;
}

static bool wait_for_ever(void *context)
{
	for (;;)
		pause();
	return context != NULL;
}

TEST(errand, that_fails_or_does_not_end_is_none)
{
	assert_false(errand_run(return_false, NULL, NULL, 0, ERRAND_NS));
	assert_false(errand_run(wait_for_ever, NULL, NULL, 0, 20 * MS));
	/* Nothing is left of them; without a free CPU one dies a moment later, but it does. */
	while (waitpid(-1, NULL, __WALL) > 0)
		continue;
	assert_int_equal(errno, ECHILD);
}

static bool has_all_blocked(void *context)
{
	sigset_t blocked;

	(void)context;
	return sigprocmask(SIG_SETMASK, NULL, &blocked) == 0 && sigismember(&blocked, SIGINT) &&
	       sigismember(&blocked, SIGTERM);
}

TEST(errand, runs_no_handler_of_ours)
{
	sigset_t blocked;

	assert_true(errand_run(has_all_blocked, NULL, NULL, 0, ERRAND_NS));
	assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &blocked), 0);
	assert_false(sigismember(&blocked, SIGINT));
}
