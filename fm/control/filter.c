/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* filter: which rows of a list are asked for. */
#include "fm/control/filter.h"
#include "fm/sa/module.h"
#include "routing/ftree/route.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/* ---- Find ------------------------------------------------------------------------------------ */

static guid_t port_of_alias(const void *arg, guid_t guid)
{
	return sa_port_of_alias(arg, guid);
}

bool command_find_what(const struct command_env *env, const char *text, unsigned accepts,
		       struct what *what, char *err)
{
	const struct fabric_view view = fabric_view(env->fabric);
	struct what_scope scope = fabric_view_scope(&view);

	scope.alias = port_of_alias;
	scope.alias_arg = env->fabric;
	return what_find(&scope, text, accepts, what, err, COMMAND_ERROR_SIZE);
}

uint32_t command_find_switch(const struct command_env *env, const char *text, char *err)
{
	const struct topo *t = fabric_view(env->fabric).topo;
	struct what what;

	if (!command_find_what(env, text, WHAT_NODE | WHAT_PORT, &what, err))
		return TOPO_NONE;
	if (t->nodes[what.node].type != TOPO_SWITCH)
		command_refuse(err, "%s is not a switch", t->nodes[what.node].name);
	else if (what.port)
		command_refuse(err, "%s: a port has no forwarding table; name its switch", text);
	else
		return what.node;
	return TOPO_NONE;
}

bool command_find_number(const struct command_env *env, const char *text, unsigned accepts,
			 struct what *what, char *err)
{
	static const struct topo nothing = { 0 };
	const struct fabric_view view = fabric_view(env->fabric);
	struct what_scope scope = fabric_view_scope(&view);

	if (!scope.topo)
		scope.topo = &nothing;
	scope.number_is_pkey = accepts == WHAT_PKEY;
	return what_find(&scope, text, accepts, what, err, COMMAND_ERROR_SIZE);
}

const char *command_find_host(const struct command_env *env, const char *text)
{
	char err[COMMAND_ERROR_SIZE];
	struct what what;

	return command_find_what(env, text, WHAT_HOST, &what, err)
		       ? fabric_view(env->fabric).topo->hosts[what.host].name
		       : NULL;
}

/* ---- Ends of paths --------------------------------------------------------------------------- */

unsigned command_end_ports(const struct command_env *env, const char *text, uint32_t **ports,
			   char *err)
{
	const struct fabric_view view = fabric_view(env->fabric);
	const uint32_t *nodes;
	unsigned count, found = 0;
	struct what what;
	char name[256];

	*ports = NULL;
	if (!command_find_what(env, text, WHAT_PLACE, &what, err))
		return 0;
	count = what_nodes(view.topo, &what, &nodes);
	*ports = mem_array(*ports, count);
	for (unsigned i = 0; i < count; i++) {
		/* A switch's own; of an HCA the one that was named, else the first with a LID. */
		const struct topo_node *n = &view.topo->nodes[nodes[i]];
		unsigned p = what.port ? what.port : 1, last = what.port ? what.port : n->nports;

		while (n->type != TOPO_SWITCH && p <= last && !view.lids->lid_of_port[n->port0 + p])
			p++;
		if (n->type == TOPO_SWITCH || p <= last)
			(*ports)[found++] = n->port0 + (n->type == TOPO_SWITCH ? 0 : p);
	}
	what_name(view.topo, &what, name, sizeof(name));
	if (!found)
		command_refuse(err, "%s has no port with a LID", name);
	return found;
}

/* ---- What an operator names, for lists ------------------------------------------------------- */

uint32_t place_host(const struct topo *t, const char *name)
{
	for (uint32_t h = 0; h < t->nhosts; h++)
		if (!strcmp(t->hosts[h].name, name))
			return h;
	return TOPO_NONE;
}

/* ---- Filter ---------------------------------------------------------------------------------- */

static const struct what anywhere = { .node = TOPO_NONE, .host = TOPO_NONE };

/* ---- Reading --------------------------------------------------------------------------------- */

/* text NULL: it stays anywhere. */
static bool read_place(const struct command_env *env, const char *text, struct what *place,
		       char *err)
{
	return !text || command_find_what(env, text, WHAT_PLACE, place, err);
}

/* A leaf, and a host by its name or by any of its HCAs. */
static bool read_leaf_and_host(struct filter *f, const struct command_env *env,
			       const char *const texts[2], char *err)
{
	const struct topo *t = f->topo;

	if (!read_place(env, texts[0], &f->leaf, err))
		return false;
	if (texts[0] && (f->leaf.node >= t->nswitches || f->leaf.port))
		return command_refuse(err, "%s is not a switch", texts[0]);
	if (!read_place(env, texts[1], &f->host, err))
		return false;
	if (f->host.node != TOPO_NONE)
		f->host.host = t->nodes[f->host.node].host;
	f->host.node = TOPO_NONE;
	f->host.port = 0;
	if (texts[1] && f->host.host == TOPO_NONE)
		command_refuse(err, "%s is not a host", texts[1]);
	return !texts[1] || f->host.host != TOPO_NONE;
}

