/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* service_status: the line of `systemctl status` (sd_notify(3)'s STATUS=). */
#ifndef FMD_OS_SERVICE_STATUS_H
#define FMD_OS_SERVICE_STATUS_H

#include <jansson.h>

#define SERVICE_STATUS 384

/*
 * Writes "STATUS=.." for the document of `fmctl --json status`: first what does not work (HCAs cut
 * off, pairs without a path, a proof with errors), then the state, how many alerts last, the size.
 */
void service_status(const json_t *status, char text[SERVICE_STATUS]);

#endif
