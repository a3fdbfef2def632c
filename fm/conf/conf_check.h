/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * conf_check: what texts of the configuration may be.
 */
#ifndef FMD_CONF_CONF_CHECK_H
#define FMD_CONF_CONF_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* True: the text may be such a value. False: it may not, and why has the reason. */
bool conf_check_path(const char *text, char *why, size_t size);	  /* not empty */
bool conf_check_http(const char *text, char *why, size_t size);	  /* where HTTP is served, or "" */
bool conf_check_peers(const char *text, char *why, size_t size);  /* HOST:PORT by blanks, or "" */
bool conf_check_guids(const char *text, char *why, size_t size);  /* GUIDs by blanks, or "" */
bool conf_check_syslog(const char *text, char *why, size_t size); /* where syslog comes in, or "" */
bool conf_check_url(const char *text, char *why, size_t size);	  /* a pattern with %h, or "" */

#endif
