/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mirror/delta.h"
#include <string.h>
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
