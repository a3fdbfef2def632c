/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * source_aliases: a file of other names and addresses of hosts. It reports no states, but it is
 * opened, replaced and retried like the sources whose names it maps to hosts.
 */
#include <stdlib.h>
#include "fm/nvswitch/source.h"
#include "topology/mem.h"

struct alias_file {
	struct source_home *home;
	bool counts;
	struct aliases aliases; /* while it does not count; else health has them */
};

static void *open_aliases(struct source_home *home, const struct nvswitch_conf *conf, char *err,
			  size_t err_size)
{
	struct alias_file *file = mem_alloc(1, sizeof(*file));

	file->home = home;
	if (!aliases_read(&file->aliases, conf->keys.alias_file, err, err_size))
		return file;
	aliases_fini(&file->aliases);
	free(file);
	return NULL;
}

static void set_counts(struct alias_file *file, bool counts)
{
	struct aliases aliases = file->home->health->aliases;

	if (file->counts == counts)
		return;
	file->home->health->aliases = file->aliases;
	file->aliases = aliases;
	file->counts = counts;
}

static void start_aliases(void *source, void *before)
{
	if (before)
		set_counts(before, false);
	set_counts(source, true);
}

static void close_aliases(void *source)
{
	struct alias_file *file = source;

	set_counts(file, false);
	aliases_fini(&file->aliases);
	free(file);
}

static void add_addresses(const void *source, struct senders *senders)
{
	const struct alias_file *file = source;
	const struct aliases *aliases = &file->home->health->aliases;

	for (uint32_t i = 0; i < aliases->names.count; i++)
		senders_know_text(senders, aliases->texts[i]);
}

static int check_aliases(const struct nvswitch_conf *conf, char *err, size_t err_size)
{
	struct aliases aliases = { 0 };
	int status = aliases_read(&aliases, conf->keys.alias_file, err, err_size);

	aliases_fini(&aliases);
	return status;
}

const struct health_source_ops source_aliases = {
	.name = "aliases",
	.by = { SOURCE_TEXT(alias_file) },
	.open = open_aliases,
	.close = close_aliases,
	.start = start_aliases,
	.addresses = add_addresses,
	.check = check_aliases,
};
