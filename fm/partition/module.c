/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: the partitions in force. A configuration contains a set; the next update applies it
 * together with its snapshot: the members (SA), the multicast groups that exist in advance, and the
 * P_Key tables of ports (bring-up). Until then the older set is in force for all.
 *
 * A bad file changes nothing: a running fmd keeps the set that it has, and one that starts uses the
 * text of the last good file, which is kept in state_dir; both raise an alert. Without that text
 * ports may communicate only with the subnet manager: a default that admits all ports might not be
 * noticed.
 */
#include "fm/partition/module.h"
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/partition/report.h"
#include "fm/sa/sa.h"
#include "fm/state/state_file.h"
#include "topology/base/mem.h"

struct published {
	struct partition_set *set;
	struct pkey_map *pkeys; /* of set and the snapshot */
};

struct partition_room {
	struct fabric *fabric;
	struct fabric_services services;
	struct partition_set *next; /* the next update's; NULL = the same */
	struct published now,
		before; /* before: rooms may read it until all were notified of the next */
	char *text;	/* of the last good file; NULL = none */
};

/* ---- The file, and the text that is kept of it ----------------------------------------------- */

static void write_text(const void *arg, FILE *out)
{
	const struct partition_room *r = arg;

	fputs(r->text, out);
}

static const struct state_file kept_file = {
	.name = "partitions",
	.small = true,
	.form = "the text of the last good partition_config_file",
	.write = write_text,
};

/* Keeps the file's text in state_dir, for a start that does not find the file. */
static void keep_text(struct partition_room *r)
{
	const char *path = r->services.conf->partition.file;
	size_t len;
	char *text = *path ? mem_read_path(path, &len) : NULL;
	bool same = text && r->text && !strcmp(text, r->text);

	if (!text)
		return;
	free(r->text);
	r->text = text;
	if (!same)
		state_store_changed(r->services.state, &kept_file, r);
}

/* NULL: the file is bad, which is logged and an alert. */
static struct partition_set *load_file(struct partition_room *r)
{
	const struct conf *conf = r->services.conf;
	const struct partition_options options = conf_partition_options(conf);
	char err[512];
	struct partition_set *set =
		partition_load(conf->partition.file, &options, err, sizeof(err));

	if (set)
		keep_text(r);
	else
		event_log_add(r->services.events, LOG_ERR, "partitions-refused", NULL, NULL,
			      "fabric: previous partitions kept: %s", err);
	trouble_set(r->services.alerts, "partition_config_file", set ? NULL : err);
	return set;
}

static struct partition_set *parse_kept(const struct conf *conf, const char *text)
{
	const struct partition_options options = conf_partition_options(conf);
	char *copy = mem_strdup(text), err[512];
	struct partition_set *set =
		partition_parse(conf->partition.file, copy, &options, err, sizeof(err));

	free(copy);
	return set;
}

/* The text in state_dir, which the caller frees; NULL = there is none, or it is damaged. */
static char *kept_text(const struct conf *conf)
{
	char *path = mem_printf("%s/%s", conf->state_dir, kept_file.name), *text = NULL;
	struct state_content content;
	enum state_result said = state_file_load(path, kept_file.name, &content);

	if (said == STATE_WHOLE || said == STATE_OLD)
		text = mem_printf("%.*s", (int)content.length, content.bytes);
	free(content.bytes);
	free(path);
	return text;
}

bool partitions_kept(const struct conf *conf)
{
	char *text = kept_text(conf);
	struct partition_set *set = text ? parse_kept(conf, text) : NULL;

	partition_free(set);
	free(text);
	return set;
}

static struct partition_set *nobody_but_us(const struct conf *conf)
{
	const struct partition_options options = conf_partition_options(conf);
	char text[] = "", err[64];

	return partition_parse("", text, &options, err, sizeof(err));
}

/* ---- What is published ----------------------------------------------------------------------- */

static void preset(const struct partition_room *r, const struct partition_set *set)
{
	sa_mcast_preset(r->services.sa, set->groups, set->ngroups);
}

/*
 * What files hold of groups was read by now (restore()); who subscribes to news of them is not
 * known yet.
 */
static void load(void *room, enum fabric_load_step step)
{
	struct partition_room *r = room;

	if (step == FABRIC_LOAD)
		preset(r, r->next);
}

static void configure(void *room)
{
	struct partition_room *r = room;
	struct partition_set *set = load_file(r);

	if (!set)
		return;
	partition_free(r->next);
	r->next = set;
}

static void published_fini(struct published *p)
{
	pkey_map_free(p->pkeys);
	partition_free(p->set);
	*p = (struct published){ 0 };
}

static void log_change(const struct partition_room *r, const struct partition_set *older)
{
	const struct partition_set *set = r->now.set;

	if (!set->built_in)
		event_log_add(r->services.events, LOG_NOTICE, "partitions", NULL, NULL,
			      "fabric: %u partitions from %s", set->count,
			      r->services.conf->partition.file);
	else if (older && !older->built_in)
		event_log_add(r->services.events, LOG_NOTICE, "partitions", NULL, NULL,
			      "fabric: partitions were removed, all ports are in one partition");
}

/*
 * The set that waits, if one does, is in force; the older one stays for those who were not notified
 * yet.
 */
static void take_next(struct partition_room *r)
{
	if (!r->next)
		return;
	r->before.set = r->now.set;
	r->now.set = r->next;
	r->next = NULL;
	preset(r, r->now.set);
	log_change(r, r->before.set);
}

static void publish(struct partition_room *r)
{
	const struct topo *topo = fabric_view(r->fabric).topo;
	uint32_t sm_port = topo_find_port(topo, mad_port_info(r->services.mad)->port_guid);

	published_fini(&r->before);
	take_next(r);
	r->before.pkeys = r->now.pkeys;
	r->now.pkeys = partition_resolve(r->now.set, topo, sm_port);
	fabric_publish_partitions(r->fabric, r->now.set, r->now.pkeys);
}

static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	if (step == FABRIC_PUBLISHED)
		publish(room);
}

static void settled(void *room, enum fabric_settle_step step)
{
	struct partition_room *r = room;

	if (step == FABRIC_SETTLED)
		published_fini(&r->before);
}

json_t *partitions_document(const struct fabric *fabric, const char *which)
{
	const struct partition_room *r = fabric_room(fabric, &partition_module);
	const struct fabric_view view = fabric_view(fabric);

	return partition_report(
		&(struct partition_report){ .set = r->now.set ? r->now.set : r->next,
					    .topo = view.topo,
					    .lids = view.lids,
					    .pkeys = r->now.pkeys,
					    .inventory = r->services.inventory },
		which);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	struct partition_room *r = mem_alloc(1, sizeof(*r));
	const struct conf *conf;

	r->fabric = fabric;
	r->services = fabric_services(fabric);
	conf = r->services.conf;
	r->text = kept_text(conf);
	r->next = load_file(r);
	if (!r->next && r->text)
		r->next = parse_kept(conf, r->text);
	if (!r->next)
		r->next = nobody_but_us(conf);
	return r;
}

static void fini(void *room)
{
	struct partition_room *r = room;

	published_fini(&r->before);
	published_fini(&r->now);
	partition_free(r->next);
	free(r->text);
	free(r);
}

const struct fabric_module partition_module = { .name = "partition",
						.init = init,
						.fini = fini,
						.load = load,
						.configure = configure,
						.settled = settled,
						.published = published };
