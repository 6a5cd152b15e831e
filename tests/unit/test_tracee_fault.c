// SPDX-License-Identifier: GPL-2.0-or-later
/* Is a stopped thread in the kernel because its own instruction faulted? By registers and code. */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/address.h"
#include "tests/unit/unit.h"
#include "tracee/machine.h"
#include "tracee/tracee.h"

#define PAGE_BYTES page_bytes()

/* A stopped child with two pages of "code": the first is there, the second is to be served. */
struct child {
	uint8_t *code;
	pid_t pid;
	struct tracee_host *host;
	struct tracee tracee;
};

/* userfaultfd(2) waits as a file system in user space does, and needs no mount. */
static void serve_nothing(void *page)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register all = {.range = {.start = (uintptr_t)page, .len = PAGE_BYTES},
				      .mode = UFFDIO_REGISTER_MODE_MISSING};

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0 || ioctl(fd, UFFDIO_REGISTER, &all) < 0)
		_exit(1);
}

/* False: userfaultfd(2) is not to be had. */
static bool begin(struct child *child, const char *code)
{
	int status;

	child->code = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(child->code, MAP_FAILED);
	memcpy(child->code, code, strlen(code));
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		serve_nothing(child->code + PAGE_BYTES);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	if (!WIFSTOPPED(status))
		return false;
	child->host = tracee_host_new();
	tracee_open(&child->tracee, child->host, child->pid, child->pid);
	return true;
}

static void end(struct child *child)
{
	tracee_close(&child->tracee);
	tracee_host_free(child->host);
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	munmap(child->code, 2 * PAGE_BYTES);
}

#if defined(__x86_64__)
#define RESUME_FLAG 0x10000

static bool is_in_fault(struct child *child, size_t at, uint64_t flags, uint64_t rdi)
{
	const struct user_regs_struct regs = {
		.rip = (uintptr_t)child->code + at, .eflags = flags, .rdi = rdi, .rsi = 1};

	return machine_is_in_fault(&child->tracee, &regs);
}

TEST(tracee_fault, resume_flag_and_code_tell)
{
	struct child child;

	if (!begin(&child, "\x90\xf3\x48\xab\x90")) /* nop, rep stos, nop */
		skip();
	assert_true(is_in_fault(&child, 0, RESUME_FLAG, 7));
	assert_false(is_in_fault(&child, 0, 0, 7));
	assert_false(is_in_fault(&child, 1, RESUME_FLAG, 8));
	assert_true(is_in_fault(&child, 1, RESUME_FLAG, PAGE_BYTES));
	end(&child);
}

/* Another thread has taken it away since the stop; and whoever reads it waits for the program. */
TEST(tracee_fault, code_that_its_program_has_to_bring_is_not_read)
{
	struct child child;

	if (!begin(&child, "\x90"))
		skip();
	alarm(30);
	assert_false(is_in_fault(&child, PAGE_BYTES, RESUME_FLAG, 7));
	assert_false(is_in_fault(&child, PAGE_BYTES - 4, RESUME_FLAG, 7));
	alarm(0);
	end(&child);
}
#else
TEST(tracee_fault, machine_does_not_tell)
{
	const struct user_regs_struct regs = {.pc = 1};
	struct child child;

	if (!begin(&child, "code"))
		skip();
	assert_false(machine_is_in_fault(&child.tracee, &regs));
	end(&child);
}
#endif
