/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Syslog headers and framing, and what the kernel's lines about NVSwitches mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/nvswitch/evidence.h"
#include "fm/nvswitch/intake_sources.h"

/* ---- Headers --------------------------------------------------------------------------------- */

static void every_header_form_gives_host_and_text(void **state)
{
	static const char *const lines[] = {
		"<3>Nov 21 01:02:03 dgx-01.x kernel: TEXT",
		"<3>Nov  1 01:02:03 dgx-01.x kernel: TEXT",
		"<3>2024-07-23T07:53:55.123456+00:00 dgx-01.x kernel: TEXT",
		"<3>1 2024-07-23T07:53:55Z dgx-01.x kernel - - - kernel: TEXT",
		"<191>1 - dgx-01.x kernel 12 ID [a@1 b=\"]\\\"x\"][c] kernel: TEXT",
		"<3>dgx-01.x kernel: TEXT",
		"<3>Nov 21 01:02:03 s_sys@dgx-01.x kernel: TEXT",
		"<3>s_sys@dgx-01.x kernel: TEXT",
	};

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct syslog_message m;

		if (!syslog_read(lines[i], strlen(lines[i]), &m))
			fail_msg("not read: %s", lines[i]);
		assert_string_equal(m.host, "dgx-01.x");
		assert_int_equal(m.len, strlen("kernel: TEXT"));
		assert_memory_equal(m.text, "kernel: TEXT", m.len);
	}
}

static void a_header_without_a_host_leaves_it_to_the_sender(void **state)
{
	static const char *const lines[] = {
		"<3>kernel: TEXT",
		"<3>Nov 21 01:02:03 kernel: TEXT",
		"<3>2024-07-23T07:53:55Z kernel: TEXT",
		"<3>1 2024-07-23T07:53:55Z - kernel - - - kernel: TEXT",
	};

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct syslog_message m;

		if (!syslog_read(lines[i], strlen(lines[i]), &m))
			fail_msg("not read: %s", lines[i]);
		assert_string_equal(m.host, "");
		assert_int_equal(m.len, strlen("kernel: TEXT"));
		assert_memory_equal(m.text, "kernel: TEXT", m.len);
	}
}

static void chains_of_relays_stand_as_they_are(void **state)
{
	static const char line[] = "<3>Nov 21 01:02:03 s_sys@dgx-01.x/relay-1 kernel: TEXT";
	struct syslog_message m;

	assert_true(syslog_read(line, strlen(line), &m));
	assert_string_equal(m.host, "dgx-01.x/relay-1");
}

static void what_has_no_header_is_refused(void **state)
{
	static const char *const lines[] = {
		"",
		"<",
		"<3",
		"<>Nov 21 01:02:03 h k: t",
		"<3333>Nov 21 01:02:03 h k: t",
		"hello",
		"<3>hello",
		"<3>Nov 21 01:02:03",
		"<3>Nov 21 01:02:03 ",
		"<3>Nov 21 01-02-03 h k: t",
		"<3>1 2024-07-23T07:53:55Z",
		"<3>1 2024-07-23T07:53:55Z h a b",
		"<3>dgx-01 hello there",
		"<3>dgx;01 kernel: t",
		"<3>1 - h a b c [x t",
		"<3>Nov 21 01:02:03 a;rm\x01 k: t",
		"<3>1 ",
	};

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct syslog_message m;

		if (syslog_read(lines[i], strlen(lines[i]), &m))
			fail_msg("read: %s", lines[i]);
	}
}

static void a_host_name_beyond_all_bounds_is_refused(void **state)
{
	struct syslog_message m;
	char line[256];

	for (int len = SYSLOG_HOST - 2; len < SYSLOG_HOST + 2; len++) {
		int used = snprintf(line, sizeof(line), "<3>Nov 21 01:02:03 %0*d k: t", len, 7);

		assert_int_equal(syslog_read(line, (size_t)used, &m), len < SYSLOG_HOST);
	}
}

