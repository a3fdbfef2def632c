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
#include "fm/sa/sa.h"
#include "fm/state/disk.h"
#include "fm/inventory/port_setup.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

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

static uint64_t write_text(const void *arg, uint64_t from, FILE *out)
{
	fputs(((const struct partition_room *)arg)->text, out);
	return 0;
}

static const struct state_kind kept_kind = {
	.name = "partitions",
	.form = "the text of the last good partition_config_file",
	.write = write_text,
};

/*
 * NULL: the file is bad, which is logged and an alert. The text of a good one is kept in state_dir,
 * for a start that does not find the file.
 */
static struct partition_set *load_file(struct partition_room *r)
{
	const struct conf *conf = r->services.conf;
	const char *path = conf->partition.file;
	char *text = NULL;
	size_t len;
	const struct partition_options options = conf_partition_options(conf);
	char err[512];
	struct partition_set *set = partition_load(path, &options, err, sizeof(err));

	if (set && *path)
		text = mem_read_path(path, &len);
	if (text) {
		bool same = r->text && !strcmp(text, r->text);

		free(r->text);
		r->text = text;
		if (!same)
			state_changed(r->services.state, &kept_kind, r);
	}
	if (!set)
		event_log_add(r->services.events, LOG_ERR, "partitions-refused", NULL, NULL,
			      "fabric: previous partitions kept: %s", err);
	trouble_set(r->services.alerts, "partition_config_file", set ? NULL : err);
	return set;
}

static struct partition_set *parse_text(const struct conf *conf, const char *text)
{
	const struct partition_options options = conf_partition_options(conf);
	char *copy = mem_strdup(text), err[512];
	struct partition_set *set =
		partition_parse(conf->partition.file, copy, &options, err, sizeof(err));

	free(copy);
	return set;
}

bool partitions_kept(const struct conf *conf)
{
	char *text = disk_peek(conf->state_dir, kept_kind.name, "text");
	struct partition_set *set = text ? parse_text(conf, text) : NULL;

	partition_free(set);
	free(text);
	return set;
}

/* ---- What is published ----------------------------------------------------------------------- */

/*
 * What files hold of groups was read by now (FABRIC_RESTORE); who subscribes to news of them is not
 * known yet.
 */
static void load(void *room, enum fabric_load_step step)
{
	struct partition_room *r = room;

	if (step == FABRIC_LOAD)
		sa_mcast_preset(r->services.sa, r->next->groups, r->next->ngroups);
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

/*
 * The set that waits, if one does, is in force; the older one stays for those who were not notified
 * yet.
 */
static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	struct partition_room *r = room;
	const struct topo *topo = fabric_view(r->fabric).topo;
	const struct partition_set *set = r->next;

	if (step != FABRIC_PUBLISHED)
		return;
	published_fini(&r->before);
	if (set) {
		r->before.set = r->now.set;
		r->now.set = r->next;
		r->next = NULL;
		sa_mcast_preset(r->services.sa, set->groups, set->ngroups);
		if (!set->built_in)
			event_log_add(r->services.events, LOG_NOTICE, "partitions", NULL, NULL,
				      "fabric: %u partitions from %s", set->count,
				      r->services.conf->partition.file);
		else if (r->before.set && !r->before.set->built_in)
			event_log_add(r->services.events, LOG_NOTICE, "partitions", NULL, NULL,
				      "fabric: partitions were removed, all ports are in one "
				      "partition");
	}

	uint32_t sm_port = topo_find_port(topo, mad_port_info(r->services.mad)->port_guid);

	r->before.pkeys = r->now.pkeys;
	r->now.pkeys = partition_resolve(r->now.set, topo, sm_port);
	fabric_publish_partitions(r->fabric, r->now.set, r->now.pkeys);
}

static void settled(void *room, enum fabric_settle_step step)
{
	struct partition_room *r = room;

	if (step == FABRIC_SETTLED)
		published_fini(&r->before);
}

/* ---- What operators see ---------------------------------------------------------------------- */

