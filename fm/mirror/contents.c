/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mirror/contents.h"
#include "topology/base/mem.h"

struct delta delta_of(const struct text *before, const struct text *after)
{
	size_t least = before->length < after->length ? before->length : after->length;
	size_t head = 0, tail = 0;

	while (head < least && before->bytes[head] == after->bytes[head])
		head++;
	while (tail < least - head &&
	       before->bytes[before->length - 1 - tail] == after->bytes[after->length - 1 - tail])
		tail++;
	return (struct delta){ .keep_head = head,
			       .keep_tail = tail,
			       .bytes = after->bytes + head,
			       .length = after->length - head - tail };
}

bool delta_apply(const struct text *before, const struct delta *d, struct text *after)
{
	if (d->keep_head > before->length || d->keep_tail > before->length - d->keep_head)
		return false;
	after->length = d->keep_head + d->length + d->keep_tail;
	after->bytes = mem_alloc(after->length + 1, 1);
	memcpy(after->bytes, before->bytes, d->keep_head);
	memcpy(after->bytes + d->keep_head, d->bytes, d->length);
	memcpy(after->bytes + d->keep_head + d->length,
	       before->bytes + before->length - d->keep_tail, d->keep_tail);
	return true;
}

struct content *contents_find(struct contents *c, const char *name)
{
	for (unsigned i = 0; i < c->count; i++)
		if (!strcmp(c->list[i].name, name))
			return &c->list[i];
	return NULL;
}

const struct text *contents_text(const struct contents *c, const char *name)
{
	static char nothing[1];
	static const struct text empty = { nothing, 0 };
	const struct content *found = contents_find((struct contents *)c, name);

	return found ? &found->text : &empty;
}

/* Texts and records of all files. */
static size_t bytes_of(const struct contents *c)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < c->count; i++)
		bytes += c->list[i].text.length + c->list[i].records.length;
	return bytes;
}

bool contents_set(struct contents *c, const char *name, struct text text)
{
	struct content *it = contents_find(c, name);
	size_t others = bytes_of(c) - (it ? it->text.length : 0);

	if (text.length > CONTENTS_BYTES - others || (!it && c->count == CONTENTS_MOST)) {
		free(text.bytes);
		return false;
	}
	if (!it) {
		it = &c->list[c->count++];
		*it = (struct content){ .name = mem_strdup(name) };
	}
	free(it->text.bytes);
	it->text = text;
	return true;
}

bool contents_append(struct contents *c, const char *name, const char *lines, size_t length)
{
	struct content *it = contents_find(c, name);
	struct text *records;

	if (length > CONTENTS_BYTES - bytes_of(c))
		return false;
	if (!it && !contents_set(c, name, (struct text){ mem_strdup(""), 0 }))
		return false;
	records = &contents_find(c, name)->records;
	records->bytes = mem_resize(records->bytes, records->length + length + 1, 1);
	memcpy(records->bytes + records->length, lines, length);
	records->length += length;
	return true;
}

void contents_fini(struct contents *c)
{
	for (unsigned i = 0; i < c->count; i++) {
		free(c->list[i].name);
		free(c->list[i].text.bytes);
		free(c->list[i].records.bytes);
	}
	c->count = 0;
}
