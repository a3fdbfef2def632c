/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as what another manager sends, in pieces whose size the first byte says. Each frame
 * that is read lies within what was fed and is a frame again when it is written; the same bytes in
 * one piece give the same frames.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "fm/mirror/channel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct heard {
	unsigned frames;
	size_t bytes; /* of bodies */
	bool bad;
};

static void take(const struct frame *frame, const struct frame_reader *r, struct heard *heard)
{
	size_t length;
	char *again = frame_encode(frame->type, frame->head, frame->body, frame->length, &length);

	assert(frame->body >= r->in.data && frame->body + frame->length <= r->in.data + r->in.end);
	if (again) {
		struct frame_reader reader = { 0 };
		struct frame once;

		bytes_add(&reader.in, again, length);
		assert(frame_next(&reader, &once) == FRAME_READ);
		assert(once.type == frame->type && once.length == frame->length &&
		       json_equal(once.head, frame->head));
		json_decref(once.head);
		frame_reader_fini(&reader);
	}
	free(again);
	heard->frames++;
	heard->bytes += frame->length;
}

static struct heard hear(const uint8_t *data, size_t size, size_t piece)
{
	struct frame_reader r = { .most = 1u << 16 };
	struct heard heard = { 0 };

	for (size_t at = 0; at < size && !heard.bad; at += piece) {
		enum frame_read got;
		struct frame frame;

		bytes_add(&r.in, (const char *)data + at, size - at < piece ? size - at : piece);
		while ((got = frame_next(&r, &frame)) == FRAME_READ) {
			take(&frame, &r, &heard);
			json_decref(frame.head);
			frame_done(&r);
		}
		heard.bad = got == FRAME_BAD;
	}
	frame_reader_fini(&r);
	return heard;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct heard slow, fast;

	if (size < 2)
		return 0;
	slow = hear(data + 1, size - 1, 1 + data[0] % 16);
	fast = hear(data + 1, size - 1, size);
	assert(slow.frames == fast.frames && slow.bytes == fast.bytes && slow.bad == fast.bad);
	return 0;
}
