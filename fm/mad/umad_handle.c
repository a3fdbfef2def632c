/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What sending and receiving ask of the adapter's handles and buffers.
 */
#include <errno.h>
#include <infiniband/umad.h>
#include "fm/mad/umad_own.h"
#include "topology/base/mem.h"

void umad_buffer_fit(void **buf, size_t *size, size_t len)
{
	if (len <= *size)
		return;
	*buf = mem_resize(*buf, 1, umad_size() + len);
	*size = len;
}

bool umad_is_gone(int error)
{
	return error == EIO || error == ENODEV || error == ENXIO;
}

bool umad_is_open(const struct umad_io *u)
{
	return u->handles[HANDLE_SMI].port >= 0;
}