static bool read_class(struct filter *f, const struct fabric *fabric, const char *text, char *err)
{
	static const char *const names[] = { [ROUTE_COMPUTE] = "compute",
					     [ROUTE_STORAGE] = "storage",
					     [ROUTE_MANAGEMENT] = "management" };

	for (int class = 0; text && class < (int)ARRAY_SIZE(names); class ++)
		if (!strcmp(names[class], text))
			f->class = class;
	if (!text)
		return true;
	if (f->class < 0)
		return command_refuse(err, "unknown class %s", text);

	struct fabric_policy policy = fabric_policy(fabric, f->topo, NULL);

	f->classes = policy.classes;
	policy.classes = NULL;
	fabric_policy_fini(&policy);
	return true;
}

/* Ascending from 0. */
struct numbers {
	int least, most; /* -1 = there are none */
};

static void count_in(struct numbers *numbers, int number)
{
	if (number >= 0 && (numbers->least < 0 || number < numbers->least))
		numbers->least = number;
	if (number > numbers->most)
		numbers->most = number;
}

/* asked -1 = any. first: how people count the first one. */
static bool is_within(int asked, const struct numbers *numbers, const char *what, int first,
		      char *err)
{
	if (asked < 0 || (numbers->most >= 0 && asked >= numbers->least && asked <= numbers->most))
		return true;
	if (numbers->most < 0)
		command_refuse(err, "%s %d: this fabric has no %ss", what, asked + first, what);
	else if (numbers->least == numbers->most)
		command_refuse(err, "no %s %d: this fabric has %d alone", what, asked + first,
			       numbers->least + first);
	else
		command_refuse(err, "no %s %d: this fabric has %d to %d", what, asked + first,
			       numbers->least + first, numbers->most + first);
	return false;
}

/* Taken out of the arguments; what is no text, number or flag where one belongs is refused. */
static bool unpack(struct filter *f, unsigned filters, json_t *args, json_t *mine,
		   const char *texts[4], char *err)
{
	static const char *const keys[] = { "leaf", "rail",	 "su",	  "host",
					    "down", "unhealthy", "class", "what" };
	int down = 0, unhealthy = 0, su = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *value = json_object_get(args, keys[i]);

		if (!value || (i < 7 && !(filters & 1u << i)))
			continue;
		json_object_set(mine, keys[i], value);
		json_object_del(args, keys[i]);
	}
	if (!command_unpack(mine, err, "{s?s s?i s?i s?s s?b s?b s?s s?s}", "leaf", &texts[0],
			    "rail", &f->rail, "su", &su, "host", &texts[1], "down", &down,
			    "unhealthy", &unhealthy, "class", &texts[2], "what", &texts[3]))
		return false;
	f->su = su - 1;
	f->down = down;
	f->unhealthy = unhealthy;
	return true;
}

bool filter_read(struct filter *f, const struct command_env *env, unsigned filters, json_t *args,
		 char *err)
{
	const char *texts[4] = { NULL, NULL, NULL, NULL };
	struct numbers rails = { -1, -1 }, sus = { -1, -1 };
	json_t *mine = json_object();

	*f = (struct filter){ .topo = fabric_view(env->fabric).topo,
			      .what = anywhere,
			      .leaf = anywhere,
			      .host = anywhere,
			      .rail = -1,
			      .class = -1 };

	bool good = unpack(f, filters, args, mine, texts, err);

	if (good && json_object_size(mine)) {
		for (uint32_t n = 0; f->topo && n < f->topo->nnodes; n++) {
			count_in(&rails, f->topo->nodes[n].rail);
			count_in(&sus, f->topo->nodes[n].su);
		}
		good = command_topo(env, err) && is_within(f->rail, &rails, "rail", 0, err) &&
		       is_within(f->su, &sus, "scalable unit", 1, err) &&
		       read_leaf_and_host(f, env, texts, err) &&
		       read_class(f, env->fabric, texts[2], err) &&
		       read_place(env, texts[3], &f->what, err);
	}
	if (good && f->unhealthy)
		f->sick = command_sick(env->fabric, f->topo);
	json_decref(mine);
	return good;
}

void filter_fini(struct filter *f)
{
	free(f->classes);
	free(f->sick);
}

/* ---- Places ---------------------------------------------------------------------------------- */

static bool is_anywhere(const struct what *place)
{
	return place->node == TOPO_NONE && place->host == TOPO_NONE;
}

