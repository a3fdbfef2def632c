# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# fmd: one non-recursive Makefile. Objects go to build/<variant>/, one archive a layer, programs to build/.
#   make            fmd and fmctl            make quick      the unit tests that a change touches, or FOLDER=fm/sa
#   make demo       a fabric to watch        make check      what CI runs
#   make unit       all unit tests           make check-long kills, chaos, ibsim, packages, the page, fuzzers: what check leaves out
#   make chaos      random faults on ibsim   make check-again  N=20 rounds of check's tests, shuffled, on a machine under load
#   make fuzz       FUZZ_S= seconds each     make bench      side by side with OpenSM (RIG=fmsim, BENCH=section ..)
#   make bench-readme  its results to documents; make bench-long what takes hours
#   make install    DESTDIR= PREFIX=         make deb        a Debian package in build/; make rpm: for RHEL and its like; make release
# Options: RIG=fmsim|ibsim (of the integration tests, default fmsim)  V=1 (commands shown)  SAN=address,undefined  CC=clang  WERROR=1

.DEFAULT_GOAL := all
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-5s %s\n' '$(1)' '$(2)')

# Where there is one, and a home for what it keeps.
CCACHE ?= $(shell [ -w "$${CCACHE_DIR:-$$HOME}" ] && command -v ccache)

