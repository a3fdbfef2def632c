# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# fmd: one non-recursive Makefile. Objects go to build/<variant>/, one archive a layer, programs to build/.
#   make            fmd and fmctl            make check     everything CI runs
#   make demo       a fabric to watch        make bench     side by side with OpenSM
#   make unit       the unit tests alone     make fuzz      every decoder and parser, FUZZ_S= seconds each
# Options: V=1 (commands shown)  SAN=address,undefined  CC=clang  WERROR=1  PREFIX= DESTDIR=

.DEFAULT_GOAL := all
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-5s %s\n' '$(1)' '$(2)')

VERSION := $(shell sed -n 's/^\#\# \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md 2>/dev/null | head -n 1)
VARIANT := $(if $(SAN),$(SAN),release)$(if $(filter clang%,$(CC)),-clang)
B := build/$(VARIANT)
# The plain build's programs are build/fmd and build/fmctl; a sanitizer's stay in its own folder.
BIN := $(if $(filter release,$(VARIANT)),build,$(B))

PKGS := libevent libconfig jansson libsystemd libibumad
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null)

CFLAGS ?= -O3 -g
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter \
	$(if $(WERROR),-Werror)
override CPPFLAGS += -I. -isystem /usr/include/infiniband -D_GNU_SOURCE -DFMD_VERSION='"$(or $(VERSION),0)"' $(PKG_CFLAGS)
override CFLAGS += -std=gnu11 $(WARN) -fno-common $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
override LDFLAGS += $(if $(SAN),-fsanitize=$(SAN))
LIBS := $(PKG_LIBS) -losmcomp -lpthread -lm

# Layers, lowest last on the link line: an upward call does not link.
FM_SRC := $(filter-out fm/main.c fm/control/fmctl%.c,$(wildcard fm/*.c fm/*/*.c))
CTL_SRC := $(wildcard fm/control/fmctl*.c)
LAYERS := fm routing topology
SRC_fm := $(FM_SRC)
SRC_routing := $(wildcard routing/*.c)
SRC_topology := $(wildcard topology/*.c)
ARCHIVES := $(LAYERS:%=$(B)/lib%.a)
obj = $(patsubst %.c,$(B)/%.o,$(1))

UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(B)/tests/%)
# Helpers that several unit tests share: the in-process fabric double and small fixtures.
TESTLIB_SRC := $(wildcard tests/fabric/*.c)
BENCH_SRC := $(wildcard tests/bench/*.c)
BENCH_BIN := $(BENCH_SRC:tests/bench/%.c=$(B)/bench/%)
ALL_SRC := $(SRC_fm) $(SRC_routing) $(SRC_topology) $(CTL_SRC) fm/main.c $(UNIT_SRC) $(TESTLIB_SRC) $(BENCH_SRC)

.PHONY: all unit clean
all: $(BIN)/fmd $(BIN)/fmctl

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

define archive_rule
$(B)/lib$(1).a: $(call obj,$(SRC_$(1)))
	@mkdir -p $$(@D)
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $$^
endef
$(foreach layer,$(LAYERS),$(eval $(call archive_rule,$(layer))))

$(BIN)/fmd: $(call obj,fm/main.c) $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BIN)/fmctl: $(call obj,$(CTL_SRC)) $(B)/librouting.a $(B)/libtopology.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

# A unit test links the archives of the layers it includes from; the linker takes only what is called.
$(B)/tests/%: $(B)/tests/unit/%.o $(call obj,$(TESTLIB_SRC)) $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) -lcmocka

$(B)/bench/%: $(B)/tests/bench/%.o $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

unit: $(UNIT_BIN)
	$(Q)status=0; for t in $(UNIT_BIN); do echo "== $${t##*/}"; $$t || status=1; done; exit $$status

clean:
	rm -rf build

.SECONDARY:
-include $(patsubst %.c,$(B)/%.d,$(ALL_SRC))
