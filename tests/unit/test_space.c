// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "elf/elf_image.h"
#include "mapping/module_priv.h"
#include "mapping/space.h"
#include "proc/program.h"
#include "proc/range.h"
#include "proc/read.h"
#include "tests/unit/tiny_elf.h"
#include "tests/unit/unit.h"

/* No process has this id (proc_sys_kernel(5): pid_max is at most 2^22): no file can be opened. */
#define NO_PROCESS 5000000

#define CAT_HEAD "00400000-00401000 r--p 00000000 08:01 77 /usr/bin/cat\n"
#define CAT_TEXT "00401000-00405000 r-xp 00001000 08:01 77 /usr/bin/cat\n"
#define HEAP	 "00800000-00900000 rw-p 00000000 00:00 0 [heap]\n"
#define LIB_A	 "7f0000001000-7f0000003000 r-xp 00001000 08:01 80 /lib/a.so\n"
#define LIB_B	 "7f0000001000-7f0000003000 r-xp 00001000 08:01 81 /lib/b.so\n"
/* In two pieces. */
#define LIB_B_TWICE                                                                                \
	"7f0000001000-7f0000002000 r-xp 00001000 08:01 81 /lib/b.so\n"                             \
	"7f0000002000-7f0000003000 r-xp 00008000 08:01 81 /lib/b.so\n"
#define JIT	 "7f0000010000-7f0000020000 rwxp 00000000 00:00 0 \n"
#define STACK	 "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0 [stack]\n"
#define VDSO	 "7ffffffff000-800000000000 r-xp 00000000 00:00 0 [vdso]\n"
#define VSYSCALL "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n"

static int update(struct space *space, const char *text)
{
	return space_update(space, text, strlen(text), NULL);
}

static const struct module *module_at(const struct space *space, struct module_table *modules,
				      uint64_t address)
{
	return module_table_get(modules, space_locate(space, address).module);
}

TEST(space, addresses_are_located)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, NO_PROCESS);
	const struct mapping *mapping;

	assert_int_equal(update(space, CAT_HEAD CAT_TEXT HEAP JIT STACK VDSO VSYSCALL), 0);
	assert_string_equal(module_at(space, modules, 0x401234)->path, "/usr/bin/cat");
	assert_int_equal(module_at(space, modules, 0x401234)->kind, MODULE_KIND_FILE);
	assert_int_equal(space_locate(space, 0x401234).address, 0x1234);
	assert_int_equal(space_locate(space, 0x400fff).module.v, MODULE_UNKNOWN.v);
	assert_int_equal(space_locate(space, 0x405000).module.v, MODULE_UNKNOWN.v);
	assert_int_equal(space_locate(space, 0x405000).address, 0x405000);
	assert_int_equal(module_at(space, modules, 0x7f0000010008)->kind, MODULE_KIND_JIT);
	assert_int_equal(module_at(space, modules, 0x7f0000010008)->owner_pid, NO_PROCESS);
	assert_int_equal(space_locate(space, 0x7f0000010008).address, 0x7f0000010008);
	assert_int_equal(module_at(space, modules, 0x7ffffffff010)->kind, MODULE_KIND_VDSO);
	assert_int_equal(module_at(space, modules, 0xffffffffff600000)->kind, MODULE_KIND_VSYSCALL);
	assert_int_equal(space_locate(space, 0).module.v, MODULE_UNKNOWN.v);
	assert_int_equal(space_locate(space, UINT64_MAX).module.v, MODULE_UNKNOWN.v);
	mapping = space_find(space, 0x7fffffffe000);
	assert_non_null(mapping);
	assert_true(mapping->is_stack);
	assert_null(space_find(space, 0x7f0000000000));
	space_free(space);
	module_table_free(modules);
}

