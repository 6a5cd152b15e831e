// SPDX-License-Identifier: GPL-2.0-or-later
#include <unistd.h>

#include "inject/remote.h"
#include "proc/target_memory.h"
#include "tests/unit/unit.h"

#if defined(__x86_64__)

static struct remote_code found_by(struct target_memory *memory, struct remote_hint *hint)
{
	struct remote_code code;

	assert_int_equal(remote_find_code(getpid(), memory, hint, &code, NULL), 0);
	return code;
}

/* Another process may have another C library, with anything in the former place. */
TEST(remote, code_is_believed_to_be_where_it_was_by_its_bytes)
{
	struct target_memory *memory = target_memory_open(getpid(), NULL);
	struct remote_code searched, hinted;
	struct remote_hint hint = {.call_offset = 0}, wrong;

	if (!memory)
		skip(); /* a filter forbids it */
	searched = found_by(memory, &hint);
	assert_true(hint.call_offset && hint.restore_offset);
	hinted = found_by(memory, &hint);
	assert_int_equal(hinted.call, searched.call);
	assert_int_equal(hinted.restore, searched.restore);

	wrong = hint;
	wrong.call_offset++;
	assert_int_equal(found_by(memory, &wrong).call, searched.call);
	wrong = hint;
	wrong.restore_offset--;
	assert_int_equal(found_by(memory, &wrong).restore, searched.restore);
	assert_int_equal(wrong.restore_offset, hint.restore_offset);
	wrong = hint;
	wrong.call_offset = wrong.restore_offset = UINT64_MAX;
	assert_int_equal(found_by(memory, &wrong).call, searched.call);
	assert_int_equal(found_by(memory, NULL).call, searched.call);
	target_memory_close(memory);
}

#else

TEST(remote, is_for_another_processor)
{
	skip();
}

#endif
