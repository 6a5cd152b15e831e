// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * patches_itself plain|long|sled|short|xray: says "ready", then obeys the lines on standard input
 *and answers each with {"calls", "traced"}: calls of the function so far, and those that its patch
 *has seen.
 *
 *	call N	calls it N times
 *	save	keeps the bytes that stand at its beginning
 *	patch	puts a jump there, as hooks and hot patches do
 *	restore	puts back what was kept
 *	open	makes its page writable
 */
#include <string.h>
#include <sys/mman.h>

#include "own_counts.h"
#include "self_measure.h"

#define PAGE_BYTES  4096
#define PATCH_BYTES 5

typedef int function(int a);

/*
 * Whole instructions that all are replaced; one that is; room for a patch, with little behind it;
 * XRay's form.
 */
__asm__(".text\n"
	".p2align 12\n"
	".globl plain_work\n"
	".type plain_work, @function\n"
	"plain_work:\n\t"
	"incl %edi\n\t"
	"movl %edi, %eax\n\t"
	"nop\n\t"
	"ret\n"
	".size plain_work, . - plain_work\n\t"
	".p2align 4\n"
	".globl long_work\n"
	".type long_work, @function\n"
	"long_work:\n\t"
	"movl $1, %eax\n\t"
	"addl %edi, %eax\n\t"
	"ret\n"
	".size long_work, . - long_work\n\t"
	".p2align 4\n"
	".globl sled_work\n"
	".type sled_work, @function\n"
	"sled_work:\n\t"
	"endbr64\n\t"
	".byte 0x0f, 0x1f, 0x44, 0, 0\n\t"
	"movl %edi, %eax\n\t"
	"addl $1, %eax\n\t"
	"ret\n"
	".size sled_work, . - sled_work\n\t"
	".p2align 4\n"
	".globl short_work\n"
	".type short_work, @function\n"
	"short_work:\n\t"
	"nop; nop; nop; nop; nop\n\t"
	"leal 1(%rdi), %eax\n\t"
	"ret\n"
	".size short_work, . - short_work\n\t"
	"ud2\n\t"
	".p2align 4\n"
	".globl xray_work\n"
	".type xray_work, @function\n"
	"xray_work:\n\t"
	".byte 0xeb, 0x09, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0\n\t"
	"movl %edi, %eax\n\t"
	"addl $1, %eax\n\t"
	"ret\n"
	".size xray_work, . - xray_work\n\t"
	".p2align 12\n"
	"trace_plain:\n\t"
	"lock incq nr_traced(%rip)\n\t"
	"movl %edi, %eax\n\t"
	"addl $1, %eax\n\t"
	"ret\n"
	"trace_sled:\n\t"
	"lock incq nr_traced(%rip)\n\t"
	"jmp sled_work + 9\n"
	"trace_short:\n\t"
	"lock incq nr_traced(%rip)\n\t"
	"jmp short_work + 5\n"
	"trace_xray:\n\t"
	"lock incq nr_traced(%rip)\n\t"
	"jmp xray_work + 11\n");

function plain_work, long_work, sled_work, short_work, xray_work;
extern char trace_plain[], trace_sled[], trace_short[], trace_xray[];
uint64_t nr_traced;

static const struct kind {
	const char *name;
	function *work;
	const char *trace;
	size_t patch_at;
} kinds[] = {
	{"plain", plain_work, trace_plain, 0}, {"long", long_work, trace_plain, 0},
	{"sled", sled_work, trace_sled, 4},    {"short", short_work, trace_short, 0},
	{"xray", xray_work, trace_xray, 0},
};

static void protect(uint8_t *place, int protection)
{
	if (mprotect((void *)((uintptr_t)place & -(uintptr_t)PAGE_BYTES), PAGE_BYTES, protection))
		exit(3);
}

static void put(uint8_t *place, const uint8_t *bytes)
{
	protect(place, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(place, bytes, PATCH_BYTES);
	protect(place, PROT_READ | PROT_EXEC);
}

int main(int argc, char **argv)
{
	const struct kind *kind = kinds;
	uint8_t saved[PATCH_BYTES], jump[PATCH_BYTES] = {0xe9};
	uint64_t calls = 0;
	char line[64];
	uint8_t *place;
	int32_t distance;

	while (argc < 2 || strcmp(kind->name, argv[1]) != 0) {
		if (argc < 2 || ++kind == kinds + sizeof(kinds) / sizeof(*kinds))
			return 2;
	}
	place = (uint8_t *)(uintptr_t)kind->work + kind->patch_at;
	distance = (int32_t)((uintptr_t)kind->trace - ((uintptr_t)place + PATCH_BYTES));
	memcpy(jump + 1, &distance, sizeof(distance));
	say_ready();
	while (fgets(line, sizeof(line), stdin)) {
		if (strncmp(line, "call ", 5) == 0) {
			for (uint64_t i = strtoull(line + 5, NULL, 0); i > 0; i--, calls++)
				if (((function *volatile)kind->work)((int)i) != (int)i + 1)
					return 4;
		} else if (strcmp(line, "save\n") == 0) {
			memcpy(saved, place, PATCH_BYTES);
		} else if (strcmp(line, "patch\n") == 0) {
			put(place, jump);
		} else if (strcmp(line, "restore\n") == 0) {
			put(place, saved);
		} else {
			protect(place, PROT_READ | PROT_WRITE | PROT_EXEC);
		}
		printf("{\"calls\": %llu, \"traced\": %llu}\n", (unsigned long long)calls,
		       (unsigned long long)nr_traced);
		fflush(stdout);
	}
	return 0;
}