/* What caches go by: never the same for two spaces, or for one before and after a change. */
TEST(space, stamps_are_used_once)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, NO_PROCESS);
	struct space *other = space_new(modules, NO_PROCESS);
	struct space *child;
	uint32_t stamp;

	assert_int_not_equal(space_stamp(space), space_stamp(other));
	assert_int_equal(update(space, CAT_TEXT STACK), 0);
	stamp = space_stamp(space);
	assert_int_not_equal(stamp, space_stamp(other));
	assert_int_equal(update(space, CAT_TEXT STACK), 0);
	assert_int_equal(space_stamp(space), stamp);
	child = space_fork(space, NO_PROCESS);
	assert_int_not_equal(space_stamp(child), stamp);
	assert_int_equal(update(child, CAT_TEXT JIT STACK), 0);
	assert_int_equal(update(space, CAT_TEXT LIB_A STACK), 0);
	assert_int_not_equal(space_stamp(space), stamp);
	assert_int_not_equal(space_stamp(space), space_stamp(child));
	space_free(child);
	space_free(other);
	space_free(space);
	module_table_free(modules);
}

TEST(space, run_time_code_is_read_from_the_process)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, getpid());
	struct space *nobody = space_new(modules, NO_PROCESS);
	static const char code[] = "some code";
	char read[sizeof(code)];

	assert_true(space_read_memory(space, (uintptr_t)code, read, sizeof(read)));
	assert_string_equal(read, code);
	assert_false(space_read_memory(space, 8, read, sizeof(read)));
	assert_false(space_read_memory(space, UINT64_MAX, read, sizeof(read)));
	assert_false(space_read_memory(nobody, (uintptr_t)code, read, sizeof(read)));
	space_free(nobody);
	space_free(space);
	module_table_free(modules);
}

TEST(space, generation_counts_changes)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, NO_PROCESS);

	update(space, CAT_TEXT LIB_A);
	assert_int_equal(space_generation(space), 1);
	update(space, CAT_TEXT LIB_A);
	assert_int_equal(space_generation(space), 1);
	update(space, CAT_TEXT LIB_A JIT);
	assert_int_equal(space_generation(space), 2);
	assert_int_equal(space_find(space, 0x401000)->generation, 1);
	assert_int_equal(space_find(space, 0x7f0000010000)->generation, 2);
	update(space, CAT_TEXT);
	assert_int_equal(space_generation(space), 3);
	space_free(space);
	module_table_free(modules);
}

/* dlclose() and dlopen() of another library at the same addresses. */
TEST(space, reused_addresses_are_another_module)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, NO_PROCESS);
	struct code_address before;
	struct code_address after;

	update(space, CAT_TEXT LIB_A);
	before = space_locate(space, 0x7f0000001800);
	update(space, CAT_TEXT LIB_B);
	after = space_locate(space, 0x7f0000001800);
	assert_int_not_equal(before.module.v, after.module.v);
	assert_string_equal(module_table_get(modules, before.module)->path, "/lib/a.so");
	assert_string_equal(module_table_get(modules, after.module)->path, "/lib/b.so");
	/* and back: the same module as at first */
	update(space, CAT_TEXT LIB_A);
	assert_int_equal(space_locate(space, 0x7f0000001800).module.v, before.module.v);
	space_free(space);
	module_table_free(modules);
}

/* As the kernel tells of LIB_A. */
static const struct proc_range range_of_a = {.start = 0x7f0000001000,
					     .end = 0x7f0000003000,
					     .offset = 0x1000,
					     .inode = 80,
					     .dev_major = 8,
					     .dev_minor = 1};

