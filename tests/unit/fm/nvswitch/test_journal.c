/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* journald's records in pieces of any size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/intake_sources.h"

#define EXPORT                                                                                     \
	"__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=1721720000000000\n_HOSTNAME=dgx-01\n"              \
	"_TRANSPORT=kernel\nMESSAGE=NVRM: Xid (PCI:0000:34:00): 45, Ch 00000010\n\n"
#define BINARY "_HOSTNAME=dgx-02\nMESSAGE\n\x05\0\0\0\0\0\0\0a\nb=c\nPRIORITY=3\n\n"

struct heard {
	unsigned known, malformed;
	char said[1024];
};

static void hear(void *arg, bool known, const struct syslog_message *m)
{
	struct heard *h = arg;
	size_t used = strlen(h->said);

	if (known)
		snprintf(h->said + used, sizeof(h->said) - used, "%s: %.*s|", m->host, (int)m->len,
			 m->text);
	h->known += known;
	h->malformed += !known;
}

static struct heard feed(const char *data, size_t len, size_t piece)
{
	struct log_stream *s = calloc(1, sizeof(*s));
	struct heard h = { 0 };

	for (size_t at = 0; at < len; at += piece)
		log_stream_feed(s, data + at, len - at < piece ? len - at : piece, hear, &h);
	log_stream_end(s, hear, &h);
	free(s);
	return h;
}

static void exported_records_give_host_and_message(void **state)
{
	static const char data[] = EXPORT BINARY EXPORT;

	for (size_t piece = 1; piece < sizeof(data); piece += 3) {
		struct heard h = feed(data, sizeof(data) - 1, piece);

		assert_int_equal(h.known, 3);
		assert_int_equal(h.malformed, 0);
		assert_string_equal(h.said, "dgx-01: NVRM: Xid (PCI:0000:34:00): 45, Ch 00000010|"
					    "dgx-02: a\nb=c|"
					    "dgx-01: NVRM: Xid (PCI:0000:34:00): 45, Ch 00000010|");
	}
}

static void json_lines_give_host_and_message(void **state)
{
	static const char data[] =
		"{\"__CURSOR\":\"x\",\"_HOSTNAME\":\"dgx-01\",\"MESSAGE\":\"one\"}\n"
		"{\"MESSAGE\":[116,119,111],\"_HOSTNAME\":\"dgx-02\"}\n"
		"{broken\n{\"_HOSTNAME\":\"dgx-03\"}\n{\"_HOSTNAME\":\"dgx-04\",\"MESSAGE\":"
		"\"four\"}\n";

	for (size_t piece = 1; piece < sizeof(data); piece += 3) {
		struct heard h = feed(data, sizeof(data) - 1, piece);

		assert_string_equal(h.said, "dgx-01: one|dgx-02: two|dgx-04: four|");
		assert_int_equal(h.malformed, 2);
	}
}

static void a_binary_value_may_be_long(void **state)
{
	char data[1200] = "MESSAGE\n\x01\x04\0\0\0\0\0\0", *at = data + 16; /* 1,025 bytes */
	struct heard h;

	memset(at, 'x', 1025);
	memcpy(at + 1025, "\n\nMESSAGE=next\n\n", 16);
	for (size_t piece = 1; piece < 1200; piece += 97) {
		h = feed(data, 16 + 1025 + 16, piece);
		assert_int_equal(h.known, 2);
		assert_int_equal(h.malformed, 0);
	}
}

static void what_is_no_record_is_malformed_and_the_next_is_read(void **state)
{
	static const char data[] = "Hello there\nwhat\n\n" EXPORT "_HOSTNAME=dgx-05\n\n" EXPORT;

	for (size_t piece = 1; piece < sizeof(data); piece += 3) {
		struct heard h = feed(data, sizeof(data) - 1, piece);

		assert_int_equal(h.known, 2);
		assert_int_equal(h.malformed, 2);
	}
}

static void a_message_is_cut_and_a_name_is_text(void **state)
{
	static const char odd[] = "_HOSTNAME=a\x1b[31m\nMESSAGE=b\n\n";
	size_t len = 100000;
	char *data = malloc(len);
	struct heard h;

	memset(data, 'x', len);
	memcpy(data, "MESSAGE=", 8);
	memcpy(data + len - 2, "\n\n", 2);
	h = feed(data, len, 4096);
	assert_int_equal(h.known, 1);
	assert_int_equal(h.malformed, 0);
	h = feed(odd, sizeof(odd) - 1, 5);
	assert_string_equal(h.said, "?: b|");
	free(data);
}

/* What stood before a field that is none is not the next record's. */
static void nothing_of_a_malformed_record_is_kept(void **state)
{
	static const char data[] = "_HOSTNAME=dgx-09\nMESSAGE=old\na b\n\nMESSAGE=new\n\n";
	struct heard h = feed(data, sizeof(data) - 1, 7);

	assert_int_equal(h.malformed, 1);
	assert_string_equal(h.said, ": new|");
}

static void the_first_byte_decides_the_format(void **state)
{
	static const struct {
		const char *data, *said;
	} forms[] = {
		{ "<3>Nov 21 01:02:03 a k: b\n", "a: k: b|" },
		{ "MESSAGE=b\n_HOSTNAME=a\n\n", "a: b|" },
		{ "{\"_HOSTNAME\":\"a\",\"MESSAGE\":\"b\"}\n", "a: b|" },
	};

	for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		assert_string_equal(feed(forms[i].data, strlen(forms[i].data), 3).said,
				    forms[i].said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exported_records_give_host_and_message),
		cmocka_unit_test(json_lines_give_host_and_message),
		cmocka_unit_test(a_binary_value_may_be_long),
		cmocka_unit_test(what_is_no_record_is_malformed_and_the_next_is_read),
		cmocka_unit_test(a_message_is_cut_and_a_name_is_text),
		cmocka_unit_test(nothing_of_a_malformed_record_is_kept),
		cmocka_unit_test(the_first_byte_decides_the_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