/*
 * Membership is that of the configuration; the index of a P_Key is its place in the table that the
 * port last reported. The table of a port that is in the default partition only is not read.
 */
static json_t *json_member(const struct fabric_view *view, const struct inventory *inventory,
			   uint32_t port, uint16_t key)
{
	const struct topo *t = view->topo;
	const struct topo_port *p = &t->ports[port], *peer = topo_peer(t, p);
	const struct inv_node *node = inventory_find(inventory, t->nodes[p->node].guid);
	const struct inv_node *other =
		peer ? inventory_find(inventory, t->nodes[peer->node].guid) : NULL;
	const struct inv_pkeys *table =
		node && p->num <= node->nports ? port_setup(node, p->num)->pkeys : NULL;
	int index = !table && key == PKEY_DEFAULT ? 0 : -1; /* where the port holds the key */
	bool enforced =
		other && peer->num <= other->nports && port_setup(other, peer->num)->enforced;

	for (unsigned i = 0; table && index < 0 && i < table->cap; i++)
		if (table->have[i] == key)
			index = i;
	return json_pack("{ss so si si ss so sb}", "name", t->nodes[p->node].name, "guid",
			 json_guid(p->guid), "port", p->num, "lid", view->lids->lid_of_port[port],
			 "membership", key & PKEY_FULL ? "full" : "limited", "index",
			 index < 0 ? json_null() : json_integer(index), "enforced", enforced);
}

/* By name, or by P_Key in either membership. */
static const struct partition *partition_named(const struct partition_set *set, const char *which)
{
	const struct partition *named = partition_find_name(set, which);
	char *end;
	unsigned long pkey = strtoul(which, &end, 0);

	if (named)
		return named;
	return *which >= '0' && *which <= '9' && !*end && pkey <= UINT16_MAX
		       ? partition_find(set, pkey)
		       : NULL;
}

json_t *partitions_document(const struct fabric *fabric, const char *which)
{
	const struct partition_room *r = fabric_room(fabric, &partition_module);
	const struct fabric_view view = fabric_view(fabric);
	const struct partition_set *set = r->now.set ? r->now.set : r->next;
	const struct partition *one = which ? partition_named(set, which) : NULL;
	const struct topo *t = view.topo; /* NULL: nothing is published, and there are no members */
	int *full, *limited;		  /* members, by place in the set */

	if (which && !one)
		return NULL;

	json_t *list = json_array();
	json_t *members = one ? json_array() : NULL;

	full = mem_array(full, set->count);
	limited = mem_array(limited, set->count);
	for (uint32_t port = 0; t && port < t->nports; port++) {
		const struct topo_port *p = &t->ports[port];
		bool is_end = p->guid && (p->num == 0) == (t->nodes[p->node].type == TOPO_SWITCH);
		const uint16_t *keys;
		unsigned n = is_end ? pkey_map_keys(r->now.pkeys, port, &keys) : 0;

		for (unsigned i = 0; i < n; i++) {
			const struct partition *of = partition_find(set, keys[i]);

			(keys[i] & PKEY_FULL ? full : limited)[of - set->list]++;
			if (of == one)
				json_array_append_new(
					members,
					json_member(&view, r->services.inventory, port, keys[i]));
		}
	}
	for (uint32_t i = 0; i < set->count; i++) {
		const struct partition *part = &set->list[i];

		if (one && part != one)
			continue;
		json_add(list, "{ss so si sb si si so*}", "name", part->name, "pkey",
			 json_sprintf("0x%04x", part->base), "sl", part->sl, "ipoib", part->ipoib,
			 "full", full[i], "limited", limited[i], "members", members);
	}
	free(full);
	free(limited);
	return list;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	struct partition_room *r = ROOM_NEW(r, fabric);

	const struct conf *conf = r->services.conf;

	r->text = state_text(r->services.state, kept_kind.name);
	r->next = load_file(r);
	if (!r->next && r->text)
		r->next = parse_text(conf, r->text);
	if (!r->next)
		r->next = parse_text(conf, ""); /* ports may communicate with us alone */
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