TEST(space, replaced_code_is_recalled)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, NO_PROCESS);
	struct proc_range other = range_of_a;
	uint32_t stamp;

	assert_int_equal(update(space, CAT_TEXT LIB_A STACK), 0);
	assert_int_equal(update(space, CAT_TEXT LIB_B_TWICE STACK), 0);
	stamp = space_stamp(space);
	other.inode = 82;
	assert_false(space_recall(space, &other));
	assert_int_equal(space_stamp(space), stamp);
	assert_string_equal(module_at(space, modules, 0x7f0000001234)->path, "/lib/b.so");
	assert_true(space_recall(space, &range_of_a));
	assert_int_not_equal(space_stamp(space), stamp);
	assert_int_equal(space_nr_replaced(space), 3);
	assert_string_equal(module_at(space, modules, 0x7f0000001234)->path, "/lib/a.so");
	assert_string_equal(module_at(space, modules, 0x401234)->path, "/usr/bin/cat");
	assert_true(space_find(space, 0x7ffffffdf000)->is_stack);
	assert_int_equal(space_nr_mappings(space), 3);
	stamp = space_stamp(space);
	assert_true(space_recall(space, &range_of_a)); /* as it is */
	assert_int_equal(space_stamp(space), stamp);
	other = (struct proc_range){.start = 0x7f0000001000,
				    .end = 0x7f0000002000,
				    .offset = 0x1000,
				    .inode = 81,
				    .dev_major = 8,
				    .dev_minor = 1};
	assert_true(space_recall(space, &other));
	assert_string_equal(module_at(space, modules, 0x7f0000001234)->path, "/lib/b.so");
	assert_int_equal(space_locate(space, 0x7f0000002234).module.v, MODULE_UNKNOWN.v);
	space_free(space);
	module_table_free(modules);
}

TEST(space, of_replaced_code_the_latest_is_kept)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, NO_PROCESS);
	struct proc_range range = {.start = 0x1000, .end = 0x2000, .dev_major = 8, .dev_minor = 1};
	char text[128];

	for (unsigned int inode = 1; inode <= 100; inode++) {
		snprintf(text, sizeof(text), "1000-2000 r-xp 00000000 08:01 %u /lib/%u.so\n", inode,
			 inode);
		assert_int_equal(update(space, text), 0);
	}
	range.inode = 1;
	assert_false(space_recall(space, &range));
	range.inode = 99;
	assert_true(space_recall(space, &range));
	assert_string_equal(module_at(space, modules, 0x1000)->path, "/lib/99.so");
	space_free(space);
	module_table_free(modules);
}

TEST(space, text_that_is_no_maps_changes_nothing)
{
	static const char *const texts[] = {
		"hello\n",
		CAT_TEXT "and then this\n",
		LIB_A CAT_TEXT, /* addresses must rise */
		"00401000-00400000 r-xp 00000000 08:01 77 /x\n",
	};
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, NO_PROCESS);

	update(space, CAT_TEXT);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct err err = ERR_INIT;

		assert_int_equal(space_update(space, texts[i], strlen(texts[i]), &err),
				 ERR_CORRUPT);
		assert_int_equal(space_generation(space), 1);
		assert_non_null(space_find(space, 0x401000));
	}
	space_free(space);
	module_table_free(modules);
}

TEST(space, deleted_files_keep_their_name)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, NO_PROCESS);

	update(space, "00401000-00405000 r-xp 00001000 08:01 77 /tmp/old (deleted)\n"
		      "00501000-00505000 r-xp 00001000 08:01 78 /tmp/old\n");
	assert_string_equal(module_at(space, modules, 0x401000)->path, "/tmp/old");
	assert_true(module_at(space, modules, 0x401000)->deleted);
	assert_false(module_at(space, modules, 0x501000)->deleted);
	space_free(space);
	module_table_free(modules);
}

TEST(space, fork_starts_with_the_parents_mappings)
{
	struct module_table *modules = module_table_new();
	struct space *parent = space_new(modules, NO_PROCESS);
	struct space *child;

	update(parent, CAT_TEXT LIB_A);
	child = space_fork(parent, NO_PROCESS + 1);
	update(parent, CAT_TEXT);
	space_free(parent);
	assert_int_equal(space_pid(child), NO_PROCESS + 1);
	assert_string_equal(module_at(child, modules, 0x7f0000001000)->path, "/lib/a.so");
	space_free(child);
	module_table_free(modules);
}

