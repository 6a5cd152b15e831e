// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "target/known_timers.h"

#define PID   4710
#define AT_NS (UINT64_C(77) * NS_PER_SEC)

static siginfo_t of_timer(int id, int signal, void *value)
{
	siginfo_t info = {.si_signo = signal, .si_code = SI_TIMER};

	info.si_timerid = id;
	info.si_ptr = value;
	return info;
}

static bool is_known(const struct known_timers *timers, pid_t pid, siginfo_t info, uint64_t now_ns)
{
	return known_timers_find(timers, pid, &info, now_ns);
}

static void test_target_known_timers__tells_one_from_another(void **state)
{
	struct known_timers timers = {0};
	siginfo_t first = of_timer(0, SIGWINCH, NULL);
	siginfo_t second = of_timer(1, SIGWINCH, NULL);
	const struct known_timer *known;

	(void)state;
	assert_false(is_known(&timers, PID, first, AT_NS));
	known_timers_note(&timers, PID, &first, true, AT_NS);
	known_timers_note(&timers, PID, &second, false, AT_NS);
	known = known_timers_find(&timers, PID, &first, AT_NS);
	assert_true(known && known->is_of_thread);
	known = known_timers_find(&timers, PID, &second, AT_NS);
	assert_true(known && !known->is_of_thread);
	assert_false(is_known(&timers, PID + 1, first, AT_NS));
	assert_false(is_known(&timers, PID, of_timer(2, SIGWINCH, NULL), AT_NS));
}

static void test_target_known_timers__knows_none_made_anew(void **state)
{
	struct known_timers timers = {0};
	siginfo_t info = of_timer(3, SIGWINCH, NULL);

	(void)state;
	known_timers_note(&timers, PID, &info, true, AT_NS);
	assert_false(is_known(&timers, PID, of_timer(3, SIGURG, NULL), AT_NS));
	assert_false(is_known(&timers, PID, of_timer(3, SIGWINCH, &info), AT_NS));
	assert_true(is_known(&timers, PID, info, AT_NS + NS_PER_SEC - 1));
	assert_false(is_known(&timers, PID, info, AT_NS + NS_PER_SEC));
	known_timers_forget(&timers, PID + 1);
	assert_true(is_known(&timers, PID, info, AT_NS));
	known_timers_forget(&timers, PID);
	assert_false(is_known(&timers, PID, info, AT_NS));
}

static void test_target_known_timers__keeps_the_latest(void **state)
{
	struct known_timers timers = {0};

	(void)state;
	for (int id = 0; id <= KNOWN_TIMERS_MAX; id++) {
		siginfo_t info = of_timer(id, SIGWINCH, NULL);

		known_timers_note(&timers, PID, &info, true, AT_NS);
	}
	assert_false(is_known(&timers, PID, of_timer(0, SIGWINCH, NULL), AT_NS));
	for (int id = 1; id <= KNOWN_TIMERS_MAX; id++)
		assert_true(is_known(&timers, PID, of_timer(id, SIGWINCH, NULL), AT_NS));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_target_known_timers__tells_one_from_another),
		cmocka_unit_test(test_target_known_timers__knows_none_made_anew),
		cmocka_unit_test(test_target_known_timers__keeps_the_latest),
	};

	return cmocka_run_group_tests_name("target/known_timers", tests, NULL, NULL);
}