static bool is_at(const struct filter *f, const struct what *place, uint32_t node)
{
	return place->node == node ||
	       (place->host != TOPO_NONE && f->topo->nodes[node].host == place->host);
}

static bool is_port_at(const struct filter *f, const struct what *place,
		       const struct topo_port *port)
{
	return is_at(f, place, port->node) && (!place->port || place->port == port->num);
}

static bool is_near(const struct filter *f, const struct what *place, uint32_t node)
{
	const struct topo *t = f->topo;

	if (is_anywhere(place) || is_at(f, place, node))
		return true;
	TOPO_LINKS (t, node, port, peer)
		if (is_port_at(f, place, peer))
			return true;
	return false;
}

/* ---- Nodes, hosts ---------------------------------------------------------------------------- */

static bool has_class(const struct filter *f, const struct topo_port *port)
{
	uint32_t index = port - f->topo->ports;

	return topo_is_host(f->topo, port->node) && port->num &&
	       (f->classes ? f->classes[index] : ROUTE_COMPUTE) == f->class;
}

static bool is_asked(const struct filter *f, uint32_t n)
{
	const struct topo_node *node = &f->topo->nodes[n];
	bool down = !f->down, unhealthy = !f->unhealthy, class = f->class < 0;

	if ((f->rail >= 0 && node->rail != f->rail) || (f->su >= 0 && node->su != f->su) ||
	    !is_near(f, &f->leaf, n) || !is_near(f, &f->host, n))
		return false;
	for (unsigned num = 1; num <= node->nports && !(down && unhealthy && class); num++) {
		const struct topo_port *port = topo_port(f->topo, n, num);

		down = down || (port->peer != TOPO_NONE && !port->link_up);
		unhealthy = unhealthy || f->sick[port - f->topo->ports];
		class = class || has_class(f, port);
	}
	return down && unhealthy && class;
}

bool filter_has_node(const struct filter *f, uint32_t node)
{
	return !f || ((is_anywhere(&f->what) || is_at(f, &f->what, node)) && is_asked(f, node));
}

static bool filter_has_switch(const struct filter *f, uint32_t node)
{
	return !f || (is_near(f, &f->what, node) && is_asked(f, node));
}

bool filter_has_host(const struct filter *f, uint32_t host)
{
	const struct topo_host *h = f ? &f->topo->hosts[host] : NULL;

	for (uint32_t i = 0; h && i < h->ncas; i++)
		if (filter_has_switch(f, f->topo->host_cas[h->first + i]))
			return true;
	return !h;
}

/* ---- Links ----------------------------------------------------------------------------------- */

/* b NULL = no link is known. */
static bool is_either(const struct filter *f, const struct what *place, const struct topo_port *a,
		      const struct topo_port *b)
{
	return is_anywhere(place) || is_port_at(f, place, a) || (b && is_port_at(f, place, b));
}

bool filter_has_link(const struct filter *f, uint32_t port)
{
	const struct topo_port *a = f ? &f->topo->ports[port] : NULL;
	const struct topo_port *b = f ? topo_peer(f->topo, a) : NULL;
	const struct topo_node *at = f ? &f->topo->nodes[a->node] : NULL;
	const struct topo_node *to = b ? &f->topo->nodes[b->node] : at;

	if (!f)
		return true;
	return is_either(f, &f->what, a, b) && is_either(f, &f->leaf, a, b) &&
	       is_either(f, &f->host, a, b) &&
	       (f->rail < 0 || at->rail == f->rail || to->rail == f->rail) &&
	       (f->su < 0 || at->su == f->su || to->su == f->su) &&
	       (!f->down || (a->peer != TOPO_NONE && !a->link_up)) &&
	       (!f->unhealthy || f->sick[port]) &&
	       (f->class < 0 || has_class(f, a) || (b && has_class(f, b)));
}

bool filter_has_port(const struct filter *f, uint32_t port)
{
	const struct topo_port *at = f ? &f->topo->ports[port] : NULL;

	if (f && !f->what.port && !is_anywhere(&f->what) && !is_at(f, &f->what, at->node))
		return false;
	return filter_has_link(f, port);
}

/* ---- Rows that others made ------------------------------------------------------------------- */

void filter_rows(const struct filter *f, json_t *rows)
{
	for (size_t i = json_array_size(rows); f && i-- > 0;) {
		const json_t *row = json_array_get(rows, i);
		guid_t guid = json_guid_of(row, "guid");
		uint32_t node = guid ? topo_find(f->topo, guid) : TOPO_NONE;
		uint32_t port = command_port_of(f->topo, json_object_get(row, "a"));

		if ((node != TOPO_NONE && !filter_has_switch(f, node)) ||
		    (port != TOPO_NONE && !filter_has_link(f, port)))
			json_array_remove(rows, i);
	}
}