TEST(space, fork_shares_no_later_change)
{
	struct module_table *modules = module_table_new();
	struct space *parent = space_new(modules, NO_PROCESS);
	struct space *first, *second;

	update(parent, CAT_TEXT LIB_A);
	update(parent, CAT_TEXT LIB_B_TWICE);
	first = space_fork(parent, NO_PROCESS + 1);
	second = space_fork(first, NO_PROCESS + 2);
	assert_true(space_recall(parent, &range_of_a));
	assert_string_equal(module_at(parent, modules, 0x7f0000001234)->path, "/lib/a.so");
	assert_string_equal(module_at(first, modules, 0x7f0000001234)->path, "/lib/b.so");
	update(first, CAT_TEXT LIB_A);
	assert_string_equal(module_at(first, modules, 0x7f0000001234)->path, "/lib/a.so");
	assert_string_equal(module_at(second, modules, 0x7f0000001234)->path, "/lib/b.so");
	space_free(parent);
	space_free(first);
	assert_string_equal(module_at(second, modules, 0x7f0000001234)->path, "/lib/b.so");
	space_free(second);
	module_table_free(modules);
}

TEST(space, gone_process_is_said)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, NO_PROCESS);
	struct err err = ERR_INIT;

	assert_int_equal(space_refresh(space, &err), ERR_GONE);
	space_free(space);
	module_table_free(modules);
}

TEST(space, map_of_another_program_is_refused)
{
	static const char before[] = "00400000-00402000 r-xp 00000000 08:01 10 /bin/first\n"
				     "7ffe10000000-7ffe10002000 r-xp 00000000 00:00 0 [vdso]\n";
	static const char later[] = "00400000-00402000 r-xp 00000000 08:01 10 /bin/first\n"
				    "00600000-00601000 r-xp 00000000 08:01 12 /lib/late\n"
				    "7ffe10000000-7ffe10002000 r-xp 00000000 00:00 0 [vdso]\n";
	static const char executed[] = "00400000-00402000 r-xp 00000000 08:01 11 /bin/second\n"
				       "7ffe20000000-7ffe20002000 r-xp 00000000 00:00 0 [vdso]\n";
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, NO_PROCESS);
	struct err err = ERR_INIT;

	assert_int_equal(space_update(space, before, strlen(before), NULL), 0);
	assert_int_equal(space_update(space, later, strlen(later), NULL), 0);
	assert_int_equal(space_update(space, executed, strlen(executed), &err), ERR_GONE);
	assert_non_null(strstr(err.what, "execve"));
	assert_string_equal(space_module(space, space_find(space, 0x400100))->path, "/bin/first");
	assert_int_equal(space_generation(space), 2);
	space_free(space);
	module_table_free(modules);
}

static bool is_in_file(const struct space *space, const char *name)
{
	for (size_t i = 0; i < space_nr_mappings(space); i++) {
		const struct module *module = space_module(space, space_mapping_at(space, i));

		if (module->path && strstr(module->path, name))
			return true;
	}
	return false;
}

/* Without random addresses, all of it stands where that of the program before stood. */
static pid_t start_shell(int *shell)
{
	int ends[2];
	char line;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	pid = fork();
	if (!pid) {
		dup2(ends[0], STDIN_FILENO);
		dup2(ends[0], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test fail */
		personality(ADDR_NO_RANDOMIZE);
		execl("/bin/sh", "sh", "-c", "echo; read line; exec sleep 1000", NULL);
		_exit(1);
	}
	assert_true(pid > 0);
	close(ends[0]);
	assert_int_equal(read(ends[1], &line, 1), 1);
	*shell = ends[1];
	return pid;
}

static void await_program(pid_t pid, const char *name)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	char comm[PROC_COMM_MAX_BYTES] = "";

	while (strcmp(comm, name) != 0) {
		nanosleep(&pause, NULL);
		assert_true(proc_read_comm(pid, pid, comm, sizeof(comm)));
	}
}

