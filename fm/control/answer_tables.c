/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * answer_tables: forwarding tables: of a switch, along a path, their proof, and as OpenSM's files.
 */
#include "fm/adaptive/module.h"
#include "fm/audit/module.h"
#include "fm/control/answer.h"
#include "fm/control/filter.h"
#include "fm/control/option.h"
#include "fm/fabric/view.h"
#include "fm/inforce/module.h"
#include "fm/multicast/module.h"
#include "fm/opensm/osm_dump.h"
#include "routing/path.h"
#include "routing/report/report.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/names.h"
#include "topology/base/text.h"

/* ---- Answer rows ----------------------------------------------------------------------------- */

/* sort: the rows of an answer in the order of one of their columns. */

enum kind { NUMBER, TEXT, NOTHING };

struct item {
	json_t *row;
	const char *text;
	double number;
	size_t at; /* where it was */
	enum kind kind;
	bool down;
};

static int compare_items(const void *va, const void *vb)
{
	const struct item *a = va, *b = vb;
	bool nothing = a->kind == NOTHING || b->kind == NOTHING;
	int order = sort_order(a->kind, b->kind);

	if (!order && a->kind == TEXT)
		order = names_compare(a->text, strlen(a->text), b->text, strlen(b->text));
	else if (!order)
		order = sort_order(a->number, b->number);
	return (a->down && !nothing ? -order : order) ?: sort_order(a->at, b->at);
}

/* answer_rows: what is common to answers that are lists: their filters and their order. */

/* A question whose filters and order are understood. */
struct asked {
	struct command_env env;
	json_t *args; /* without those of filters and order */
	struct filter filter;
	const struct table_column *by; /* that rows are sorted by; NULL = as they are */
	bool down;		       /* the largest first */
};

static bool asked_init(struct asked *a, const struct command_env *env,
		       const struct command *command, json_t *args, char *err)
{
	const char *text = command_option_find(command, "sort") ? json_text(args, "sort") : NULL;

	*a = (struct asked){ .env = *env, .args = json_copy(args), .down = text && *text == '-' };
	a->by = text ? command_column_find(command, text + a->down) : NULL;
	if (text && !a->by)
		return command_refuse(err, "unknown column %s", text + a->down);
	if (text)
		json_object_del(a->args, "sort");
	if (command->filters && !filter_read(&a->filter, env, command->filters, a->args, err))
		return false;
	a->env.filter = a->filter.topo ? &a->filter : NULL; /* no fabric: nothing to choose by */
	return true;
}

static void asked_fini(struct asked *a)
{
	filter_fini(&a->filter);
	json_decref(a->args);
}

static void collect(void *arg, json_t *row)
{
	json_array_append_new(arg, row);
}

json_t *command_answer(const struct command_env *env, const struct command *command, json_t *args,
		       char *err)
{
	const struct command_run *run = command->run;
	json_t *result = NULL;
	struct asked a;

	if (asked_init(&a, env, command, args, err))
		result = run->rows ? json_array() : run->answer(&a.env, a.args, err);
	if (result && run->rows && !run->rows(&a.env, a.args, collect, result, err)) {
		json_decref(result);
		result = NULL;
	}
	if (result && a.by) {
		/*
		 * Numbers by their value, texts naturally ("leaf-2" before "leaf-10"), false before
		 * true, lists by their length; numbers before texts. Rows that are equal stay in
		 * their order, those that have nothing there come last either way. rows NULL is
		 * fine.
		 */
		json_t *rows = command_rows(command, result);
		size_t count = json_array_size(rows);
		struct item *items = mem_array(items, count + 1);

		for (size_t i = 0; i < count; i++) {
			json_t *row = json_incref(json_array_get(rows, i));
			const json_t *value = table_value(row, a.by->key);
			struct item item = { .row = row, .at = i, .down = a.down, .kind = NUMBER };

			if (json_is_string(value)) {
				item.kind = TEXT;
				item.text = json_string_value(value);
			} else if (json_is_array(value)) {
				item.number = (double)json_array_size(value);
			} else if (json_is_boolean(value)) {
				item.number = json_is_true(value);
			} else if (json_is_number(value)) {
				item.number = json_number_value(value);
			} else {
				item.kind = NOTHING;
			}
			items[i] = item;
		}
		qsort(items, count, sizeof(*items), compare_items);
		for (size_t i = 0; i < count; i++)
			json_array_set_new(rows, i, items[i].row);
		free(items);
	}
	asked_fini(&a);
	return result;
}

