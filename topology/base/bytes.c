/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <string.h>
#include "topology/base/bytes.h"
#include "topology/base/mem.h"

size_t bytes_held(const struct bytes *bytes)
{
	return bytes->end - bytes->start;
}

void bytes_add(struct bytes *bytes, const char *data, size_t len)
{
	if (bytes->start == bytes->end)
		bytes->start = bytes->end = 0;
	if (bytes->end + len > bytes->size && bytes->start) {
		memmove(bytes->data, bytes->data + bytes->start, bytes_held(bytes));
		bytes->end -= bytes->start;
		bytes->start = 0;
	}
	if (bytes->end + len > bytes->size) {
		bytes->size = (bytes->end + len) * 2;
		bytes->data = mem_resize(bytes->data, bytes->size, 1);
	}
	memcpy(bytes->data + bytes->end, data, len);
	bytes->end += len;
}
