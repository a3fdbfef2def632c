/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdlib.h>
#include "fm/mad/io.h"
#include "topology/base/mem.h"

struct io_body *io_body_new(uint8_t *data)
{
	struct io_body *body = mem_alloc(1, sizeof(*body));

	*body = (struct io_body){ data, 1 };
	return body;
}

void io_body_ref(struct io_body *body)
{
	body->refs++;
}

void io_body_unref(struct io_body *body)
{
	if (--body->refs)
		return;
	free(body->data);
	free(body);
}
