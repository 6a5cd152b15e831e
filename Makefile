# SPDX-License-Identifier: GPL-2.0-or-later
# profc: build, test, install. `make help` lists the targets and knobs.

# All paths below are relative to this directory: `make -f DIR/Makefile` from another
# one goes there first.
HERE := $(dir $(lastword $(MAKEFILE_LIST)))
ifneq ($(HERE),./)
.PHONY: $(or $(MAKECMDGOALS),all) from-there
$(or $(MAKECMDGOALS),all): from-there
	@:
from-there:
	@$(MAKE) --no-print-directory -C $(HERE) $(MAKECMDGOALS)
else

VERSION := 0.3.0
PREFIX ?= /usr/local
DESTDIR ?=
# Before the names of the tools, such as aarch64-linux-gnu-. make predefines some of them, which ?=
# would leave as they are.
CROSS_COMPILE ?=
is_predefined = $(filter default undefined,$(origin $(1)))
ifneq ($(call is_predefined,CC),)
CC := $(CROSS_COMPILE)gcc
endif
ifneq ($(call is_predefined,LD),)
LD := $(CROSS_COMPILE)ld
endif
ifneq ($(call is_predefined,AR),)
AR := $(CROSS_COMPILE)ar
endif
OBJCOPY ?= $(CROSS_COMPILE)objcopy
ifneq ($(call is_predefined,PKG_CONFIG),)
# That of the build machine has its own libraries, unless it is told where others are.
PKG_CONFIG := $(if $(PKG_CONFIG_LIBDIR),,$(CROSS_COMPILE))pkg-config
endif
INSTALL ?= install
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

# Each combination of knobs builds in a directory of its own, so that changing
# one never mixes objects.
DEBUG ?=
ASAN ?=
UBSAN ?=
COVERAGE ?=
STATIC ?=
WERROR ?=
comma := ,
empty :=
space := $(empty) $(empty)
KNOBS := $(if $(DEBUG),debug) $(if $(ASAN),asan) $(if $(UBSAN),ubsan) $(if $(COVERAGE),coverage) $(if $(STATIC),static)
BUILD ?= build$(if $(strip $(KNOBS)),/$(subst $(space),-,$(strip $(KNOBS))))
# Objects and their .d files must have one name, whether the directory was given as
# an absolute path or not: else a changed header does not rebuild them.
override BUILD := $(patsubst $(CURDIR)/%,%,$(BUILD))