/* ---- Framing --------------------------------------------------------------------------------- */

struct lines {
	unsigned count;
	size_t longest;
	char all[8192];
};

static void line_cb(void *arg, bool known, const struct syslog_message *m)
{
	struct lines *l = arg;

	assert_true(known);
	l->count++;
	l->longest = m->len > l->longest ? m->len : l->longest;
	snprintf(l->all + strlen(l->all), sizeof(l->all) - strlen(l->all), "%.*s|", (int)m->len,
		 m->text);
}

static struct lines frame(const char *data, size_t len, size_t piece)
{
	struct log_stream *s = calloc(1, sizeof(*s));
	struct lines l = { 0 };

	for (size_t at = 0; at < len; at += piece)
		log_stream_feed(s, data + at, len - at < piece ? len - at : piece, line_cb, &l);
	log_stream_end(s, line_cb, &l);
	free(s);
	return l;
}

static void lines_come_out_whole_in_pieces_of_any_size(void **state)
{
	static const char data[] = "<3>k: one\n<3>k: two\n\n<4>k: three\n<3>k: fi";

	for (size_t piece = 1; piece < sizeof(data); piece++) {
		struct lines l = frame(data, sizeof(data) - 1, piece);

		assert_string_equal(l.all, "k: one|k: two|k: three|k: fi|");
	}
}

static void a_message_without_end_keeps_its_head_only(void **state)
{
	size_t len = 10 << 20;
	char *data = malloc(len);
	struct lines l;

	memset(data, 'x', len);
	memcpy(data, "<3>k: ", 6);
	memcpy(data + len - 12, "\n<3>k: next\n", 12);
	l = frame(data, len, 65536);
	assert_int_equal(l.count, 2);
	assert_int_equal(l.longest, SYSLOG_LINE - 3);
	assert_non_null(strstr(l.all, "|k: next|"));
	free(data);
}

/* ---- Meaning --------------------------------------------------------------------------------- */

