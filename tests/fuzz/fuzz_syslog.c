/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as a connection of a syslog sender: the same messages come out whatever the pieces,
 * each is taken apart, and what is said of NVLinks lies within its bounds.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/evidence.h"
#include "fm/nvswitch/intake_sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct tally {
	unsigned lines;
	uint64_t sum;
};

static void message_cb(void *arg, bool known, const struct syslog_message *m)
{
	struct tally *t = arg;
	struct sxid_event event;

	t->lines++;
	if (!known)
		return;
	assert(m->len <= SYSLOG_LINE);
	assert(memchr(m->host, 0, sizeof(m->host)) && syslog_host_is_text(m->host));
	for (size_t i = 0; i < m->len; i++)
		t->sum = t->sum * 31 + (uint8_t)m->text[i];
	if (!sxid_read(m->text, m->len, &event))
		return;
	assert(event.finding.state < NVSWITCH_UNKNOWN);
	assert(memchr(event.finding.text, 0, sizeof(event.finding.text)));
}

static struct tally frame(const char *data, size_t size, size_t piece)
{
	struct log_stream *stream = calloc(1, sizeof(*stream));
	struct tally t = { 0 };

	for (size_t at = 0; at < size; at += piece) {
		size_t len = size - at < piece ? size - at : piece;
		char *copy = malloc(len); /* ends where it ends */

		memcpy(copy, data + at, len);
		log_stream_feed(stream, copy, len, message_cb, &t);
		free(copy);
	}
	log_stream_end(stream, message_cb, &t);
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
