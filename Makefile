# SPDX-License-Identifier: GPL-2.0-or-later
# profc: build, test, install. `make help` lists the targets.

VERSION := 0.1.0
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= gcc
PKG_CONFIG ?= pkg-config

ROOMS := $(sort $(notdir $(patsubst %/,%,$(dir $(wildcard lib/*/*.c)))))
LIB_SOURCES := $(sort $(wildcard lib/*/*.c))
CMD_SOURCES := $(sort $(wildcard cmd/*.c))
UNIT_SOURCES := $(sort $(wildcard tests/unit/test_*.c))

PACKAGES := libunwind-ptrace libunwind-generic libdw libelf libzstd zlib
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null)
PKG_LIBS := $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null) -liberty -lm -lpthread

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wundef -Wvla -Wformat=2 -Wpointer-arith -Wcast-qual \
	-Wwrite-strings -Wconversion -Wno-sign-conversion -Wimplicit-fallthrough \
	-Wnull-dereference -Wredundant-decls
CPPFLAGS += -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 -Ilib -I. -DPROFC_VERSION='"$(VERSION)"' $(PKG_CFLAGS)
CFLAGS ?= -O2 -g
PROFC_CFLAGS := -std=gnu11 $(WARNINGS) -fno-common -fno-omit-frame-pointer -fstack-protector-strong

LIB_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/%.o)
CMD_OBJECTS := $(filter-out $(BUILD)/cmd/main.o,$(CMD_SOURCES:%.c=$(BUILD)/%.o))
UNIT_PROGRAMS := $(UNIT_SOURCES:%.c=$(BUILD)/%)

.PHONY: all clean check-unit
all: $(BUILD)/libprofc.a $(if $(CMD_SOURCES),$(BUILD)/profc)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(PROFC_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/libprofc.a: $(LIB_OBJECTS)
	@rm -f $@
	ar rcs $@ $^

# Everything of cmd/ but main(), so that unit tests can link it.
$(BUILD)/libcmd.a: $(CMD_OBJECTS)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/profc: $(BUILD)/cmd/main.o $(BUILD)/libcmd.a $(BUILD)/libprofc.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/libcmd.a $(BUILD)/libprofc.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(PROFC_CFLAGS) $(CFLAGS) -MMD -MP -o $@ $< $(BUILD)/libcmd.a $(BUILD)/libprofc.a $(PKG_LIBS) -lcmocka

check-unit: $(UNIT_PROGRAMS)
	@for t in $^; do CMOCKA_MESSAGE_OUTPUT=TAP $$t || exit 1; done

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