TEST(space, map_of_another_program_at_the_same_place_is_refused)
{
	struct module_table *modules = module_table_new();
	struct space *space;
	int shell;
	pid_t pid = start_shell(&shell);

	space = space_new(modules, pid);
	space_is_of_program(space, proc_program_id(pid, pid));
	assert_int_equal(space_refresh(space, NULL), 0);
	assert_false(is_in_file(space, "/sleep"));
	assert_int_equal(write(shell, "\n", 1), 1);
	await_program(pid, "sleep");
	assert_int_equal(space_refresh(space, NULL), ERR_GONE);
	assert_false(is_in_file(space, "/sleep"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(shell);
	space_free(space);
	module_table_free(modules);
}

TEST(space, own_code_is_found_with_its_image)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, getpid());
	uint64_t here = (uint64_t)(uintptr_t)test_space__own_code_is_found_with_its_image;
	const struct mapping *mapping;
	const struct module *module;

	assert_int_equal(space_refresh(space, NULL), 0);
	mapping = space_find(space, here);
	assert_non_null(mapping);
	module = module_at(space, modules, here);
	assert_string_equal(module_short_name(module), "test_space");
	assert_true(module->fd >= 0);
	assert_true(module->nr_build_id_bytes > 0);
	assert_non_null(space_image(space, mapping));
	assert_non_null(elf_image_cfi(space_image(space, mapping))->eh_frame.bytes);
	space_free(space);
	module_table_free(modules);
}

static int variable = 1, nothing_yet[2000];

TEST(space, own_variables_are_found_in_their_module)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, getpid());
	const uint64_t stored = (uint64_t)(uintptr_t)&variable;
	const uint64_t zero = (uint64_t)(uintptr_t)&nothing_yet[1999];
	cleanup_free char *block = xmalloc(64);
	struct code_address where, other;

	variable++; /* so that it is written to */
	nothing_yet[1999]++;
	assert_int_equal(space_refresh(space, NULL), 0);
	assert_true(space_locate_data(space, stored, &where));
	assert_string_equal(module_short_name(module_table_get(modules, where.module)),
			    "test_space");
	assert_true(space_locate_data(space, zero, &other));
	assert_int_equal(other.module.v, where.module.v);
	assert_int_equal(other.address - where.address, zero - stored);
	/* In the C library, the heap, and on the stack. */
	assert_true(space_locate_data(space, (uint64_t)(uintptr_t)stdin, &other));
	assert_int_not_equal(other.module.v, where.module.v);
	assert_false(space_locate_data(space, (uint64_t)(uintptr_t)block, &other));
#ifndef __SANITIZE_ADDRESS__ /* whose allocator has all blocks elsewhere */
	assert_string_equal(space_name_at(space, (uint64_t)(uintptr_t)block), "[heap]");
#endif
	assert_false(space_locate_data(space, (uint64_t)(uintptr_t)&where, &other));
	assert_string_equal(space_name_at(space, (uint64_t)(uintptr_t)&where), "[stack]");
	assert_string_equal(space_name_at(space, 0), "");
	space_free(space);
	module_table_free(modules);
}

TEST(space, own_vdso_has_an_image)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, getpid());
	bool found = false;

	assert_int_equal(space_refresh(space, NULL), 0);
	for (size_t i = 0; i < space_nr_mappings(space); i++) {
		const struct mapping *mapping = space_mapping_at(space, i);
		const struct module *module = module_table_get(modules, mapping->module);

		if (module->kind != MODULE_KIND_VDSO)
			continue;
		found = true;
		assert_non_null(space_image(space, mapping));
		assert_int_equal(mapping->bias, mapping->start);
	}
	assert_true(found);
	space_free(space);
	module_table_free(modules);
}

/* 4096, or 16 or 64 KiB on some kernels for aarch64. */
static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/*
 * A file as LLD lays it out, mapped for real: the executable segment begins in
 * the middle of a page of the file and is one page further in memory.
 */