static const struct {
	const char *text;
	enum nvswitch_state state;
	unsigned code;
	int sw, link;
	bool nonfatal;
} log_lines[] = {
	{ "kernel: [131453.740743] nvidia-nvswitch0: SXid (PCI:0000:00:00.0): 20034, "
	  "Fatal, Link 30 LTSSM Fault Up",
	  NVSWITCH_NO_P2P, 20034, 0, 30, false },
	{ "nvidia-nvswitch2: SXid (PCI:0000:85:00.0): 12028, Non-fatal, Link 61 egress "
	  "non-posted PRIV error (First)",
	  NVSWITCH_HEALTHY, 12028, 2, 61, true },
	{ "nvidia-nvswitch2: SXid (PCI:0000:85:00.0): 23005, Non-fatal, Link 61 x",
	  NVSWITCH_HEALTHY, 23005, 2, 61, true },
	{ "nvidia-nvswitch2: SXid (PCI:0000:85:00.0): 12028, Fatal, Link 61 x", NVSWITCH_NO_P2P,
	  12028, 2, 61, false },
	{ "nvidia-nvswitch1: SXid (PCI:0000:85:00.0): 22003, Fatal, MINION HALT, "
	  "instance=1, chiplet=0",
	  NVSWITCH_FATAL, 22003, 1, -1, false },
	{ "nvidia-nvswitch1: SXid (PCI:0000:85:00.0): 10003, Fatal, unhandled interrupt in",
	  NVSWITCH_FATAL, 10003, 1, -1, false },
	{ "nvidia-nvswitch1: SXid (PCI:0000:85:00.0): 10004, overtemperature", NVSWITCH_HEALTHY,
	  10004, 1, -1, false },
	{ "nvidia-nvswitch1: SXid (PCI:0000:85:00.0): 20001, Correctable, Link 01 x",
	  NVSWITCH_HEALTHY, 20001, 1, 1, false },
	{ "nvidia-nvswitch1: SXid (PCI:0000:85:00.0): 28999, Fatal, Link 01 new thing",
	  NVSWITCH_NO_P2P, 28999, 1, 1, false },
	{ "NVRM: Xid (PCI:0003:00:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal "
	  "error detected on link 14(0x0, 0x0)",
	  NVSWITCH_NO_P2P, 74, -1, 14, false },
	{ "NVRM: Xid (PCI:0000:91:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen "
	  "off the bus.",
	  NVSWITCH_NO_P2P, 79, -1, -1, false },
	{ "NVRM: Xid (PCI:0000:01:00): 95, pid=7062, Uncontained: LTC TAG (0x2, 0x1). RST: "
	  "Yes, D-RST: No",
	  NVSWITCH_NO_P2P, 95, -1, -1, false },
	{ "NVRM: Xid (PCI:0000:00:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 "
	  "(0x026001c6 0x00000000)",
	  NVSWITCH_HEALTHY, 149, -1, 0, true },
	/* The second register decides, whatever the words: NVIDIA's sheet "XID 144-150". */
	{ "NVRM: Xid (PCI:0000:00:00): 145, RLW_REMAP Nonfatal XC1 i0 Link 10 (0x00000004 "
	  "0x00000040 0x00000000 0x00000000 0x00000000 0x00000000)",
	  NVSWITCH_NO_P2P, 145, -1, 10, false },
	{ "NVRM: Xid (PCI:0000:00:00): 145, RLW_REMAP Nonfatal XC1 i0 Link 10 (0x00000004 "
	  "0x00000004 0x00000000 0x00000000 0x00000000 0x00000000)",
	  NVSWITCH_HEALTHY, 145, -1, 10, true },
	{ "NVRM: Xid (PCI:0000:00:00): 146, TLW_RX/TLW_RX_PIPE0 Fatal XC0 i0 Link 00 (0x0000000a "
	  "0x00000004 0x00000000 0x00000000)",
	  NVSWITCH_NO_P2P, 146, -1, 0, false },
	{ "NVRM: Xid (PCI:0000:00:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 05 (0x026001c6 "
	  "0x00000000 0x00000000)",
	  NVSWITCH_HEALTHY, 149, -1, 5, true },
	{ "NVRM: Xid (PCI:0000:00:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 05 (0x021425c6 "
	  "0x00000000 0x00000000)",
	  NVSWITCH_NO_P2P, 149, -1, 5, false },
	/* Bits 0, 23 and 30 of the first can be ignored. */
	{ "NVRM: Xid (PCI:0003:00:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error "
	  "detected on link 14(0x40800001, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
	  NVSWITCH_HEALTHY, 74, -1, 14, true },
	{ "NVRM: Xid (PCI:0003:00:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error "
	  "detected on link 14(0x40800001, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)",
	  NVSWITCH_NO_P2P, 74, -1, 14, false },
	{ "NVRM: Xid (PCI:0000:3f:00): 46", NVSWITCH_NO_P2P, 46, -1, -1, false },
	{ "NVRM: uvm encountered global fatal error 0x60, requiring os reboot to recover.",
	  NVSWITCH_FATAL, 0, -1, -1, false },
	{ "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer1's postRxDetLinkMask failed!",
	  NVSWITCH_NO_P2P, 0, -1, -1, false },
	{ "nvidia-fabricmanager.service: Failed with result 'exit-code'.", NVSWITCH_DEGRADED_LINK,
	  0, -1, -1, false },
	{ "NVRM: Xid (PCI:0000:00:00): 149, NETIR_LINK_EVT Nonfatal XC0 i0 Link 07 (0x0)",
	  NVSWITCH_HEALTHY, 149, -1, 7, true },
	{ "nv-fabricmanager: detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci "
	  "bus id 00000000:86:00.0 physical id 3 port 33",
	  NVSWITCH_NO_P2P, 20034, 3, 33, false },
	{ "nv-fabricmanager: detected NVSwitch non-fatal error 12028 on fid 0 physical id "
	  "3 port 33",
	  NVSWITCH_HEALTHY, 12028, 3, 33, true },
};

