/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * service_status: the line of `systemctl status` (sd_notify(3)'s STATUS=), and descriptors that the
 * service manager (FDSTORE=) or fmd's helper keeps while fmd is away.
 */
#pragma once

#include <jansson.h>
#include "fm/os/helper.h"

#define SERVICE_STATUS 384

/*
 * Writes "STATUS=.." for the document of `fmctl --json status`: first what does not work (HCAs cut
 * off, pairs without a path, a proof with errors), then the state, how many alerts last, the size.
 */
void service_status(const json_t *status, char text[SERVICE_STATUS]);

/*
 * The descriptor of that name which an earlier process left with the service manager, or where
 * there is none (NOTIFY_SOCKET), with the helper (NULL: with nobody): the caller's from now on, and
 * asked for once. < 0: there is none.
 */
int service_kept(struct helper *helper, const char *name);
void service_drop_rest(struct helper *helper); /* those that nobody has asked for: closed */
void service_keep(struct helper *helper, const char *name, int fd);
void service_drop(struct helper *helper, const char *name);
