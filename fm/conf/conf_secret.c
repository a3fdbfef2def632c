/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/conf/conf_secret.h"
#include <stdio.h>
#include <sys/stat.h>

static bool has_mode(const char *path, mode_t bits)
{
	struct stat st;

	return path && *path && !stat(path, &st) && st.st_mode & bits;
}

/* The defaults of sm_key and sa_key, 1, are known to everybody. */
static bool holds_keys(const struct conf *conf)
{
	const struct conf_sm *sm = &conf->sm;

	return sm->mkey || sm->old_mkey || sm->key > 1 || sm->old_key > 1 || conf->sa.key > 1 ||
	       conf->sa.old_key > 1;
}

static void judge(const char *key, const char *path, bool open, const char *what,
		  conf_secret_fn *fn, void *arg)
{
	char why[512];

	snprintf(why, sizeof(why), "%s %s", path ? path : "", what);
	fn(arg, key, open ? why : NULL);
}

void conf_judge_secrets(const struct conf *conf, const char *path, conf_secret_fn *fn, void *arg)
{
	static const char can_be_read[] = "can be read by every user: chmod 0600 or 0640";
	const char *token = conf->http.token_file, *key = conf->http.key_file;

	judge("http_token_file", token, has_mode(token, S_IROTH | S_IWOTH), can_be_read, fn, arg);
	judge("http_key_file", key, has_mode(key, S_IROTH | S_IWOTH), can_be_read, fn, arg);
	judge("configuration", path, holds_keys(conf) && has_mode(path, S_IROTH | S_IWOTH),
	      "holds keys and can be read by every user: chmod 0600 or 0640", fn, arg);
	judge("state_dir", conf->state_dir, has_mode(conf->state_dir, S_IWOTH),
	      "can be written to by every user: chmod 0700", fn, arg);
}
