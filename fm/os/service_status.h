/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * service_status: the line of `systemctl status` (sd_notify(3)'s STATUS=), and descriptors that the
 * service manager keeps while fmd is away (FDSTORE=).
 */
#ifndef FMD_OS_SERVICE_STATUS_H
#define FMD_OS_SERVICE_STATUS_H

#include <jansson.h>

#define SERVICE_STATUS 384

/*
 * Writes "STATUS=.." for the document of `fmctl --json status`: first what does not work (HCAs cut
 * off, pairs without a path, a proof with errors), then the state, how many alerts last, the size.
 */
void service_status(const json_t *status, char text[SERVICE_STATUS]);

/*
 * The descriptor of that name which an earlier process left with the service manager: the caller's
 * from now on, and asked for once. -1: there is none.
 */
int service_kept(const char *name);
void service_drop_rest(void); /* those that nobody has asked for: they are closed */
/* Without a service manager neither does anything. */
void service_keep(const char *name, int fd);
void service_drop(const char *name);

#endif
