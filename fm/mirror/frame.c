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

/* Without its prefix, where it may be so long at all. */
static size_t longest(enum frame_type type)
{
	return type == FRAME_FILE || type == FRAME_RECORDS ? FRAME_MOST : FRAME_HEAD_MOST;
}

char *frame_encode(enum frame_type type, const json_t *head, const char *body, size_t body_length,
		   size_t *length)
{
	char *text = json_dumps(head, JSON_COMPACT), *bytes = NULL;
	size_t head_length = text ? strlen(text) : 0;

	*length = PREFIX + 1 + head_length + 1 + body_length;
	if (text && head_length < FRAME_HEAD_MOST && body_length < FRAME_MOST &&
	    *length - PREFIX <= longest(type)) {
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

static bool is_as_announced(enum frame_type type, const json_t *head, size_t body_length)
{
	json_int_t keep_head, keep_tail, length;

	return type != FRAME_FILE ||
	       (!json_unpack((json_t *)head, "{sI sI sI}", "keep_head", &keep_head, "keep_tail",
			     &keep_tail, "length", &length) &&
		keep_head >= 0 && keep_tail >= 0 && length >= keep_head &&
		(size_t)(length - keep_head) == body_length + (size_t)keep_tail);
}

/* Takes the object as soon as it is there: the rest is waited for if it is one. */
static enum frame_read read_head(struct frame_reader *r, uint32_t length)
{
	enum frame_type type = (enum frame_type)(uint8_t)r->bytes[PREFIX];
	const char *head = r->bytes + PREFIX + 1, *end;
	size_t here = r->length - PREFIX - 1, most = length - 1;

	if (length > longest(type))
		return FRAME_BAD;
	most = most < FRAME_HEAD_MOST ? most : FRAME_HEAD_MOST;
	end = memchr(head, '\n', here < most ? here : most);
	if (!end)
		return here < most ? FRAME_NONE : FRAME_BAD;
	r->head_length = (size_t)(end - head);
	r->head = json_loadb(head, r->head_length, 0, NULL);
	if (json_is_object(r->head) && is_as_announced(type, r->head, length - 2 - r->head_length))
		return FRAME_READ;
	json_decref(r->head);
	r->head = NULL;
	return FRAME_BAD;
}

enum frame_read frame_next(struct frame_reader *r, struct frame *frame)
{
	uint32_t length = r->length < PREFIX ? 0 : get_length(r->bytes);
	enum frame_read got;

	if (r->length < PREFIX)
		return FRAME_NONE;
	if (length < 2 || length > (r->most ? r->most : FRAME_MOST))
		return FRAME_BAD;
	if (r->length == PREFIX)
		return FRAME_NONE;
	got = r->head ? FRAME_READ : read_head(r, length);
	if (got != FRAME_READ)
		return got;
	if (r->length < PREFIX + length)
		return FRAME_NONE;
	*frame = (struct frame){ .type = (enum frame_type)(uint8_t)r->bytes[PREFIX],
				 .head = r->head,
				 .body = r->bytes + PREFIX + 2 + r->head_length,
				 .length = length - 2 - r->head_length };
	r->head = NULL;
	return FRAME_READ;
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
	json_decref(r->head);
	free(r->bytes);
	*r = (struct frame_reader){ 0 };
}