TEST(space, lld_layout_gives_elf_addresses)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, getpid());
	struct buf file = {0};
	cleanup_close int fd = -1;
	struct code_address address;
	size_t page = page_bytes();
	uint8_t *code;

	tiny_elf_begin(&file, EM_X86_64, 2);
	tiny_elf_segment(
		&file, 0,
		(Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = page + 0x2f0});
	tiny_elf_segment(&file, 1,
			 (Elf64_Phdr){.p_type = PT_LOAD,
				      .p_flags = PF_R | PF_X,
				      .p_offset = page + 0x2f0,
				      .p_vaddr = 2 * page + 0x2f0,
				      .p_filesz = page - 0x2f0});
	memset(buf_extend(&file, 2 * page - file.nr_bytes), 0, 2 * page - TINY_ELF_CONTENT(2));
	fd = tiny_elf_fd(&file);
	code = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)page);
	assert_true(code != MAP_FAILED);
	assert_int_equal(space_refresh(space, NULL), 0);
	address = space_locate(space, (uint64_t)(uintptr_t)code + 0x2f0);
	assert_int_equal(address.address, 2 * page + 0x2f0);
	assert_string_equal(module_table_get(modules, address.module)->path, "/memfd:tiny");
	munmap(code, page);
	buf_release(&file);
	space_free(space);
	module_table_free(modules);
}

/* The line of /proc/self/maps that shows the function's file, for a space of another process. */
static void own_line(uint64_t address, char *line, int cap)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start = 0;
	unsigned long end = 0;

	assert_non_null(maps);
	while (fgets(line, cap, maps) &&
	       (sscanf(line, "%lx-%lx", &start, &end) != 2 || address < start || address >= end))
		;
	fclose(maps);
	assert_in_range(address, start, end);
}

TEST(space, known_file_needs_no_living_process)
{
	struct module_table *modules = module_table_new();
	struct space *living = space_new(modules, getpid());
	struct space *gone = space_new(modules, NO_PROCESS);
	uint64_t here = (uint64_t)(uintptr_t)test_space__known_file_needs_no_living_process;
	char line[512];

	assert_int_equal(space_refresh(living, NULL), 0);
	own_line(here, line, sizeof(line));
	assert_int_equal(update(gone, line), 0);
	assert_int_equal(space_locate(gone, here).module.v, space_locate(living, here).module.v);
	assert_int_equal(space_locate(gone, here).address, space_locate(living, here).address);
	space_free(living);
	space_free(gone);
	module_table_free(modules);
}

TEST(space, plain_path_serves_when_the_process_is_gone)
{
	struct module_table *modules = module_table_new();
	struct space *gone = space_new(modules, NO_PROCESS);
	uint64_t here = (uint64_t)(uintptr_t)test_space__plain_path_serves_when_the_process_is_gone;
	char line[512];

	own_line(here, line, sizeof(line));
	assert_int_equal(update(gone, line), 0);
	assert_true(module_at(gone, modules, here)->nr_build_id_bytes > 0);
	space_free(gone);
	module_table_free(modules);
}

/* Rebuilt in place: the same path, device and inode, but other bytes. */
TEST(space, rewritten_file_is_another_module)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, getpid());
	struct space *later = space_new(modules, getpid());
	struct buf file = {0};
	cleanup_close int fd = -1;
	struct module_id before;
	uint8_t *code;

	tiny_elf_begin(&file, EM_X86_64, 1);
	tiny_elf_segment(&file, 0, (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_X});
	fd = tiny_elf_fd(&file);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	assert_true(code != MAP_FAILED);
	assert_int_equal(space_refresh(space, NULL), 0);
	before = space_locate(space, (uint64_t)(uintptr_t)code).module;
	assert_int_equal(write(fd, "more", 4), 4);
	assert_int_equal(space_refresh(later, NULL), 0);
	assert_int_not_equal(space_locate(later, (uint64_t)(uintptr_t)code).module.v, before.v);
	munmap(code, 4096);
	buf_release(&file);
	space_free(space);
	space_free(later);
	module_table_free(modules);
}

/* Does this kernel tell of single mappings? */
static bool knows_single_mappings(void)
{
	cleanup_close int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct proc_range range;

	return proc_range_at(maps, (uintptr_t)&range, &range);
}

