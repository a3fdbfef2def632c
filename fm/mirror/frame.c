/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mirror/frame.h"
#include <stdlib.h>
#include <string.h>
#include "topology/mem.h"

#define PREFIX 4

static void put_length(char *to, uint32_t length)
{
	for (unsigned i = 0; i < PREFIX; i++)
		to[i] = (char)(length >> (24 - 8 * i));
}

static uint32_t get_length(const char *from)
{
	uint32_t length = 0;

	for (unsigned i = 0; i < PREFIX; i++)
		length = length << 8 | (uint8_t)from[i];
	return length;
}

char *frame_encode(enum frame_type type, const json_t *head, const char *body, size_t body_length,
		   size_t *length)
{
	char *text = json_dumps(head, JSON_COMPACT), *bytes = NULL;
	size_t head_length = text ? strlen(text) : 0;

	*length = PREFIX + 1 + head_length + 1 + body_length;
	if (text && body_length < FRAME_MOST && *length - PREFIX <= FRAME_MOST) {
		bytes = mem_alloc(*length, 1);
		put_length(bytes, (uint32_t)(*length - PREFIX));
		bytes[PREFIX] = (char)type;
		memcpy(bytes + PREFIX + 1, text, head_length);
		bytes[PREFIX + 1 + head_length] = '\n';
		if (body_length)
			memcpy(bytes + PREFIX + 2 + head_length, body, body_length);
	}
	free(text);
	return bytes;
}

void frame_feed(struct frame_reader *r, const char *bytes, size_t length)
{
	if (r->length + length > r->room) {
		r->room = r->length + length + r->room / 2;
		r->bytes = mem_resize(r->bytes, r->room, 1);
	}
	memcpy(r->bytes + r->length, bytes, length);
	r->length += length;
}

enum frame_read frame_next(struct frame_reader *r, struct frame *frame)
{
	uint32_t length = r->length < PREFIX ? 0 : get_length(r->bytes);
	const char *head = r->bytes + PREFIX + 1, *end;

	if (r->length < PREFIX)
		return FRAME_NONE;
	if (length < 2 || length > (r->most ? r->most : FRAME_MOST))
		return FRAME_BAD;
	if (r->length < PREFIX + length)
		return FRAME_NONE;
	end = memchr(head, '\n', length - 1);
	if (!end)
		return FRAME_BAD;
	*frame = (struct frame){ .type = (enum frame_type)(uint8_t)r->bytes[PREFIX],
				 .body = end + 1,
				 .length = length - 1 - (size_t)(end + 1 - head),
				 .head = json_loadb(head, (size_t)(end - head), 0, NULL) };
	if (json_is_object(frame->head))
		return FRAME_READ;
	json_decref(frame->head);
	return FRAME_BAD;
}

size_t frame_expected(const struct frame_reader *r)
{
	return r->length < PREFIX ? 0 : PREFIX + get_length(r->bytes);
}

void frame_done(struct frame_reader *r)
{
	size_t taken = PREFIX + get_length(r->bytes);

	memmove(r->bytes, r->bytes + taken, r->length - taken);
	r->length -= taken;
}

void frame_reader_fini(struct frame_reader *r)
{
	free(r->bytes);
	*r = (struct frame_reader){ 0 };
}