# A tag v1.2.3 is the release of that version; any other commit has the version that CHANGELOG begins with.
TAG := $(shell git describe --exact-match --tags --match 'v[0-9]*' 2>/dev/null)
VERSION := $(or $(TAG:v%=%),$(shell sed -n 's/^\#\# \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md 2>/dev/null | head -n 1))
# What was built, where git knows: 0.1.0+3eaab23d1, and .changed behind it where files differ from that commit.
COMMIT := $(shell cat debian/commit 2>/dev/null || git describe --always --abbrev=9 --exclude='*' --dirty=.changed 2>/dev/null)
VARIANT := $(if $(SAN),$(SAN),release)$(if $(filter clang%,$(CC)),-clang)
B := build/$(VARIANT)
# The plain build's programs are build/fmd and build/fmctl; a sanitizer's stay in its own folder.
BIN := $(if $(filter release,$(VARIANT)),build,$(B))

# Of libcurl the headers alone: fmd loads it where exporters are configured (fm/nvswitch/intake_fetch.c).
PKGS := libevent libevent_openssl libssl libcrypto libmicrohttpd zlib libconfig jansson libsystemd libseccomp libibumad sqlite3
PKG_CONFIG ?= pkg-config
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags libcurl $(PKGS) 2>/dev/null)
PKG_LIBS := $(shell $(PKG_CONFIG) --libs $(PKGS) 2>/dev/null)

# A sanitized build is for tests: soon compiled, and ready for a shared object.
CFLAGS ?= $(if $(SAN),-O1 -g1,-O3 -g)
# HARDEN= leaves it out, as sanitizers do. A level of _FORTIFY_SOURCE that is given, by a package's distribution, stands.
HARDEN := $(if $(SAN),,-fstack-protector-strong -fstack-clash-protection \
	$(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2) \
	$(if $(findstring x86_64,$(shell $(CC) -dumpmachine 2>/dev/null)),-fcf-protection))
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter \
	$(if $(WERROR),-Werror)
override CPPFLAGS += -I. -isystem /usr/include/infiniband -D_GNU_SOURCE -DFMD_VERSION='"$(or $(VERSION),0)"' $(PKG_CFLAGS)
override CFLAGS += -std=gnu11 $(WARN) -fno-common $(HARDEN) $(if $(SAN),-fPIC -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
override LDFLAGS += -Wl,-z,relro,-z,now $(if $(SAN),-fsanitize=$(SAN))
# The sanitizer's runtime within the programs, so that ibsim's library may be preloaded.
STATIC_SAN := $(if $(SAN),$(if $(filter clang%,$(CC)),,-static-libasan -static-libubsan))
LIBS := $(PKG_LIBS) -losmcomp -lpthread -ldl -lm

# Layers, lowest last on the link line: an upward call does not link.
FM_SRC := $(filter-out fm/main.c fm/fmctl/%.c,$(wildcard fm/*.c fm/*/*.c))
CTL_SRC := $(wildcard fm/fmctl/*.c)
LAYERS := fm routing topology
SRC_fm := $(FM_SRC)
SRC_routing := $(wildcard routing/*.c routing/*/*.c)
SRC_topology := $(wildcard topology/*/*.c)
ARCHIVES := $(LAYERS:%=$(B)/lib%.a)
obj = $(patsubst %.c,$(B)/%.o,$(1))

# Their folders mirror the sources'; daemon/ has those that need all of it. Names are unique, so programs need no folders.
# Each runs sanitized; where it says "Build: plain", for a sanitizer would spoil what it measures, without;
# where it says "Build: plain and sanitized", both ways; "Build: plain, sanitized in check-long": computes much, and
# others have its code sanitized in `make check`.
# Those that say "Tier: long" are left to `make check-long`.
UNIT_SRC := $(wildcard $(addsuffix test_*.c,tests/unit/ tests/unit/*/ tests/unit/*/*/))
PLAIN_SRC := $(shell grep -l '^/\* Build: plain' $(UNIT_SRC))
SAN_SRC := $(filter-out $(shell grep -l '^/\* Build: plain\.' $(UNIT_SRC)),$(UNIT_SRC))
LATE_SRC := $(shell grep -l '^/\* Build: plain, sanitized in check-long' $(UNIT_SRC))
LONG_SRC := $(shell grep -l '^/\* Tier: long' $(UNIT_SRC))
unit_bin = $(patsubst %.c,$(B)/tests/%,$(notdir $(1)))
# What they share: fixtures, and the in-process fabric double. What defines the daemon's own names is linked
# into those alone that include it, ahead of the library, and so goes before it.
FAKES := fake_pipe fake_fetch links_out_room faults_room control_fabric control_world fake_umad nvlink_world
FAKE_SRC := $(FAKES:%=tests/lib/%.c)
users = $(shell grep -lE '"tests/lib/($(1))\.h"' $(UNIT_SRC))
USERS_fake_pipe := $(call users,fake_pipe|(links_out|faults)_room)
USERS_fake_fetch := $(call users,fake_fetch|nvlink_world)
USERS_control_fabric := $(call users,control_(fabric|world))
$(foreach fake,$(filter-out fake_pipe fake_fetch control_fabric,$(FAKES)),$(eval USERS_$(fake) := $(call users,$(fake))))
fakes = $(foreach fake,$(FAKES),$(if $(filter $(1),$(USERS_$(fake))),tests/lib/$(fake).c))
FIXTURE_SRC := $(filter-out $(FAKE_SRC),$(wildcard tests/lib/*.c))
FIXTURES := $(B)/libfixtures.a
TESTLIB_SRC := $(wildcard tests/fabric/*.c)
# fmsim: the double as a program, and the library to preload that stands in for libibumad (umad*.c). Unit tests take the former.
SIM_UMAD_SRC := $(wildcard tests/sim/umad*.c)
SIM_SRC := $(filter-out $(SIM_UMAD_SRC) tests/sim/main.c,$(wildcard tests/sim/*.c))
DOUBLE_SRC := $(filter-out tests/fabric/double_world.c,$(wildcard tests/fabric/double*.c)) tests/fabric/mixture.c tests/fabric/plain_judge.c
TESTLIB_SRC += $(SIM_SRC)
TESTLIB := $(B)/libfmd-test.so
SIM := $(BIN)/fmsim $(BIN)/libfmsim-umad.so
# tests/bench/count_*.c and hostile_umad.c are libraries to preload; run.py and hostile.py build them.
COUNT_SRC := $(wildcard tests/bench/count_*.c tests/bench/hostile_*.c)
# tests/bench/sim_port*.c belong to all programs there.
BENCH_LIB_SRC := $(wildcard tests/bench/sim_port*.c)
BENCH_SRC := $(filter-out $(COUNT_SRC) $(BENCH_LIB_SRC),$(wildcard tests/bench/*.c))
BENCH_BIN := $(BENCH_SRC:tests/bench/%.c=$(B)/bench/%)
ALL_SRC := $(SRC_fm) $(SRC_routing) $(SRC_topology) $(CTL_SRC) fm/main.c $(UNIT_SRC) $(FIXTURE_SRC) $(FAKE_SRC) $(TESTLIB_SRC) $(BENCH_SRC) $(BENCH_LIB_SRC) \
	tests/sim/main.c $(SIM_UMAD_SRC)

FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)

# A make within this one uses both cores unless -j says otherwise; its folder stays beside B where one was asked for.
submake = +$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))
beside = $(if $(filter command,$(firstword $(origin B))),$(B)-$(1),build/$(1))

.PHONY: all unit unit-build quick deps deps-long deps-release promtool check check-now check-start check-long check-long-now check-again check-again-now syntax
.PHONY: integration integration-now chaos chaos-now demo demo-now bench bench-now bench-long bench-long-now bench-readme bench-pair bench-pair-now
.PHONY: format format-check check-layers check-names fuzz fuzz-now fuzz-all install deb rpm release release-check clean FORCE
all: $(BIN)/fmd $(BIN)/fmctl $(BIN)/import-opensm $(BIN)/import-state $(BIN)/bundle $(SIM)

# What fmctl runs, and its table, and what fmd runs stand beside the programs.
$(BIN)/import-opensm: etc/import-opensm etc/opensm-options.tsv
	@mkdir -p $(@D)
	$(Q)install -m 644 etc/opensm-options.tsv $(@D)/opensm-options.tsv && install -m 755 $< $@
$(BIN)/bundle: etc/bundle
	@mkdir -p $(@D)
	$(Q)install -m 755 $< $@
$(BIN)/import-state $(B)/tests/import-state: etc/import-state
	@mkdir -p $(@D)
	$(Q)install -m 755 $< $@

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CCACHE) $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Only what prints the version is compiled again for another commit, and nothing that is sanitized.
ifeq ($(SAN),)
VERSIONED := $(call obj,fm/main.c fm/fabric/fabric.c fm/http/metrics.c fm/fmctl/fmctl.c tests/sim/main.c)
$(VERSIONED): $(B)/commit
$(VERSIONED): override CPPFLAGS += -UFMD_VERSION -DFMD_VERSION='"$(or $(VERSION),0)$(COMMIT:%=+%)"'
$(B)/commit: FORCE
	@mkdir -p $(@D)
	@echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' >$@
endif

# The page is one document, made of its parts. Commas of a sanitizer's folder would end an argument of -Wa.
$(B)/fm/http/page.html: $(wildcard fm/http/page/*)
	@mkdir -p $(@D)
	$(call say,JOIN,$@)
	$(Q)awk -f fm/http/page/join.awk fm/http/page/index.html >$@.new && mv $@.new $@
$(B)/fm/http/page.o: $(B)/fm/http/page.html
$(B)/fm/http/page.o: override CPPFLAGS += -Xassembler -I -Xassembler $(B)/fm/http

define archive_rule
$(B)/lib$(1).a: $(call obj,$(SRC_$(1)))
	@mkdir -p $$(@D)
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $$(AR) rcsT $$@ $$^
endef
SRC_fixtures := $(FIXTURE_SRC)
$(foreach archive,$(LAYERS) fixtures,$(eval $(call archive_rule,$(archive))))

$(BIN)/fmd: $(call obj,fm/main.c) $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $(STATIC_SAN) -o $@ $^ $(LIBS)

# Of libfm it takes the configuration and what is made of it, no more.
$(BIN)/fmctl: $(call obj,$(CTL_SRC)) $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $(STATIC_SAN) -o $@ $^ $(LIBS)

$(BIN)/fmsim: $(call obj,tests/sim/main.c $(SIM_SRC) $(DOUBLE_SRC)) $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $(STATIC_SAN) -o $@ $^ $(LIBS)

# What error numbers mean lies within the program.
$(B)/fm/nvswitch/evidence_sxid.o: etc/nvlink/catalogue.tsv

# It goes into other people's programs: no sanitizer, no more names than libibumad's and open's.
$(B)/pic/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CCACHE) $(CC) $(CPPFLAGS) $(filter-out -fsanitize% -fno-sanitize%,$(CFLAGS)) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<
$(BIN)/libfmsim-umad.so: $(SIM_UMAD_SRC:%.c=$(B)/pic/%.o)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -shared $(filter-out -fsanitize=%,$(LDFLAGS)) -o $@ $^ -lpthread

# All that unit tests share, sanitized, is one library: what is edited is linked once. Its names give way to a program's.
# Plain ones are few and linked as fmd is.
$(TESTLIB): $(call obj,$(foreach layer,$(LAYERS),$(SRC_$(layer))) $(FIXTURE_SRC) $(TESTLIB_SRC))
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -shared $(LDFLAGS) -o $@ $^ $(LIBS) -lcmocka

UNIT_LINK := $(if $(SAN),| $(TESTLIB),$(call obj,$(TESTLIB_SRC)) $(FIXTURES) $(ARCHIVES))
# Several times as fast as the usual linker, of which there are nearly 300 runs.
GOLD := $(if $(shell command -v ld.gold),-fuse-ld=gold)
# In a plain program, too, its own names come before the daemon's.
OWN_FIRST := -Wl,-z,muldefs
WITH_TESTLIB = -L$(B) -lfmd-test -Wl,-rpath,'$$ORIGIN/..' $(GOLD)
define unit_rule
$(call unit_bin,$(1)): $(call obj,$(1) $(call fakes,$(1))) $(UNIT_LINK)
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(LDFLAGS) -o $$@ $$^ $$(LIBS) -lcmocka $$(if $$(SAN),$$(WITH_TESTLIB),$$(OWN_FIRST) $(GOLD))
endef
$(foreach test,$(UNIT_SRC),$(eval $(call unit_rule,$(test))))

comma := ,
# It turns mechanisms of the product off.
$(B)/bench/detours: $(call obj,tests/fabric/damage.c)
$(B)/bench/detours: LDFLAGS += $(addprefix -Wl$(comma)--wrap=,pivots_find detour_fill detour_search_tables burden_measure)
# The whole manager on the double.
$(B)/bench/hardening: $(call obj,$(TESTLIB_SRC))
$(B)/bench/hardening: LIBS += -lcmocka
$(B)/bench/%: $(B)/tests/bench/%.o $(call obj,$(BENCH_LIB_SRC)) $(FIXTURES) $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $(STATIC_SAN) -o $@ $^ $(LIBS)

# ---- Checks -------------------------------------------------------------------------------------------
# What needs packages asks for them first; the work is a second make, because this one asked pkg-config already.
deps:
	$(Q)etc/install-packages etc/packages.txt

# promtool judges /metrics, prometheus asks what the dashboard asks; their package would start a service, so these files are all that is taken of it.
promtool: deps
	$(Q)etc/unpack-tool prometheus build/tools usr/bin/promtool usr/bin/prometheus

# What check-long and what a release need besides.
deps-long deps-release: deps-%: deps
	$(Q)etc/install-packages etc/packages-$*.txt

check check-long check-again integration: promtool
check check-again chaos demo bench bench-long bench-pair fuzz: deps
check-long integration: deps-long deps-release
check check-long check-again integration chaos demo bench bench-long bench-pair fuzz:
	$(Q)$(submake) $@-now

# What programs under test are told; the suppressions are for ibsim's library in a sanitized fmd.
TEST_ENV := $(if $(RIG),RIG=$(RIG)) FMD_BIN=$(abspath $(BIN)) TIMES=build/times \
	ASAN_OPTIONS=quarantine_size_mb=16$(if $(SAN),:suppressions=$(abspath tests/sanitizers.supp))

# Of each phase the seconds are noted, and told with the sums.
phase = +$(Q)PHASES=build/phases tests/phase '$(1)' $(MAKE) --no-print-directory WERROR=1
SANITIZERS := address,undefined
TEST_SAN := $(or $(SAN),$(SANITIZERS))
SAN_B = $(call beside,$(TEST_SAN))
PLAIN_B = $(call beside,release)
TEST_LONG := $(filter $(LONG_SRC),$(UNIT_SRC))
TEST_SHORT := $(filter-out $(LONG_SRC),$(UNIT_SRC))
plain_programs = $(patsubst %.c,$(PLAIN_B)/tests/%,$(notdir $(filter $(PLAIN_SRC),$(1))))
san_programs = $(patsubst %.c,$(SAN_B)/tests/%,$(notdir $(filter $(SAN_SRC),$(1))))
unit_programs = $(call plain_programs,$(1)) $(call san_programs,$(1))

check_programs = $(call plain_programs,$(1)) $(call san_programs,$(filter-out $(LATE_SRC),$(1)))

# The programs of the tests named in TESTS, each as it is run.
TESTS ?= $(UNIT_SRC)
PROGRAMS ?= $(call unit_programs,$(TESTS))
plain_asked = $(filter $(PLAIN_B)/%,$(PROGRAMS))
san_asked = $(filter $(SAN_B)/%,$(PROGRAMS))
unit-build:
	$(if $(plain_asked),$(Q)$(submake) -s SAN= B=$(PLAIN_B) $(plain_asked))
	$(if $(san_asked),$(Q)$(submake) -s SAN=$(TEST_SAN) B=$(SAN_B) $(san_asked) $(SAN_B)/tests/import-state)
unit: unit-build
	$(Q)$(TEST_ENV) tests/run-tests $(PROGRAMS)

# The unit tests that a change touches: by the compiler's dependency files, or those of FOLDER.
QUICK_S ?= 40
quick:
	+$(Q)tests="$$(tests/touched $(SAN_B) build/times $(QUICK_S) $(FOLDER))" && $(MAKE) --no-print-directory -j$(shell nproc) unit TESTS="$$tests"

# gcc builds it all, clang reads the product; each test runs once.
check-start:
	$(Q)mkdir -p build && rm -f build/phases
check-now: check-start
	$(call phase,format and layers) format-check check-layers check-names
	$(call phase,programs) all $(BENCH_BIN)
	$(Q)tests/check-calls $(B)
	$(call phase,unit tests built) unit-build PROGRAMS="$(call check_programs,$(UNIT_SRC))"
	$(call phase,clang) CC=clang SAN= B=$(call beside,clang) syntax
	$(Q)PHASES=build/phases $(TEST_ENV) tests/run-tests $(call check_programs,$(TEST_SHORT)) tests/integration

# What check leaves out: long tests, those that say why they run on ibsim too (pytest's marker on_ibsim), each fuzzer; and
# sanitized, with LONG=1, what check has plain.
check-long-now: check-start
	$(call phase,programs) all
	$(call phase,unit tests built) unit-build
	$(call phase,fuzzers) FUZZ_S=$(if $(filter file,$(origin FUZZ_S)),20,$(FUZZ_S)) fuzz-now
	$(Q)PHASES=build/phases $(TEST_ENV) LONG=1 tests/run-tests $(sort $(call unit_programs,$(TEST_LONG)) $(call san_programs,$(PLAIN_SRC))) long:tests/integration on_ibsim:tests/integration

# N rounds of check's tests, noted in AGAIN_LOG with the tree they were of; what is there already counts.
N ?= 20
AGAIN_LOG ?= again.log
check-again-now: all
	$(Q)$(submake) unit-build
	$(Q)$(TEST_ENV) tests/again --rounds $(N) --log $(AGAIN_LOG) $(call check_programs,$(TEST_SHORT)) tests/integration

SYNTAX := $(patsubst %.c,$(B)/%.syntax,$(foreach layer,$(LAYERS),$(SRC_$(layer))) $(CTL_SRC) fm/main.c $(SIM_SRC) $(DOUBLE_SRC) $(SIM_UMAD_SRC) tests/sim/main.c)
# A cache knows what was compiled, not what was only read.
SYNTAX_ONLY = $(if $(CCACHE),-O0 -g0 -U_FORTIFY_SOURCE -fno-integrated-as -S -o $(@:.syntax=.s),-fsyntax-only)
syntax: $(SYNTAX)
$(B)/%.syntax: %.c
	@mkdir -p $(@D)
	$(call say,CHECK,$<)
	$(Q)$(CCACHE) $(CC) $(CPPFLAGS) $(CFLAGS) $(SYNTAX_ONLY) -MMD -MP -MF $@.d -MT $@ $< && touch $@

# All of them, the long ones too, on one rig; `make check` has fmsim, and of ibsim those that say why (pytest's marker on_ibsim).
integration-now: all
	$(Q)$(TEST_ENV) LONG=1 tests/run-tests tests/integration

# Random faults and repairs on ibsim, longer than `make check` takes them: CHAOS_STEPS, CHAOS_SEED.
CHAOS_STEPS ?= 200
chaos-now: all
	$(Q)CHAOS_STEPS=$(CHAOS_STEPS) $(TEST_ENV) pytest-3 -q -p no:cacheprovider tests/integration/test_chaos.py

demo-now: all
	$(Q)$(TEST_ENV) tests/demo/demo

bench-now: all $(BENCH_BIN)
	$(Q)$(TEST_ENV) tests/bench/run.py --programs $(B)/bench
bench-long-now: all $(BENCH_BIN)
	$(Q)$(TEST_ENV) tests/bench/run.py --long --programs $(B)/bench
# The tables of fmd-performance(7) and README from the last whole `make bench` on each rig, and from tests/bench/long.json.
bench-readme:
	$(Q)tests/bench/readme.py README.md etc/fmd-performance.7 build/bench-ibsim.json build/bench-fmsim.json tests/bench/long.json

# make bench-pair OLD=folder with another build's fmd and fmctl BENCH="sa mcast"
bench-pair-now: all $(BENCH_BIN)
	$(Q)$(TEST_ENV) tests/bench/pair.py --old $(OLD) --programs $(B)/bench

SOURCES_ALL = $(wildcard topology/*/*.[ch] routing/*.[ch] routing/*/*.[ch] fm/*.[ch] fm/*/*.[ch] tests/*/*.[ch] tests/unit/*/*.[ch] tests/unit/*/*/*.[ch])
format:
	$(Q)clang-format -i $(SOURCES_ALL)
# Versions of clang-format differ in details: the one that formats this tree judges it.
FORMATTER := 14
format-check:
	$(Q)if clang-format --version | grep -q 'version $(FORMATTER)\.'; then printf '%s\n' $(SOURCES_ALL) | xargs -P $(shell nproc) -n 50 clang-format --dry-run -Werror; \
		else echo "format: not judged: $$(clang-format --version) here, the tree's is $(FORMATTER)"; fi
check-layers:
	$(Q)tests/check-layers .
	$(Q)tests/check-sizes .
	$(Q)tests/check-headers .
check-names:
	$(Q)tests/check-names .

# ---- Fuzzing: one libFuzzer program a decoder or parser, seeds in tests/fuzz/seeds/<name>/ ---------------
FUZZ_S ?= 60
FUZZ_SAN := address,undefined
FUZZ_RUN := $(FUZZ_SRC:tests/fuzz/fuzz_%.c=fuzz-run-%)
fuzz-now:
	$(Q)$(submake) CC=clang SAN=fuzzer-no-link,$(FUZZ_SAN) B=$(call beside,fuzz) fuzz-all
fuzz-all: $(FUZZ_RUN)
fuzz-run-%: $(B)/fuzz/%
	@mkdir -p $(B)/corpus/$* $(B)/found
	$(Q)echo "== $* ($(FUZZ_S) s)"
	$(Q)$< -max_total_time=$(FUZZ_S) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix=$(B)/found/$*- $(B)/corpus/$* $(wildcard tests/fuzz/seeds/$*) \
		>$(B)/$*.log 2>&1 || { tail -n 40 $(B)/$*.log; exit 1; }
	$(Q)grep -E 'number_of_executed_units|Done' $(B)/$*.log
$(B)/fuzz/%: $(B)/tests/fuzz/fuzz_%.o $(FIXTURES) $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -fsanitize=fuzzer,$(FUZZ_SAN) $(FUZZ_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS) $(FUZZ_LIBS)
# The fake fabric stands before the archives: its names are the first of two.
$(B)/fuzz/control: $(call obj,tests/lib/control_fabric.c)
$(B)/fuzz/control: FUZZ_LDFLAGS := $(OWN_FIRST)
# What only tests encode.
$(B)/fuzz/wire: $(call obj,tests/fabric/double_answers.c)
# The whole manager; in mirror with a room of its own, whose channels have no TLS.
$(B)/fuzz/fabric $(B)/fuzz/mirror: $(call obj,$(TESTLIB_SRC))
$(B)/fuzz/fabric $(B)/fuzz/mirror: FUZZ_LIBS := -lcmocka
$(B)/fuzz/mirror: FUZZ_LDFLAGS := $(OWN_FIRST)

# ---- Installation ------------------------------------------------------------------------------------
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
UNITDIR ?= $(if $(filter /usr,$(PREFIX)),/lib/systemd/system,$(PREFIX)/lib/systemd/system)
UDEVDIR ?= $(if $(filter /usr,$(PREFIX)),/lib/udev,$(SYSCONFDIR)/udev)
SYSUSERSDIR ?= $(if $(filter /usr,$(PREFIX)),/usr/lib/sysusers.d,$(SYSCONFDIR)/sysusers.d)
TMPFILESDIR ?= $(if $(filter /usr,$(PREFIX)),/usr/lib/tmpfiles.d,$(SYSCONFDIR)/tmpfiles.d)
# fmd@NAME.service: the same with a configuration, state and control socket of its own, so that a node may manage several fabrics.
INSTANCE = -e 's|^Description=.*|& %i|; s|/fmd\.conf|/%i.conf|; s,^((State|Runtime)Directory=).*,\1fmd-%i,; s|-(%[St])/fmd|-\1/fmd-%i|g' \
	-e 's|^\[Service\]|&\nEnvironment=FMD_SOCKET=%t/fmd-%i/fmd.sock|'
put = install -D -m $(1) $(2) $(DESTDIR)$(3)
install: all
	$(call put,755,$(BIN)/fmd,$(PREFIX)/sbin/fmd)
	$(call put,755,$(BIN)/fmctl,$(PREFIX)/bin/fmctl)
	$(call put,755,etc/import-opensm,$(PREFIX)/lib/fmd/import-opensm)
	$(call put,755,etc/import-state,$(PREFIX)/lib/fmd/import-state)
	$(call put,755,etc/bundle,$(PREFIX)/lib/fmd/bundle)
	$(call put,644,etc/opensm-options.tsv,$(PREFIX)/lib/fmd/opensm-options.tsv)
	$(call put,644,etc/fmd.8,$(PREFIX)/share/man/man8/fmd.8)
	mkdir -p $(B)
	awk -f etc/conf-page.awk etc/fmd.conf >$(B)/fmd.conf.5
	$(call put,644,$(B)/fmd.conf.5,$(PREFIX)/share/man/man5/fmd.conf.5)
	$(call put,644,etc/fmd-events.7,$(PREFIX)/share/man/man7/fmd-events.7)
	$(call put,644,etc/fmd-metrics.7,$(PREFIX)/share/man/man7/fmd-metrics.7)
	$(call put,644,etc/fmd-json.7,$(PREFIX)/share/man/man7/fmd-json.7)
	etc/openapi $(VERSION) >$(B)/openapi.json
	$(call put,644,$(B)/openapi.json,$(PREFIX)/share/doc/fmd/openapi.json)
	$(foreach page,adaptive ha performance registers security troubleshooting tutorial,$(call put,644,etc/fmd-$(page).7,$(PREFIX)/share/man/man7/fmd-$(page).7);) true
	$(call put,644,etc/fmctl.1,$(PREFIX)/share/man/man1/fmctl.1)
	$(call put,644,etc/fmd-migration.7,$(PREFIX)/share/man/man7/fmd-migration.7)
	$(call put,644,etc/completion/fmctl,$(PREFIX)/share/bash-completion/completions/fmctl)
	$(call put,755,$(BIN)/fmsim,$(PREFIX)/bin/fmsim)
	$(call put,755,$(BIN)/libfmsim-umad.so,$(PREFIX)/lib/fmd/libfmsim-umad.so)
	$(call put,644,etc/fmsim.1,$(PREFIX)/share/man/man1/fmsim.1)
	$(call put,644,etc/partitions.conf.example,$(SYSCONFDIR)/fmd/partitions.conf.example)
	$(call put,644,etc/nvlink/catalogue.tsv,$(PREFIX)/share/doc/fmd/nvlink/catalogue.tsv)
	$(foreach list,$(wildcard etc/dcgm/*.csv),$(call put,644,$(list),$(PREFIX)/share/doc/fmd/dcgm/$(notdir $(list)));) true
	$(foreach file,$(wildcard etc/prometheus/*.yml) etc/grafana/fmd.json,$(call put,644,$(file),$(PREFIX)/share/doc/fmd/$(patsubst etc/%,%,$(file)));) true
	$(call put,755,etc/hooks/slurm-drain,$(PREFIX)/share/doc/fmd/hooks/slurm-drain)
	sed 's|@sbindir@|$(PREFIX)/sbin|; s|@bindir@|$(PREFIX)/bin|; s|@sysconfdir@|$(SYSCONFDIR)|' etc/fmd.service >$(B)/fmd.service
	$(call put,644,$(B)/fmd.service,$(UNITDIR)/fmd.service)
	sed -E $(INSTANCE) $(B)/fmd.service >$(B)/fmd@.service
	$(call put,644,$(B)/fmd@.service,$(UNITDIR)/fmd@.service)
	$(call put,644,etc/fmd.udev,$(UDEVDIR)/rules.d/60-fmd.rules)
	$(call put,644,etc/fmd.sysusers,$(SYSUSERSDIR)/fmd.conf)
	$(call put,644,etc/fmd.tmpfiles,$(TMPFILESDIR)/fmd.conf)
	test -e $(DESTDIR)$(SYSCONFDIR)/fmd/fmd.conf || $(call put,640,etc/fmd.conf,$(SYSCONFDIR)/fmd/fmd.conf)
	$(call put,755,etc/packaging/setup,$(PREFIX)/lib/fmd/setup)
	test -n "$(DESTDIR)" -o "$$(id -u)" != 0 || etc/packaging/setup $(SYSUSERSDIR)/fmd.conf $(TMPFILESDIR)/fmd.conf

# A package's programs are built on their own, with the flags of its distribution; a folder that was asked for has them already.
packaged = $(submake:+%=%) $(if $(filter command,$(firstword $(origin BIN))),,B=build/packaged BIN=build/packaged)
# A source package of what git knows here, with etc/debian as its debian/, and what it builds: DEB_OPTIONS are dpkg-buildpackage's.
DEB_OUT ?= $(CURDIR)/build
DEB_TREE = $(DEB_OUT)/deb/fmd-$(VERSION)
deb: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
deb: deps-release
	$(Q)rm -rf $(DEB_OUT)/deb && mkdir -p $(DEB_TREE)
	$(Q)git ls-files -z | xargs -0 sh -c 'for file; do [ ! -e "$$file" ] || echo "$$file"; done' sh | tar -cf - -T - | tar -xf - -C $(DEB_TREE)
	$(Q)cp -r etc/debian $(DEB_TREE)/debian && echo '$(COMMIT)' >$(DEB_TREE)/debian/commit
	$(Q)sed "s/@version@/$(VERSION)/; s/@date@/$$(LC_ALL=C date -R -u -d @$$SOURCE_DATE_EPOCH)/" etc/debian/changelog >$(DEB_TREE)/debian/changelog
	$(Q)cd $(DEB_TREE) && env -u MAKEFLAGS -u MAKELEVEL -u B -u BIN dpkg-buildpackage -us -uc $(DEB_OPTIONS)
	$(Q)find $(DEB_OUT)/deb -maxdepth 1 -name 'fmd*_*' -exec cp -t $(DEB_OUT) {} +

# Without the dependencies being asked for: Debian's rpmbuild knows none of its packages. The names are those of RHEL and its like.
# For another machine: CC=aarch64-linux-gnu-gcc RPM_OPTIONS="--target aarch64 --define 'fmd_strip aarch64-linux-gnu-strip'"
RPM_OUT ?= $(CURDIR)/build
rpm:
	$(Q)+rpmbuild -bb --nodeps --quiet $(RPM_OPTIONS) --define "_topdir $(RPM_OUT)/rpm" --define "fmd_source $(CURDIR)" --define "fmd_version $(or $(VERSION),0)" --define "fmd_make $(packaged)" etc/packaging/fmd.spec
	$(Q)cp $(RPM_OUT)/rpm/RPMS/*/fmd-*.rpm $(RPM_OUT)/

# What a release consists of, in build/: of a tagged commit whose CHANGELOG has the day, and of nothing that was not committed.
refuse_release = { echo "release: $(1)" >&2; exit 1; }
release-check:
	$(Q)[ '$(TAG)' ] || $(call refuse_release,no tag is here: git tag -a v$(VERSION))
	$(Q)[ -z "$$(git status --porcelain)" ] || $(call refuse_release,files are not committed)
	$(Q)head -n 3 CHANGELOG.md | grep -qx '## $(VERSION) ([0-9]*-[0-9]*-[0-9]*)' || $(call refuse_release,CHANGELOG.md does not begin with $(VERSION) and its day: ## $(VERSION) (2026-12-31))
release: release-check
	$(submake) deb rpm
	$(Q)cd build && sha256sum fmd_$(VERSION)* fmd-dbgsym_$(VERSION)* fmd-$(VERSION)-*.rpm >SHA256SUMS && cat SHA256SUMS

clean:
	rm -rf build

.SECONDARY:
-include $(patsubst %.c,$(B)/%.d,$(ALL_SRC) $(FUZZ_SRC)) $(SIM_UMAD_SRC:%.c=$(B)/pic/%.d) $(SYNTAX:=.d)