/* ---- One by one ------------------------------------------------------------------------------ */

struct stream {
	FILE *out;
	const char *before; /* of the next row */
};

static void write_row(void *arg, json_t *row)
{
	struct stream *stream = arg;

	fputs(stream->before, stream->out);
	stream->before = ",";
	json_dumpf(row, stream->out, JSON_COMPACT);
	json_decref(row);
}

bool command_can_stream(const struct command *command, json_t *args)
{
	return command->run->rows && !json_object_get(args, "sort");
}

bool command_stream(const struct command_env *env, const struct command *command, json_t *args,
		    const char *head, FILE *out, char *err)
{
	struct stream stream = { out, head };
	struct asked a;
	bool good = asked_init(&a, env, command, args, err) &&
		    command->run->rows(&a.env, a.args, write_row, &stream, err);

	if (good && stream.before == head)
		fputs(head, out);
	asked_fini(&a);
	return good;
}

/* ---- Answer tables --------------------------------------------------------------------------- */

/* One row for each LID that somebody has; port null = packets to it are dropped. */
static json_t *answer_lft(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = command_topo(env, err);
	const struct lid_map *lids = fabric_view(env->fabric).lids;
	const char *what;

	if (!t || !command_tables(env, err) || !command_unpack(args, err, "{s:s}", "switch", &what))
		return NULL;

	uint32_t node = command_find_switch(env, what, err);

	if (node == TOPO_NONE)
		return NULL;

	const uint8_t *row = tables_row(inforce_tables(env->fabric), node);
	const struct topo_node *sw = &t->nodes[node];
	json_t *entries = json_array();

	for (uint32_t lid = 1; lid <= lids->top; lid++)
		if (lids->port_of_lid[lid] != TOPO_NONE)
			json_add(entries, "{si so ss so*}", "lid", lid, "port",
				 json_index(row[lid] == TABLES_NO_ROUTE ? -1 : row[lid]), "to",
				 t->nodes[t->ports[lids->port_of_lid[lid]].node].name, "choice",
				 adaptive_choices(env->fabric, sw->guid, lid));
	return json_pack("{s:s, s:o, s:i, s:o}", "name", sw->name, "guid", json_guid(sw->guid),
			 "lid", lids->lid_of_port[sw->port0], "entries", entries);
}
const struct command_run lft_run = { .answer = answer_lft, .long_answer = true };

static json_t *path_hops(struct fabric *fabric, const struct fabric_view *view,
			 const struct path *path, uint16_t lid)
{
	json_t *hops = json_array();

	for (unsigned i = 0; i < path->count; i++) {
		/*
		 * Ports are null where there is none: in at the first hop, out at the last, and on
		 * a switch that is an end itself.
		 */
		const struct topo *t = view->topo;
		const struct path_hop *hop = &path->hops[i];
		const struct topo_node *node = &t->nodes[hop->node];
		const struct topo_port *out = topo_port(t, hop->node, hop->out_port);
		unsigned lid_port = hop->out_port ? hop->out_port : hop->in_port;
		bool leaves = hop->out_port;

		if (node->type == TOPO_SWITCH)
			lid_port = 0;
		json_add(hops, "{s:s, s:o, s:s, s:i, s:o, s:o, s:o, s:o, s:o*}", "name", node->name,
			 "guid", json_guid(node->guid), "role", topo_role_name(node->role), "lid",
			 view->lids->lid_of_port[node->port0 + lid_port], "in_port",
			 json_index(hop->in_port ? hop->in_port : -1), "out_port",
			 json_index(leaves ? hop->out_port : -1), "speed",
			 leaves ? json_string(topo_speed_name(out->speed)) : json_null(), "width",
			 leaves ? json_integer(out->width) : json_null(), "choice",
			 adaptive_choices(fabric, node->guid, lid));
	}
	return hops;
}