static void lines_mean_what_their_words_say_first_and_their_number_second(void **state)
{
	for (unsigned i = 0; i < sizeof(log_lines) / sizeof(log_lines[0]); i++) {
		struct sxid_event event;

		if (!sxid_read(log_lines[i].text, strlen(log_lines[i].text), &event))
			fail_msg("not read: %s", log_lines[i].text);
		if (event.finding.state != log_lines[i].state ||
		    event.finding.code != log_lines[i].code ||
		    event.finding.sw != log_lines[i].sw ||
		    event.finding.link != log_lines[i].link ||
		    (event.news == SXID_NONFATALS) != log_lines[i].nonfatal)
			fail_msg("%s: %s %u switch %d link %d", log_lines[i].text,
				 nvswitch_states[event.finding.state], event.finding.code,
				 event.finding.sw, event.finding.link);
	}
}

static void other_lines_and_follow_ups_mean_nothing(void **state)
{
	static const char *const lines[] = {
		"",
		"usb 1-1: new high-speed USB device",
		"Xid (",
		"SXid (PCI:",
		"SXid (PCI:0): ",
		"nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Severity 0 Engine instance 44",
		"nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Data {0x00000044, 0x1}",
		"nvidia-nvswitch3: SXid (PCI:0000:04:00.0): x, Fatal",
		"NVRM: Xid (PCI:0000:04:00.0): , pid",
		"detected NVSwitch fatal error soon",
	};

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct sxid_event event;

		if (sxid_read(lines[i], strlen(lines[i]), &event))
			fail_msg("read: %s", lines[i]);
	}
}

static void a_driver_that_starts_is_noticed(void **state)
{
	static const char line[] =
		"nvidia-nvlink: Nvlink Core is being initialized, major device number 234";
	struct sxid_event event;

	assert_true(sxid_read(line, sizeof(line) - 1, &event));
	assert_int_equal(event.news, SXID_START);
}

static const struct xid *row(enum catalogue_kind kind, unsigned number, unsigned value)
{
	return catalogue_find(kind, number, NULL, value);
}

static void numbers_have_the_class_of_guide_and_driver(void **state)
{
	assert_int_equal(row(CATALOGUE_SXID, 12020, 0)->state, NVSWITCH_FATAL);
	assert_int_equal(row(CATALOGUE_SXID, 23017, 0)->state, NVSWITCH_FATAL);
	assert_int_equal(row(CATALOGUE_SXID, 20034, 0)->state, NVSWITCH_NO_P2P);
	assert_int_equal(row(CATALOGUE_SXID, 22012, 0)->state, NVSWITCH_NO_P2P);
	assert_int_equal(row(CATALOGUE_SXID, 22013, 0)->state, NVSWITCH_DEGRADED_LINK);
	assert_int_equal(row(CATALOGUE_SXID, 10005, 0)->state, NVSWITCH_HEALTHY);
	assert_int_equal(row(CATALOGUE_SXID, 30006, 0)->state, NVSWITCH_DEGRADED_LINK);
	assert_int_equal(row(CATALOGUE_SXID, 0, 0)->first, 0);
	assert_int_equal(row(CATALOGUE_SXID, 23018, 0)->first, 0);
	assert_int_equal(row(CATALOGUE_SXID, 70000, 0)->first, 0);
	for (unsigned n = 23001; n <= 23017; n++)
		assert_int_equal(sxid_state(n, false), NVSWITCH_FATAL);
}

/* ---- The catalogue --------------------------------------------------------------------------- */

