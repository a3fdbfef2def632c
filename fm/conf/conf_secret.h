/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * conf_secret: files with keys that every user of this machine can read, and a state_dir that every
 * user can write to. fmd works with them, and says so. Files that are refused instead when they are
 * open (m_key_secret_file, peer_key, peer_psk_file) are not among them.
 */
#ifndef FMD_CONF_CONF_SECRET_H
#define FMD_CONF_CONF_SECRET_H

#include "fm/conf/conf.h"

/* key: of the configuration, or "configuration". why: NULL = it is as it should be. */
typedef void conf_secret_fn(void *arg, const char *key, const char *why);
/* Calls fn for each such file, of a configuration that was read from `path`; NULL = from none. */
void conf_judge_secrets(const struct conf *conf, const char *path, conf_secret_fn *fn, void *arg);

#endif