# Code that goes into other processes, and is linked for itself.
BLOB_SOURCES := lib/heap/heap_blob.c $(wildcard lib/heap/heap_*_blob.c)
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
IS_X86_64 := $(filter x86_64,$(MACHINE))
BLOB_ASSEMBLY := $(wildcard lib/heap/heap_*_$(MACHINE).S)
LIB_SOURCES := $(sort $(filter-out $(BLOB_SOURCES),$(wildcard lib/*/*.c)))
CMD_SOURCES := $(sort $(wildcard cmd/*.c))
UNIT_SOURCES := $(sort $(wildcard tests/unit/test_*.c))
BENCH_SOURCES := $(sort $(wildcard tests/bench/*.c))
ORACLE_SOURCES := $(sort $(wildcard tests/oracle/*.c))
GATE_SOURCES := $(sort $(wildcard tests/gates/*.c))
FUZZ_SOURCES := $(sort $(wildcard tests/fuzz/fuzz_*.c))
MAN_PAGES := $(sort $(wildcard man/*.[157]))

BLOB_OBJECTS := $(BLOB_SOURCES:%.c=$(BUILD)/%.o) $(BLOB_ASSEMBLY:%.S=$(BUILD)/%.o)
LIB_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/%.o)
CMD_OBJECTS := $(filter-out $(BUILD)/cmd/main.o,$(CMD_SOURCES:%.c=$(BUILD)/%.o))
# Without cmocka there are none, and tests/run skips them.
UNIT_PROGRAMS := $(if $(shell $(PKG_CONFIG) --exists cmocka 2>/dev/null && echo yes),$(UNIT_SOURCES:%.c=$(BUILD)/%))
BENCH_PROGRAMS := $(BENCH_SOURCES:%.c=$(BUILD)/%)
# single_step reads instructions of x86-64.
ORACLE_PROGRAMS = $(filter-out $(if $(IS_X86_64),,%/single_step),$(ORACLE_SOURCES:%.c=$(BUILD)/%))
GATE_PROGRAMS := $(GATE_SOURCES:%.c=$(BUILD)/%)
FUZZ_PROGRAMS := $(FUZZ_SOURCES:%.c=$(BUILD)/%)

# Reading and showing a profile needs none of the rooms that stop a process;
# scripts/check-halves links without them.
RECORD_ROOMS := tracee roster overhead patch heap inject probe naming agent recorder unwind script context collector sampler jit syscall doctor wait holding
REPORT_OBJECTS := $(filter-out $(RECORD_ROOMS:%=$(BUILD)/lib/%/%.o),$(LIB_OBJECTS))

REPORT_PACKAGES := libdw libelf libzstd zlib ncursesw
RECORD_PACKAGES := libunwind-ptrace libunwind-generic
PACKAGES := $(RECORD_PACKAGES) $(REPORT_PACKAGES)
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null)
# Parts of libc itself since glibc 2.34, in which these libraries are empty.
OLD_LIBS := -ldl -lrt -lpthread
LIBS_OF = $(shell $(PKG_CONFIG) $(if $(STATIC),--static) --libs $(1) 2>/dev/null)
REPORT_LIBS := $(call LIBS_OF,$(REPORT_PACKAGES)) -liberty -lm $(OLD_LIBS)
LIBS := $(call LIBS_OF,$(RECORD_PACKAGES)) $(REPORT_LIBS)

COMMON_WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wundef -Wvla -Wformat=2 -Wpointer-arith -Wcast-qual \
	-Wwrite-strings -Wconversion -Wno-sign-conversion -Wimplicit-fallthrough \
	-Wnull-dereference -Wredundant-decls -Wdate-time
GCC_WARNINGS := -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wjump-misses-init \
	-Walloc-zero -Wstack-usage=16384 -Wcast-align=strict
CLANG_WARNINGS := -Wcomma -Wunreachable-code
IS_CLANG := $(findstring clang,$(shell $(CC) --version 2>/dev/null))
CC_MAJOR := $(firstword $(subst ., ,$(shell $(CC) -dumpversion 2>/dev/null)))
# Before gcc 11 this one meets fields of which a macro initializes a part, and the others are 0.
OLD_GCC_WARNINGS := $(if $(filter 8 9 10,$(CC_MAJOR)),-Wno-missing-field-initializers)
# -Wno-stack-usage, which gcc 9 does not know.
ANY_STACK := $(if $(IS_CLANG),,-Wstack-usage=1000000000)
WARNINGS := $(COMMON_WARNINGS) $(if $(IS_CLANG),$(CLANG_WARNINGS),$(GCC_WARNINGS) $(OLD_GCC_WARNINGS)) $(if $(WERROR),-Werror)

SANITIZE := $(if $(ASAN),-fsanitize=address) \
	$(if $(UBSAN),-fsanitize=undefined -fno-sanitize-recover=undefined)
CFLAGS ?= $(if $(DEBUG)$(COVERAGE),-O0 -g3,-O2 -g)
# The sanitizers and -O0 cannot live with fortified string functions. Who builds may ask for another
# level, as distributions do; some compilers predefine one.
FORTIFY := $(if $(DEBUG)$(ASAN)$(UBSAN)$(COVERAGE)$(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)

PROFC_CPPFLAGS := -D_GNU_SOURCE $(FORTIFY) -Ilib -I. -DPROFC_VERSION='"$(VERSION)"' $(PKG_CFLAGS) $(if $(STATIC),-DPROFC_STATIC)
# Two builds are the same, byte for byte, wherever the sources are: debug information names them from
# the top of the tree (clang 9 can do no more). With DEBUG=1 a debugger finds them from anywhere.
PREFIX_MAP := $(if $(DEBUG)$(COVERAGE),,-f$(if $(filter 9,$(IS_CLANG:clang=$(CC_MAJOR))),debug,file)-prefix-map='$(CURDIR)=.')
# The compiler takes the name of the current directory from here, if it is one.
export PWD := $(CURDIR)
# Some processors multiply and add at once, with other last digits: numbers are the same on all.
PROFC_CFLAGS := -std=gnu11 $(WARNINGS) -ffp-contract=off -fno-common -fno-omit-frame-pointer \
	-fstack-protector-strong $(SANITIZE) $(if $(COVERAGE),--coverage)
PROFC_LDFLAGS := $(SANITIZE) $(if $(COVERAGE),--coverage) $(if $(STATIC),-static -Wl$(comma)--wrap=dlopen)

# One line a file, such as `CC  lib/base/buf.o`; V=1 shows the commands, -s nothing.
V ?=
IS_VERBOSE := $(filter-out 0,$(V))
IS_SILENT := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
say = $(if $(IS_VERBOSE),,@$(if $(IS_SILENT),,echo '  $(1)  $(@:$(BUILD)/%=%)';))

COMPILE = $(CC) $(PREFIX_MAP) $(PROFC_CPPFLAGS) $(CPPFLAGS) $(PROFC_CFLAGS) $(CFLAGS) -MMD -MP
# What the compiler says is shown, and kept beside its target for check-warnings.
heard = $(1) 2>$@.warnings || { cat $@.warnings >&2; exit 1; }; cat $@.warnings >&2
LINK = $(CC) $(PROFC_CFLAGS) $(CFLAGS) $(PROFC_LDFLAGS) $(LDFLAGS)

.PHONY: all programs install uninstall dist deb rpm arch tarball deb-aarch64 rpm-aarch64 tarball-aarch64 release clean help demo bench format lint
.PHONY: check check-installed check-unit check-live check-long check-gates check-intervals check-aarch64 check-aarch64-long check-kernels accept
.PHONY: check-blob check-headers check-warnings check-warnings-clang check-halves check-symbols check-circles check-tidy
.DELETE_ON_ERROR:

all: $(BUILD)/profc

ifneq ($(shell $(PKG_CONFIG) --exists $(PACKAGES) 2>/dev/null && echo found),found)
$(LIB_OBJECTS) $(CMD_OBJECTS): needs-libraries
.PHONY: needs-libraries
needs-libraries:
	@echo "profc needs these packages with their headers: $(PACKAGES), libiberty" >&2
	@echo "hint: run scripts/install-deps build" >&2
	@exit 1
endif

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(call heard,$(COMPILE) -c -o $@ $<)

# What `profc --version -v` says. Who builds may not be let to ask git (root, in the tree of
# another user), or there is none: then it is the commit that was built here before.
COMMIT_BEFORE := $(shell cat $(BUILD)/commit 2>/dev/null)
# In a tarball git has put the commit into this file.
COMMIT_OF_TARBALL := $(shell sed '/Format/d' .commit 2>/dev/null)
ifeq ($(origin COMMIT),undefined)
COMMIT := $(if $(wildcard .git),$(shell git --no-optional-locks describe --always --dirty 2>/dev/null))
COMMIT := $(or $(COMMIT),$(COMMIT_OF_TARBALL),$(COMMIT_BEFORE),unknown)
endif
SAID_FLAGS = $(FORTIFY) $(CPPFLAGS) $(filter-out -W%,$(PROFC_CFLAGS)) \
	$(filter-out -W% -ffile-prefix-map=% -fdebug-prefix-map=% -fmacro-prefix-map=%,$(CFLAGS))
c_string = '"$(subst ','\'',$(subst ",\",$(subst \,\\,$(strip $(1)))))"'

ifneq ($(COMMIT),$(COMMIT_BEFORE))
.PHONY: $(BUILD)/commit
endif
$(BUILD)/commit:
	@mkdir -p $(@D)
	@echo '$(COMMIT)' >$@

$(BUILD)/cmd/main.o: $(BUILD)/commit
$(BUILD)/cmd/main.o: PROFC_CPPFLAGS += -DPROFC_COMMIT='"$(COMMIT)"' \
	-DPROFC_FLAGS=$(call c_string,$(SAID_FLAGS))

# What the compiler cannot know: the assembler includes these.
$(BUILD)/lib/export/asset.o: $(wildcard lib/export/*.js lib/export/page/*)

# A static program may be where no terminal is described: it brings the entries of the usual ones.
TERMINALS := linux screen screen-256color tmux tmux-256color xterm xterm-256color
ifneq ($(STATIC),)
TERMINAL_ENTRIES := $(TERMINALS:%=$(BUILD)/terminfo/%)
$(TERMINAL_ENTRIES):
	@mkdir -p $@.d
	$(call say,TIC)infocmp -x $(@F) >$@.src && tic -x -o $@.d $@.src && cp $@.d/*/$(@F) $@

$(BUILD)/cmd/terminal_entry.o: $(TERMINAL_ENTRIES)
$(BUILD)/cmd/terminal_entry.o: PROFC_CPPFLAGS += -DPROFC_TERMINFO='"$(BUILD)/terminfo/"'
endif

# Our code in other processes: no data, no library, no vector registers, none of the flags above.
# A gate looks at what has come of it.
BLOB_CFLAGS_x86_64 := -mno-sse -mno-mmx -mno-80387 -mno-red-zone -fcf-protection=none
BLOB_CFLAGS_aarch64 := -mgeneral-regs-only -ffixed-x18 -mno-outline-atomics -mbranch-protection=none
BLOB_CFLAGS := -std=gnu11 $(WARNINGS) -O2 -fno-omit-frame-pointer -ffreestanding -fPIC -fvisibility=hidden \
	$(BLOB_CFLAGS_$(MACHINE)) -fno-stack-protector -fno-jump-tables \
	-fno-asynchronous-unwind-tables -fno-builtin -fno-tree-slp-vectorize \
	$(if $(IS_CLANG),,-fno-tree-loop-distribute-patterns -fno-reorder-blocks-and-partition)
ifneq ($(BLOB_ASSEMBLY),)
$(BLOB_SOURCES:%.c=$(BUILD)/%.o): $(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(call heard,$(CC) -Ilib $(BLOB_CFLAGS) -MMD -MP -c -o $@ $<)

$(BLOB_ASSEMBLY:%.S=$(BUILD)/%.o): $(BUILD)/%.o: %.S
	@mkdir -p $(@D)
	$(call say,AS)$(CC) -c -o $@ $<

$(BUILD)/lib/heap/heap_blob.elf: lib/heap/heap_blob.ld $(BLOB_OBJECTS)
	$(call say,LD)$(LD) -o $@ -T $< --build-id=none --no-dynamic-linker -z norelro -z max-page-size=4096 $(filter %.o,$^)

$(BUILD)/lib/heap/heap_blob.bin: $(BUILD)/lib/heap/heap_blob.elf
	$(call say,COPY)$(OBJCOPY) -O binary -j .text $< $@

$(BUILD)/lib/heap/heap_code.o: $(BUILD)/lib/heap/heap_blob.bin
$(BUILD)/lib/heap/heap_code.o: PROFC_CPPFLAGS += -DPROFC_HEAP_BLOB='"$(BUILD)/lib/heap/heap_blob.bin"'
endif

# What must not be in the blob.
check-blob: $(if $(BLOB_ASSEMBLY),$(BUILD)/lib/heap/heap_blob.elf)
	@scripts/check-blob $^

$(BUILD)/libprofc.a: $(LIB_OBJECTS)
	@rm -f $@
	$(call say,AR)$(AR) rcs $@ $^

# Everything of cmd/ but main(), so that unit tests can link it.
$(BUILD)/libcmd.a: $(CMD_OBJECTS)
	@rm -f $@
	$(call say,AR)$(AR) rcs $@ $^

$(BUILD)/libreport.a: $(REPORT_OBJECTS)
	@rm -f $@
	$(call say,AR)$(AR) rcs $@ $^

$(BUILD)/profc: $(BUILD)/cmd/main.o $(BUILD)/libcmd.a $(BUILD)/libprofc.a
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS)

# profc whose rooms that show a profile, and read the files that it names, are under AddressSanitizer
# and UndefinedBehaviorSanitizer: quicker to build than all of it. scripts/check-sanitized runs it.
SANITIZED := $(filter cmd/% lib/symbol/% lib/calltree/% lib/view/%,$(LIB_SOURCES) $(CMD_SOURCES))
SANITIZE_CFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined
$(BUILD)/sanitized/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(call heard,$(COMPILE) -U_FORTIFY_SOURCE $(SANITIZE_CFLAGS) -O0 -g1 $(ANY_STACK) -c -o $@ $<)

$(BUILD)/sanitized/cmd/main.o: $(BUILD)/commit
$(BUILD)/sanitized/cmd/main.o: PROFC_CPPFLAGS += -DPROFC_COMMIT='"$(COMMIT)"' -DPROFC_FLAGS='""'

.PHONY: sanitized
sanitized: $(BUILD)/sanitized/profc

$(BUILD)/sanitized/profc: $(SANITIZED:%.c=$(BUILD)/sanitized/%.o) $(BUILD)/libprofc.a
	$(call say,LD)$(LINK) $(SANITIZE_CFLAGS) -o $@ $^ $(LIBS)

# main() of unit tests.
$(BUILD)/libunit.a: $(BUILD)/tests/unit/unit.o
	@rm -f $@
	$(call say,AR)$(AR) rcs $@ $^

# Unit tests are compiled once and run once: to make them fast takes longer. One reads its own inlined code.
ifeq ($(origin CFLAGS),file)
$(patsubst %.c,$(BUILD)/%.o,$(filter-out tests/unit/test_symbol_resolve.c,$(UNIT_SOURCES))): \
	CFLAGS += -O0 -U_FORTIFY_SOURCE $(ANY_STACK)
endif

$(UNIT_PROGRAMS): %: %.o $(BUILD)/libunit.a $(BUILD)/libcmd.a $(BUILD)/libprofc.a
	$(call say,LD)$(LINK) -o $@ $(filter %.o %.a,$^) $(LIBS) -lcmocka

# A fuzz target with the main() that replays its corpus.
$(BUILD)/tests/fuzz/%: tests/fuzz/%.c tests/fuzz/replay.c $(BUILD)/libcmd.a $(BUILD)/libprofc.a
	@mkdir -p $(@D)
	$(call say,CC)$(call heard,$(COMPILE) $(PROFC_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) $(filter %.a,$^) $(LIBS))

# Another decoder of instructions, where there is one.
ZYDIS_LIBS = $(if $(IS_X86_64),$(shell echo '\#include <Zydis/Disassembler.h>' | $(CC) -E - >/dev/null 2>&1 && echo -lZydis))
$(BUILD)/tests/oracle/patches: LIBS += $(ZYDIS_LIBS)

$(BENCH_PROGRAMS) $(ORACLE_PROGRAMS) $(GATE_PROGRAMS): $(BUILD)/%: %.c $(BUILD)/libprofc.a
	@mkdir -p $(@D)
	$(call say,CC)$(call heard,$(COMPILE) $(PROFC_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) $(filter %.a,$^) $(LIBS))

programs: $(BUILD)/profc $(UNIT_PROGRAMS) $(FUZZ_PROGRAMS) $(BENCH_PROGRAMS) $(ORACLE_PROGRAMS) $(GATE_PROGRAMS)

# Tests: one runner, tests/run; its last line is "N passed, N failed, N skipped".

IN_PARALLEL = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS))
RUN = BUILD=$(BUILD) tests/run -j $(JOBS) $(if $(MAX_FLAKY),--max-flaky $(MAX_FLAKY))

# What is installed besides: nothing, or linters, compilers, and of the programs of other
# languages whose stacks tests/oracle judges the quick ones, or all. What is not there is skipped.
PROGRAMS ?=
PROGRAM_GROUPS_quick := programs-quick
PROGRAM_GROUPS_all := programs

check:
	$(if $(PROGRAMS),$(if $(PROGRAM_GROUPS_$(PROGRAMS)),,$(error PROGRAMS is quick or all)))
	@scripts/install-deps build check $(PROGRAM_GROUPS_$(PROGRAMS))
	@$(MAKE) $(IN_PARALLEL) --no-print-directory -s programs
	@$(MAKE) --no-print-directory check-installed

check-installed: programs
	@$(RUN) $(if $(strip $(KNOBS)),,gates) oracle unit fuzz cli live

check-unit: $(UNIT_PROGRAMS) $(FUZZ_PROGRAMS)
	@$(RUN) unit fuzz

check-live: programs
	@$(RUN) live

# What `make check` does some times, at other moments in each run, is done sixteen times as often.
CYCLES ?= 64
check-long: programs
	@PROFC_TEST_CYCLES=$(CYCLES) $(RUN) --patience 7200 live -k test_counting_s
	@PROFC_TEST_CYCLES=$(CYCLES) $(RUN) --patience 7200 live -k test_any_moment

check-gates lint: programs
	@$(RUN) gates

# On another processor, in an emulated machine.
check-aarch64:
	@CCACHE='$(filter ccache,$(CC))' scripts/check-aarch64

check-aarch64-long:
	@CCACHE='$(filter ccache,$(CC))' scripts/check-aarch64 --only tests/aarch64-long.conf oracle live

# With other kernels, in an emulated machine.
check-kernels: programs
	@BUILD=$(BUILD) scripts/check-kernels

# The outputs of this build become the expected ones: those with TEXT, or all.
TEXT ?=
accept: all $(BUILD)/tests/bench/make_profile
	@BUILD=$(BUILD) tests/outputs/run --accept -k '$(TEXT)'

# RUNS=100 SERIES= MS=700
check-intervals: all
	@BUILD=$(BUILD) tests/intervals/run

bench: all $(BENCH_PROGRAMS)
	@BUILD=$(BUILD) tests/bench/run

demo:
	@scripts/install-deps build demo
	@echo "demo: compiling profc, which may take a minute or two" >&2
	@$(MAKE) $(IN_PARALLEL) --no-print-directory -s all
	@BUILD=$(BUILD) scripts/demo

format:
	@clang-format -i $(shell find lib cmd tests -name targets -prune -o -name '*.[ch]' -print)

# Gates that need the compiler's flags. tests/gates.conf names them all.

HEADERS := $(sort $(wildcard lib/*/*.h cmd/*.h))

# Each header compiles alone, and twice. clang, where there is one, reads them all in one process.
HAS_CLANG = $(shell command -v clang 2>/dev/null)
CLANG_PARSES = scripts/parse $(PROFC_CPPFLAGS) -std=gnu11 $(COMMON_WARNINGS) $(CLANG_WARNINGS) -Werror
header_alone = $(BUILD)/headers/$(subst /,_,$(1)).c
check-headers:
	@mkdir -p $(BUILD)/headers
	@$(foreach header,$(HEADERS),printf '#include "%s"\n' $(header) $(header) >$(call header_alone,$(header));)
	@$(if $(HAS_CLANG),$(CLANG_PARSES) -- $(foreach header,$(HEADERS),$(call header_alone,$(header))), \
		status=0; for source in $(foreach header,$(HEADERS),$(call header_alone,$(header))); do \
			$(CC) $(PROFC_CPPFLAGS) -std=gnu11 $(WARNINGS) -Werror -fsyntax-only $$source || status=1; \
		done; exit $$status)

# Had the compiler anything to say about what is built?
check-warnings: programs
	@! cat $(wildcard $(addsuffix .warnings,$(LIB_OBJECTS) $(BLOB_SOURCES:%.c=$(BUILD)/%.o) $(CMD_OBJECTS) $(BUILD)/cmd/main.o \
		$(BUILD)/tests/unit/unit.o $(UNIT_PROGRAMS:=.o) $(FUZZ_PROGRAMS) $(BENCH_PROGRAMS) $(ORACLE_PROGRAMS) \
		$(GATE_PROGRAMS))) </dev/null | grep .

# Has clang, of the tests? Of lib/ and cmd/ clang-tidy says it. Again of what was built since the last
# run without a finding, and of all if a program that has no object of its own was.
$(BUILD)/clang-warnings: $(if $(UNIT_PROGRAMS),$(BUILD)/tests/unit/unit.o $(UNIT_PROGRAMS:=.o)) \
		$(FUZZ_PROGRAMS) $(BENCH_PROGRAMS) $(ORACLE_PROGRAMS) $(GATE_PROGRAMS)
	@$(CLANG_PARSES) -O1 -- tests/fuzz/replay.c $(patsubst $(BUILD)/%,%.c,$(basename $?))
	@touch $@

check-warnings-clang: $(BUILD)/clang-warnings

# Whatever shows a profile links without the rooms that record one.
check-halves: $(BUILD)/libcmd.a $(BUILD)/libreport.a
	@scripts/report-half >$(BUILD)/report_half.c
	@$(COMPILE) $(LDFLAGS) -o $(BUILD)/report_half $(BUILD)/report_half.c $(filter %.a,$^) $(REPORT_LIBS)

# Files of a room that call or include each other in a circle.
check-circles: $(LIB_OBJECTS) $(CMD_OBJECTS) $(if $(BLOB_ASSEMBLY),$(BLOB_OBJECTS))
	@scripts/check-circles calls $^
	@scripts/check-circles includes $(LIB_SOURCES) $(CMD_SOURCES) $(HEADERS)

check-symbols: $(LIB_OBJECTS)
	@BUILD=$(BUILD) scripts/check-symbols $^

# clang-tidy over the sources of objects that are newer than its last run without a finding: many
# at once, as it takes a fourth of its time to begin. The analyzer takes ten times as long with its own
# limit on how far to follow a path, TIDY_NODES=225000, and twice as long with 20000, which finds no
# more here.
TIDY_NODES ?= 6000
tidied = $(if $(filter %.clang-tidy,$?),$^,$?)
$(BUILD)/tidy: $(LIB_OBJECTS) $(CMD_OBJECTS) $(BUILD)/cmd/main.o .clang-tidy
	@echo $(patsubst $(BUILD)/%.o,%.c,$(filter %.o,$(tidied))) | xargs -n 24 | { status=0; while read -r sources; do \
		clang-tidy --quiet --warnings-as-errors='*' $$sources -- $(PROFC_CPPFLAGS) -std=gnu11 \
			$(COMMON_WARNINGS) $(CLANG_WARNINGS) -Xclang -analyzer-config -Xclang max-nodes=$(TIDY_NODES) \
			2>$@.err || { cat $@.err; status=1; }; \
	done; exit $$status; }
	@touch $@

check-tidy: $(BUILD)/tidy

BASH_COMPLETIONS = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
FISH_COMPLETIONS = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
MAN = $(DESTDIR)$(PREFIX)/share/man
# By which a click on a profile shows its page.
DESKTOP_FILE = $(DESTDIR)$(PREFIX)/share/applications/profc.desktop
MIME_FILE = $(DESTDIR)$(PREFIX)/share/mime/packages/profc.xml
# A flight recorder as a service of systemd, which looks there below /usr/local, too.
UNIT_FILE = $(DESTDIR)$(PREFIX)/lib/systemd/system/profc@.service

install: all
	$(INSTALL) -D -m 755 $(BUILD)/profc $(DESTDIR)$(PREFIX)/bin/profc
	for page in $(MAN_PAGES); do \
		$(INSTALL) -D -m 644 $$page $(MAN)/man$${page##*.}/$${page##*/} || exit 1; \
	done
	$(INSTALL) -D -m 644 completions/profc.bash $(BASH_COMPLETIONS)/profc
	$(INSTALL) -D -m 644 completions/profc.zsh $(ZSH_COMPLETIONS)/_profc
	$(INSTALL) -D -m 644 completions/profc.fish $(FISH_COMPLETIONS)/profc.fish
	$(INSTALL) -D -m 644 scripts/packaging/profc.desktop $(DESKTOP_FILE)
	$(INSTALL) -D -m 644 scripts/packaging/profc.xml $(MIME_FILE)
	$(INSTALL) -D -m 644 scripts/packaging/profc@.service $(UNIT_FILE)
	sed -i 's|/usr/bin/|$(PREFIX)/bin/|' $(UNIT_FILE)

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/profc $(BASH_COMPLETIONS)/profc $(ZSH_COMPLETIONS)/_profc \
		$(FISH_COMPLETIONS)/profc.fish $(DESKTOP_FILE) $(MIME_FILE) $(UNIT_FILE)
	for page in $(MAN_PAGES); do rm -f $(MAN)/man$${page##*.}/$${page##*/}; done

# The sources of the last commit: what has not been committed is left out.
DIST := $(BUILD)/profc-$(VERSION).tar
dist:
	@mkdir -p $(BUILD)
	git archive --prefix=profc-$(VERSION)/ -o $(DIST) HEAD
	gzip -9 -n -f $(DIST)

# Packages of those sources, in build/release: `make release` makes all.
RELEASE := $(BUILD)/release
deb rpm arch: dist
	@scripts/package $@ $(DIST).gz $(VERSION) $(RELEASE)

tarball: dist
	@scripts/package static $(DIST).gz $(VERSION) $(RELEASE)

# With the libraries of the machine that scripts/vm makes, once.
tarball-aarch64: dist
	@scripts/for-aarch64 scripts/package static $(DIST).gz $(VERSION) $(RELEASE)

# With the libraries of a Debian for both processors, made once.
deb-aarch64 rpm-aarch64: dist
	@scripts/package-aarch64 $(@:%-aarch64=%) $(DIST).gz $(VERSION) $(RELEASE)

release: deb rpm tarball deb-aarch64 rpm-aarch64 tarball-aarch64
	@cp $(DIST).gz $(RELEASE)
	@cd $(RELEASE) && rm -f SHA256SUMS && sha256sum * >SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS && cat SHA256SUMS

clean:
	rm -rf build

help:
	@echo "make               build $(BUILD)/profc"
	@echo "make demo          install what is missing, build, profile a real program"
	@echo "make check         install a little that is missing, then all gates and tests"
	@echo "                   PROGRAMS=quick, or all: also linters, and what tests profile"
	@echo "make check-unit    unit tests and fuzz corpora (no ptrace)"
	@echo "make check-live    tests that profile running programs"
	@echo "make check-long    what check tries at some moments, at many: half an hour; CYCLES="
	@echo "make check-intervals  do the intervals of 1,000 recordings hold the truth? RUNS=, SERIES=, LOAD=, RESULTS="
	@echo "make check-aarch64  unit tests, and some of running programs, in an emulated machine; VM="
	@echo "make check-kernels  the same with Linux 5.10, 6.1 and 6.12 of Debian, Yama and AppArmor; VM=, KERNELS="
	@echo "make check-aarch64-long  more of running programs on aarch64: counts, memory, signals; VM="
	@echo "make accept        the outputs of this build become those that tests expect; TEXT="
	@echo "make lint          the gates alone: layers, warnings, format, docs, linters"
	@echo "make bench         speed and overhead, side by side with other tools"
	@echo "make format        rewrite all C sources in the house style"
	@echo "make install       into DESTDIR=$(DESTDIR) PREFIX=$(PREFIX); also uninstall"
	@echo "make dist          the sources of the last commit, as $(DIST).gz"
	@echo "make deb           a package for Debian, in $(RELEASE); also rpm, arch (for pacman),"
	@echo "                   tarball (one static program); deb-aarch64, rpm-aarch64 and tarball-aarch64 on x86-64, as root;"
	@echo "                   release makes all but that for pacman, and SHA256SUMS"
	@echo "make clean         remove build/"
	@echo "knobs: DEBUG=1 ASAN=1 UBSAN=1 COVERAGE=1 WERROR=1, CC= CPPFLAGS= CFLAGS= LDFLAGS="
	@echo "       STATIC=1: one file that needs no library; without debuginfod"
	@echo "       CROSS_COMPILE=aarch64-linux-gnu- for CC, LD, AR, OBJCOPY; PKG_CONFIG= of that system"
	@echo "       COMMIT= for --version -v, where git cannot tell it"
	@echo "       V=1 shows the commands of the build, make -s nothing but what is wrong"

-include $(SANITIZED:%.c=$(BUILD)/sanitized/%.d)
-include $(LIB_OBJECTS:.o=.d) $(BLOB_SOURCES:%.c=$(BUILD)/%.d) $(CMD_OBJECTS:.o=.d) $(BUILD)/cmd/main.d
-include $(BUILD)/tests/unit/unit.d $(UNIT_PROGRAMS:=.d) $(FUZZ_PROGRAMS:=.d) $(BENCH_PROGRAMS:=.d) $(ORACLE_PROGRAMS:=.d) $(GATE_PROGRAMS:=.d)

endif