static int read_catalogue(const char *text, char *err)
{
	char path[] = "/tmp/fmd-test-catalogue-XXXXXX";
	int fd = mkstemp(path), status;

	dprintf(fd, "%s", text);
	close(fd);
	status = catalogue_read(path, true, err);
	unlink(path);
	return status;
}

static void a_file_takes_the_place_of_the_catalogue_or_its_line_is_named(void **state)
{
	static const struct {
		const char *text, *error;
	} wrong[] = {
		{ "xid\t74\t-\tNO_P2P\treset GPU\tx\n",
		  "a row of sxid, xid, action, mask, fm, summary, watch, line, metric or model "
		  "has eight fields" },
		{ "# none\n\nyid\t74\t-\tNO_P2P\tnone\tx\ty\tz\n", "a row of sxid, xid" },
		{ "xid\t74-\t-\tNO_P2P\tnone\tx\ty\tz\n", "FIRST-LAST" },
		{ "xid\t74\t-\tport\tnone\tx\ty\tz\n", "unknown state" },
		{ "sxid\t74\t-\tNO_P2P\tnone\tx\ty\tz\n", "unknown state" },
		{ "xid\t74\t-\tNO_P2P\tpray\tx\ty\tz\n", "unknown state or remedy" },
		{ "xid\t74\tmask=1\tNO_P2P\tnone\tx\ty\tz\n", "unknown condition" },
		{ "xid\t74\tonly=xyz\tNO_P2P\tnone\tx\ty\tz\n", "unknown condition" },
	};
	char err[512] = "";

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(read_catalogue(wrong[i].text, err), -1);
		if (!strstr(err, wrong[i].error))
			fail_msg("%s", err);
		assert_int_equal(row(CATALOGUE_XID, 74, 0)->state, NVSWITCH_NO_P2P); /* as before */
	}
	*err = '\0';
	if (catalogue_read("etc/nvlink/catalogue.tsv", false, err))
		fail_msg("%s", err); /* its lines are those within the program */
	assert_int_equal(read_catalogue("xid\t74\t-\tHEALTHY\tnone\tnothing\tsite\t2026\n"
					"sxid\t1-9\t-\talways\treboot\t-\tsite\t2026\n",
					err),
			 0);
	assert_int_equal(row(CATALOGUE_XID, 74, 0)->state, NVSWITCH_HEALTHY);
	assert_int_equal(row(CATALOGUE_SXID, 5, 0)->state, NVSWITCH_FATAL);
	assert_int_equal(row(CATALOGUE_SXID, 20034, 0)->first, 0);
	/* Kinds that it has no row of are those within. */
	assert_int_equal(row(CATALOGUE_ACTION, 2, 0)->state, NVSWITCH_FATAL);
	assert_int_equal(row(CATALOGUE_MASK, 8, 15)->state, NVSWITCH_NO_P2P);
	assert_string_equal(row(CATALOGUE_MASK, 6, 2)->words, "");
	assert_int_equal(catalogue_read("", true, err), 0);
	assert_int_equal(row(CATALOGUE_SXID, 20034, 0)->state, NVSWITCH_NO_P2P);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_header_form_gives_host_and_text),
		cmocka_unit_test(a_header_without_a_host_leaves_it_to_the_sender),
		cmocka_unit_test(chains_of_relays_stand_as_they_are),
		cmocka_unit_test(what_has_no_header_is_refused),
		cmocka_unit_test(a_host_name_beyond_all_bounds_is_refused),
		cmocka_unit_test(lines_come_out_whole_in_pieces_of_any_size),
		cmocka_unit_test(a_message_without_end_keeps_its_head_only),
		cmocka_unit_test(lines_mean_what_their_words_say_first_and_their_number_second),
		cmocka_unit_test(other_lines_and_follow_ups_mean_nothing),
		cmocka_unit_test(a_driver_that_starts_is_noticed),
		cmocka_unit_test(numbers_have_the_class_of_guide_and_driver),
		cmocka_unit_test(a_file_takes_the_place_of_the_catalogue_or_its_line_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