/* Why no packet passes the link of an end port. False: it is up. */
static bool end_is_dead(const struct topo *t, uint32_t end, char why[COMMAND_ERROR_SIZE])
{
	const struct topo_port *port = &t->ports[end], *peer = topo_peer(t, port);
	const struct topo_node *far = peer ? &t->nodes[peer->node] : NULL;

	if (port->link_up || t->nodes[port->node].type == TOPO_SWITCH)
		return false;
	if (!far)
		snprintf(why, COMMAND_ERROR_SIZE, "%s has no link", t->nodes[port->node].name);
	else if (!any_of(num, 1, far->nports + 1, topo_port(t, peer->node, num)->link_up))
		snprintf(why, COMMAND_ERROR_SIZE, "%s is down", far->name);
	else
		snprintf(why, COMMAND_ERROR_SIZE, "the link of %s to %s port %u is down",
			 t->nodes[port->node].name, far->name, peer->num);
	return true;
}

/* As packets go now. False: they do not arrive; why is filled. */
static bool find_path(struct fabric *fabric, const struct fabric_view *view, uint32_t from,
		      uint32_t to, struct path *path, char why[COMMAND_ERROR_SIZE])
{
	uint16_t lid = view->lids->lid_of_port[to];
	int status = path_trace(view->topo, view->lids, view->tables, from, lid, path);
	json_t *waits = lid ? inforce_waits_json(fabric, from, lid) : NULL;

	if ((waits || status) && !end_is_dead(view->topo, from, why) &&
	    !end_is_dead(view->topo, to, why)) {
		if (waits)
			snprintf(why, COMMAND_ERROR_SIZE, "%s %s", json_text(waits, "node"),
				 json_text(waits, "why"));
		else
			snprintf(why, COMMAND_ERROR_SIZE, "%s", strerror(-status));
	}
	json_decref(waits);
	return !waits && !status;
}

/* One path of a host's: which ends it joins, and by which switches. */
static json_t *path_row(struct fabric *fabric, const struct fabric_view *view, uint32_t from,
			uint32_t to)
{
	const struct topo *t = view->topo;
	struct path path = { 0 };
	json_t *via = json_array();
	char why[COMMAND_ERROR_SIZE];
	bool found = find_path(fabric, view, from, to, &path, why);

	for (unsigned i = 0; found && i < path.count; i++)
		if (path.hops[i].node < t->nswitches)
			json_array_append_new(via, json_string(t->nodes[path.hops[i].node].name));
	return json_pack("{ss ss si si so ss*}", "from", t->nodes[t->ports[from].node].name, "to",
			 t->nodes[t->ports[to].node].name, "slid", view->lids->lid_of_port[from],
			 "dlid", view->lids->lid_of_port[to], "via", via, "error",
			 found ? NULL : why);
}

struct ends {
	uint32_t *ports;
	unsigned count;
};

/* Of a host's ports the one on the other end's rail, else that in its place, else the first. */
static uint32_t partner(const struct topo *t, uint32_t of, unsigned place, const struct ends *ends)
{
	int16_t rail = t->nodes[t->ports[of].node].rail;

	for (unsigned i = 0; rail >= 0 && i < ends->count; i++)
		if (t->nodes[t->ports[ends->ports[i]].node].rail == rail)
			return ends->ports[i];
	return ends->ports[place < ends->count ? place : 0];
}

