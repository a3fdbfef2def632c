/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* umad_port: which local port to run on. Private to io_umad.c. */
#ifndef FMD_MAD_UMAD_PORT_H
#define FMD_MAD_UMAD_PORT_H

#include "fm/mad/io.h"

struct umad_wish {	 /* of the configuration */
	guid_t guid;	 /* the port's; 0 = any */
	char device[32]; /* "" = any */
	unsigned port;	 /* of that device; 0 = any */
};

/*
 * The port with this GUID; or the first InfiniBand port, of the device or of all, that has a link,
 * else the first. Not chosen unless it is named: a port that is disabled for subnet managers
 * (IsSMdisabled, IBA 14.2.5.6), and one of an adapter that manages NVSwitches. A port of a device
 * (port != 0) is taken as it is. 0, or -ENODEV with a reason in err.
 */
int umad_port_choose(const struct umad_wish *wish, struct io_port_info *info, char *err,
		     size_t err_size);

/*
 * Whether the vital product data in this file are of an adapter that leads to NVSwitches: their
 * keyword SMDL says SW_MNG.
 */
bool umad_port_manages_nvswitches(const char *vpd_path);

#endif
