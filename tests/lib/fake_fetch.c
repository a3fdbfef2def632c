/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "tests/lib/fake_fetch.h"

struct fetch *fetch_new(struct loop *loop, const struct fetch_conf *conf)
{
	return (struct fetch *)loop;
}

void fetch_free(struct fetch *fetch)
{
}

int fetch_load(const char *key, char *err)
{
	return 0;
}

int fetch_credentials_read(struct fetch_credentials *credentials, const char *path, char *err)
{
	return 0;
}
