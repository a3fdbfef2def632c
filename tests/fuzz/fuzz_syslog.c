/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as a connection of a syslog sender: the same messages come out whatever the pieces,
 * each is taken apart, and what is said of NVLinks lies within its bounds.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/evidence_sxid.h"
#include "fm/nvswitch/intake_syslog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct tally {
	unsigned lines;
	uint64_t sum;
};

static void read_message(const char *line, size_t len)
{
	struct syslog_message m;
	struct sxid_event event;

	if (!syslog_read(line, len, &m))
		return;
	assert(m.text >= line && m.text + m.len <= line + len);
	assert(memchr(m.host, 0, sizeof(m.host)));
	if (!sxid_read(m.text, m.len, &event))
		return;
	assert(event.state < NVSWITCH_UNKNOWN);
	assert(memchr(event.finding.text, 0, sizeof(event.finding.text)));
}

static void line_cb(void *arg, const char *line, size_t len)
{
	struct tally *t = arg;
	char *copy = malloc(len); /* ends where it ends */

	assert(len && len <= SYSLOG_LINE);
	memcpy(copy, line, len);
	read_message(copy, len);
	t->lines++;
	for (size_t i = 0; i < len; i++)
		t->sum = t->sum * 31 + (uint8_t)copy[i];
	free(copy);
}

static struct tally frame(const char *data, size_t size, size_t piece)
{
	struct syslog_stream *stream = calloc(1, sizeof(*stream));
	struct tally t = { 0 };

	for (size_t at = 0; at < size; at += piece)
		syslog_stream_feed(stream, data + at, size - at < piece ? size - at : piece,
				   line_cb, &t);
	free(stream);
	return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tally whole, pieces;

	if (!size)
		return 0;
	whole = frame((const char *)data + 1, size - 1, size);
	pieces = frame((const char *)data + 1, size - 1, data[0] % 61 + 1);
	assert(whole.lines == pieces.lines && whole.sum == pieces.sum);
	return 0;
}