static uint8_t *map_pages(uint8_t *at, size_t nr, int protection)
{
	uint8_t *pages = mmap(at, nr * page_bytes(), protection,
			      MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	assert_true(pages != MAP_FAILED);
	return pages;
}

TEST(space, code_is_the_same_until_other_code_takes_its_place)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, getpid());
	uint8_t *code = map_pages(NULL, 4, PROT_READ | PROT_EXEC);
	bool knows = knows_single_mappings();
	uint8_t *data;

	assert_int_equal(space_refresh(space, NULL), 0);
	assert_int_equal(space_has_same_code(space), knows);
	data = map_pages(NULL, 2, PROT_READ);
	assert_int_equal(space_has_same_code(space), knows);
	map_pages(code + page_bytes(), 1, PROT_READ);
	assert_false(space_has_same_code(space));
	assert_int_equal(space_refresh(space, NULL), 0);
	assert_int_equal(space_has_same_code(space), knows);
	munmap(code, page_bytes());
	assert_false(space_has_same_code(space));
	munmap(code + page_bytes(), 3 * page_bytes());
	munmap(data, 2 * page_bytes());
	space_free(space);
	module_table_free(modules);
}

TEST(space, code_of_a_process_that_is_gone_is_unknown)
{
	struct module_table *modules = module_table_new();
	struct space *gone = space_new(modules, NO_PROCESS);
	char line[512];

	own_line((uint64_t)(uintptr_t)map_pages, line, sizeof(line));
	assert_int_equal(update(gone, line), 0);
	assert_false(space_has_same_code(gone));
	space_free(gone);
	module_table_free(modules);
}

TEST(space, executable_file_that_is_no_elf_is_jit)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, getpid());
	struct buf file = {0};
	cleanup_close int fd = -1;
	const struct module *module;
	uint8_t *code;

	memset(buf_extend(&file, 4096), 0xcc, 4096);
	fd = tiny_elf_fd(&file);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	assert_true(code != MAP_FAILED);
	assert_int_equal(space_refresh(space, NULL), 0);
	module = module_at(space, modules, (uint64_t)(uintptr_t)code);
	assert_int_equal(module->kind, MODULE_KIND_JIT);
	assert_int_equal(module->owner_pid, getpid());
	assert_int_equal(space_locate(space, (uint64_t)(uintptr_t)code).address, (uintptr_t)code);
	munmap(code, 4096);
	buf_release(&file);
	space_free(space);
	module_table_free(modules);
}

TEST(module, equal_modules_have_one_id)
{
	struct module_table *modules = module_table_new();
	char path[] = "/bin/x";
	struct module module = {.kind = MODULE_KIND_FILE, .path = path, .inode = 5, .fd = -1};
	struct module_id first = module_table_intern(modules, &module);
	struct module_id second;

	assert_int_equal(module_table_nr(modules), 2);
	assert_int_equal(module_table_intern(modules, &module).v, first.v);
	module.nr_build_id_bytes = 1; /* rebuilt in place */
	second = module_table_intern(modules, &module);
	assert_int_not_equal(second.v, first.v);
	assert_string_equal(module_short_name(module_table_get(modules, first)), "x");
	assert_string_equal(module_table_get(modules, MODULE_UNKNOWN)->path, "[unknown]");
	module_table_free(modules);
}

TEST(module, open_descriptors_are_bounded)
{
	struct module_table *modules = module_table_new();
	char path[] = "/bin/x";
	struct module module = {.kind = MODULE_KIND_FILE, .path = path};
	size_t nr_open = 0;

	for (uint64_t i = 0; i < MODULE_TABLE_FDS_MAX + 10; i++) {
		module.inode = i;
		module.fd = dup(STDOUT_FILENO);
		assert_true(module.fd >= 0);
		module_table_intern(modules, &module);
	}
	for (uint32_t id = 0; id < module_table_nr(modules); id++)
		nr_open += module_table_get(modules, (struct module_id){id})->fd >= 0;
	assert_int_equal(nr_open, MODULE_TABLE_FDS_MAX);
	module_table_free(modules);
}
