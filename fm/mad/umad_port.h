/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* umad_port: which local port to run on. Private to io_umad.c. */
#ifndef FMD_MAD_UMAD_PORT_H
#define FMD_MAD_UMAD_PORT_H

#include "fm/mad/io.h"

/*
 * The port with this GUID; or the best one of the device, or of all: Active before linked up before
 * any, the first of equals. A named port (port != 0) is taken as it is. 0, or -1 with a reason in
 * err.
 */
int umad_port_choose(guid_t guid, const char *device, unsigned port, struct io_port_info *info,
		     char *err, size_t err_size);

#endif