static json_t *path_document(struct fabric *fabric, const struct fabric_view *view,
			     const struct ends *from, const struct ends *to, char *err)
{
	bool several = from->count > 1 || to->count > 1;
	bool by_target = to->count > from->count;
	uint32_t source = by_target ? partner(view->topo, to->ports[0], 0, from) : from->ports[0];
	uint32_t target = by_target ? to->ports[0] : partner(view->topo, source, 0, to);
	char why[COMMAND_ERROR_SIZE];
	struct path path;
	bool found = find_path(fabric, view, source, target, &path, why);

	if (!found && !several)
		return command_refuse(err, "%s", why);

	uint16_t dlid = view->lids->lid_of_port[target];
	json_t *doc = json_pack("{s:i, s:o}", "dlid", dlid, "hops",
				found ? path_hops(fabric, view, &path, dlid) : json_array());

	if (several) {
		/* A row for each HCA of the host that has more of them. */
		json_t *rows = json_array();

		for (unsigned i = 0; from->count >= to->count && i < from->count; i++)
			json_array_append_new(rows,
					      path_row(fabric, view, from->ports[i],
						       partner(view->topo, from->ports[i], i, to)));
		for (unsigned i = 0; from->count < to->count && i < to->count; i++)
			json_array_append_new(rows,
					      path_row(fabric, view,
						       partner(view->topo, to->ports[i], i, from),
						       to->ports[i]));
		json_object_set_new(doc, "paths", rows);
	}
	return doc;
}

static json_t *answer_path(const struct command_env *env, json_t *args, char *err)
{
	struct fabric_view view = fabric_view(env->fabric);
	struct ends from = { 0 }, to = { 0 };
	const char *from_text, *to_text;
	char why[COMMAND_ERROR_SIZE];
	json_t *doc = NULL;

	if (!command_topo(env, err) || !command_tables(env, err) ||
	    !command_unpack(args, err, "{s:s, s:s}", "from", &from_text, "to", &to_text))
		return NULL;
	view.tables = inforce_tables(env->fabric);
	from.count = command_end_ports(env, from_text, &from.ports, err);
	if (from.count)
		to.count = command_end_ports(env, to_text, &to.ports, err);
	if (to.count)
		doc = path_document(env->fabric, &view, &from, &to, why);
	if (to.count && !doc)
		command_refuse(err, "no route from %s to %s: %.60s", from_text, to_text, why);
	free(from.ports);
	free(to.ports);
	return doc;
}
const struct command_run path_run = { .answer = answer_path };

static json_t *answer_check(const struct command_env *env, json_t *args, char *err)
{
	struct check_report report = { 0 };
	int readback = 0;

	if (!command_topo(env, err) || !command_tables(env, err) ||
	    !command_unpack(args, err, "{s?b}", "readback", &readback))
		return NULL;

	bool sound = fabric_check(env->fabric, &report);

	return json_pack("{s:b, s:o, s:o}", "sound", sound, "proof", report_proof(&report),
			 "in_force", inforce_json(env->fabric));
}
const struct command_run check_run = { .answer = answer_check,
				       .long_answer = true,
				       .begin = audit_readback };

static json_t *answer_dump(const struct command_env *env, json_t *args, char *err)
{
	const char *file;

	if (!command_topo(env, err) || !command_tables(env, err) ||
	    !command_unpack(args, err, "{s:s}", "file", &file))
		return NULL;
	return osm_dump_find(file) ? json_pack("{s:s}", "follows", "text")
				   : command_refuse(err, "no dump file %s", file);
}

static int text_dump(const struct command_env *env, json_t *args, FILE *out)
{
	const char *file = json_text(args, "file");
	const struct fabric_view view = fabric_view(env->fabric);
	const struct osm_dump_view dump = { view.topo, view.lids, view.tables,
					    multicast_trees(env->fabric) };

	if (!osm_dump_find(file)->write)
		return adaptive_write_far(env->fabric, inforce_tables(env->fabric), out);
	return osm_dump_find(file)->write(&dump, out);
}
const struct command_run dump_run = { .answer = answer_dump, .text = text_dump };
