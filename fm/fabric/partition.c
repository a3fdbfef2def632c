/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_partition: the partitions in force. A configuration brings a set aside; the next update to be published takes it into force
 * at one stroke with the snapshot: who may talk to whom (SA), the groups that are there in advance, and what ports' tables are
 * to hold (bring-up). Until then everybody goes on by the older one.
 *
 * A file that is bad changes nothing: a running fmd keeps what it has, and one that starts goes on by the text of the last good one, which
 * is kept in state_dir; a trouble tells. Without that it lets ports talk to itself alone, for a partition that is wide open is found
 * out too late.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/own.h"
#include "fm/state/state_file.h"
#include "topology/mem.h"

static void write_text(const void *arg, FILE *out)
{
	const struct fabric *f = arg;

	fputs(f->partitions_text, out);
}

static const struct state_file kept_file = {
	.name = "partitions",
	.form = "the text of the last good partition_config_file",
	.write = write_text,
};

static char *read_text(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text;
	size_t len;

	if (!in)
		return NULL;
	text = mem_read_all(in, &len);
	fclose(in);
	text = mem_resize(text, len + 1, 1);
	text[len] = '\0';
	return text;
}

/* It is kept for a start that finds none. */
static void keep_text(struct fabric *f)
{
	char *text =
		*f->conf.partition_config_file ? read_text(f->conf.partition_config_file) : NULL;
	bool same = text && f->partitions_text && !strcmp(text, f->partitions_text);

	if (!text)
		return;
	free(f->partitions_text);
	f->partitions_text = text;
	if (!same)
		fabric_state_changed(f, &kept_file);
}

/* NULL: the file is bad, and that is told. */
static struct partition_set *load(struct fabric *f)
{
	const struct partition_options options = conf_partition_options(&f->conf);
	char err[512];
	struct partition_set *set =
		partition_load(f->conf.partition_config_file, &options, err, sizeof(err));

	if (set)
		keep_text(f);
	else
		event_log_add(f->events, LOG_ERR, "partitions-refused", NULL,
			      "fabric: partitions unchanged: %s", err);
	trouble_set(f->alerts, "partition_config_file", set ? NULL : err);
	return set;
}

static struct partition_set *parse_kept(const struct conf *conf, const char *text)
{
	const struct partition_options options = conf_partition_options(conf);
	char *copy = mem_strdup(text), err[512];
	struct partition_set *set =
		partition_parse(conf->partition_config_file, copy, &options, err, sizeof(err));

	free(copy);
	return set;
}

/* The text in state_dir; NULL: there is none that is whole. The caller's. */
static char *kept_text(const struct conf *conf)
{
	char *path = mem_printf("%s/%s", conf->state_dir, kept_file.name), *text = NULL;
	struct state_content content;
	enum state_said said = state_file_load(path, kept_file.name, &content);

	if (said == STATE_WHOLE || said == STATE_OLD)
		text = mem_printf("%.*s", (int)content.length, content.bytes);
	free(content.bytes);
	free(path);
	return text;
}

bool fabric_partitions_kept(const struct conf *conf)
{
	char *text = kept_text(conf);
	struct partition_set *set = text ? parse_kept(conf, text) : NULL;

	partition_free(set);
	free(text);
	return set;
}

static struct partition_set *nobody_but_us(const struct fabric *f)
{
	const struct partition_options options = conf_partition_options(&f->conf);
	char text[] = "", err[64];

	return partition_parse("", text, &options, err, sizeof(err));
}

void fabric_partitions_init(struct fabric *f)
{
	qos_make(&f->conf.qos, &f->qos);
	if (!f->partitions_text)
		f->partitions_text = kept_text(&f->conf);
	f->partitions_next = load(f);
	if (!f->partitions_next && f->partitions_text)
		f->partitions_next = parse_kept(&f->conf, f->partitions_text);
	if (!f->partitions_next)
		f->partitions_next = nobody_but_us(f);
}

void fabric_partitions_configure(struct fabric *f)
{
	struct partition_set *set = load(f);

	qos_make(&f->conf.qos, &f->qos);
	if (!set)
		return;
	partition_free(f->partitions_next);
	f->partitions_next = set;
}

/* The groups that are there in advance, those of the set to come included. */
void fabric_partitions_preset(struct fabric *f)
{
	const struct partition_set *set = f->partitions_next ? f->partitions_next : f->partitions;

	sa_mcast_preset(f->sa, set->groups, set->ngroups);
}

static void tell(struct fabric *f, const struct partition_set *older)
{
	if (!f->partitions->built_in)
		event_log_add(f->events, LOG_NOTICE, "partitions", NULL,
			      "fabric: %u partitions by %s", f->partitions->count,
			      f->conf.partition_config_file);
	else if (older && !older->built_in)
		event_log_add(f->events, LOG_NOTICE, "partitions", NULL,
			      "fabric: no partitions any more, all ports may talk to each other");
}

/* The new snapshot is in place, and nobody has been told of it. What was in force is kept till they have. */
void fabric_partitions_publish(struct fabric *f)
{
	struct partition_set *older = f->partitions;
	uint32_t sm_port = topo_find_port(f->topo, mad_port_info(f->mad)->port_guid);

	f->update.pkeys = f->pkeys;
	if (f->partitions_next) {
		f->partitions = f->partitions_next;
		f->partitions_next = NULL;
		f->update.partitions = older;
		fabric_partitions_preset(f);
		tell(f, older);
	}
	f->pkeys = partition_resolve(f->partitions, f->topo, sm_port);
	bringup_set_pkeys(f->bringup, f->pkeys);
}

void fabric_partitions_forget(struct fabric *f)
{
	pkey_map_free(f->update.pkeys);
	partition_free(f->update.partitions);
	f->update.pkeys = NULL;
	f->update.partitions = NULL;
}

void fabric_partitions_fini(struct fabric *f)
{
	fabric_partitions_forget(f);
	pkey_map_free(f->pkeys);
	partition_free(f->partitions);
	partition_free(f->partitions_next);
	free(f->partitions_text);
	f->partitions_text = NULL;
}
