/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * netfile: the text format of ibnetdiscover(8), which ibsim loads too.
 *
 * The reader takes every line that ibnetdiscover, ibsim's own `Dump` and hand-made ibsim files
 * have: comments, vendid=/devid=/sysimgguid=/switchguid=/caguid=/rtguid= headers, Switch/Ca/Rt
 * (also ibsim's Hca), port lines with or without port GUID, peer GUID, LID and LMC remarks and
 * `4xHDR`. LIDs and LMCs written in remarks are taken over. A link may be written at one end or
 * both. A reader's error leaves nothing behind but the text `FILE:LINE: reason`.
 */
#pragma once

#include <stdio.h>
#include "topology/snapshot/topo.h"

/*
 * A snapshot with one reference, which the caller owns; NULL with `path:line: reason` in err. All
 * links are up and all ports Init, as after power-on.
 */
struct topo *netfile_read(const char *path, char *err, size_t err_size);
struct topo *netfile_parse(const char *name, const char *text, size_t len, char *err,
			   size_t err_size);

/*
 * Writes what netfile_read() and ibsim read. Links that are down are left out. Returns 0, or -errno
 * when the stream has an error.
 */
int netfile_write(const struct topo *t, FILE *out);
