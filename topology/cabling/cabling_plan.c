/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cabling_plan: reads a plan and compares a fabric with it. A planned node is the node of the same
 * name; nodes whose name is not unique on both sides are left out. A node that is missing or not
 * planned is one finding, which stands for its cables too.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/names.h"
#include "topology/base/text.h"
#include "topology/cabling/cabling.h"
#include "topology/cabling/cabling_own.h"
#include "topology/files/netfile.h"
#include "topology/snapshot/topo_builder.h"

/* ---- A plan as a table of cable ends, a cable a row, with commas between --------------------- */

/*
 * The columns are known by a header: a device and a port at the start, and both at the end. UFM's
 * NDT calls them "StartDevice", "StartPort", "EndDevice", "EndPort"
 * (docs.nvidia.com/networking/display/ufmenterpriseumv61516/ndt-plugin; the tool that writes one is
 * plugins/ndt_plugin of Mellanox/ufm_sdk_3.0), NVIDIA's point-to-point lists "A-Node Name",
 * "A-Port" and "Z-..". Case, spaces and signs in names do not matter, nor the order and other
 * columns, but two: a row whose link type is not "Data", or whose state is neither "Active" nor
 * empty, is no cable of the fabric. A port is a number, "Port 21" or an HCA's name ("mlx5_0",
 * behind the host's name a description).
 *
 * topoconfig.conf, the list of links of NVIDIA's subnet manager, is such a table without a header:
 * its devices are GUIDs of nodes or ports. Where it has a line for each end none may lack.
 *
 * A device is the node of that description; else the switch of that name, as system managers put
 * it into descriptions ("MF0;NAME:MQM9700/U1").
 */

#define COLUMNS_MAX 64
#define NONE	    (-1)

enum column { START_DEVICE, START_PORT, END_DEVICE, END_PORT, LINK_TYPE, STATE, COLUMNS };

struct end {
	uint32_t device; /* id of its name */
	unsigned port;
};

struct row {
	struct end a, b;
	unsigned line;
};

struct table {
	const struct topo *t; /* whose names are known; NULL = none */
	const char *path;
	unsigned line;
	char *err;
	size_t err_size;
	bool config;	      /* topoconfig */
	int columns[COLUMNS]; /* where each is; NONE = not there */
	char *cells[COLUMNS_MAX];
	unsigned ncells;
	struct arena *arena;
	struct names devices, systems; /* descriptions of cables' ends; names within those of t */
	uint32_t *of_system; /* by id of a system: its node in t, TOPO_NONE = none, or several */
	struct row *rows;
	uint32_t nrows;
};

#define refuse(r, ...) text_refuse((r)->err, (r)->err_size, (r)->path, (r)->line, __VA_ARGS__)

/* ---- Cells ----------------------------------------------------------------------------------- */

/* Cuts a line at its commas; what is in double quotes may hold some. */
static bool cut_line(struct table *table, char *line)
{
	table->ncells = 0;
	for (char *at = line;; at++) {
		char *to = at, *begin = at, *end;
		bool quoted = false;

		for (; *at && (quoted || *at != ','); at++) {
			if (*at == '"' && quoted && at[1] == '"')
				*to++ = *at++;
			else if (*at == '"')
				quoted = !quoted;
			else
				*to++ = *at;
		}
		if (table->ncells == COLUMNS_MAX)
			return refuse(table, "more than %d columns", COLUMNS_MAX);
		end = to;
		while (end > begin && isspace((unsigned char)end[-1]))
			end--;
		bool more = *at == ',';
		*end = '\0';
		while (isspace((unsigned char)*begin))
			begin++;
		table->cells[table->ncells++] = begin;
		if (!more)
			return true;
	}
}

static const char *cell(const struct table *table, enum column column)
{
	int at = table->columns[column];

	return at == NONE || (unsigned)at >= table->ncells ? "" : table->cells[at];
}

static int column_of(const char *name)
{
	static const struct {
		const char *name;
		enum column column;
	} known[] = {
		{ "startdevice", START_DEVICE },     { "startport", START_PORT },
		{ "enddevice", END_DEVICE },	     { "endport", END_PORT },
		{ "anodename", START_DEVICE },	     { "aport", START_PORT },
		{ "znodename", END_DEVICE },	     { "zport", END_PORT },
		{ "sourcedevice", START_DEVICE },    { "sourceport", START_PORT },
		{ "destinationdevice", END_DEVICE }, { "destinationport", END_PORT },
		{ "linktype", LINK_TYPE },	     { "state", STATE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(name, known[i].name))
			return known[i].column;
	return NONE;
}

/* Is it a header? Then the columns are known. */
static bool read_header(struct table *table)
{
	for (unsigned c = 0; c < COLUMNS; c++)
		table->columns[c] = NONE;
	for (unsigned i = 0; i < table->ncells; i++) {
		/* "#Fields:StartDevice" and "start device" are "startdevice". */
		char name[64];
		const char *text = table->cells[i], *colon = strrchr(text, ':');
		size_t n = 0;

		for (text = colon ? colon + 1 : text; *text && n + 1 < sizeof(name); text++)
			if (isalnum((unsigned char)*text))
				name[n++] = tolower((unsigned char)*text);
		name[n] = '\0';

		int column = column_of(name);

		if (column != NONE && table->columns[column] == NONE)
			table->columns[column] = i;
	}
	return !any_of(c, START_DEVICE, END_PORT + 1, table->columns[c] == NONE);
}

/* ---- Devices --------------------------------------------------------------------------------- */

/* The id of the description that a name stands for, looked up once for each name. */
static uint32_t device_of(struct table *table, const char *name)
{
	uint32_t id = names_find(&table->devices, name, strlen(name)), system;

	if (id != NAMES_NONE)
		return id;
	system = names_find(&table->systems, name, strlen(name));
	if (system != NAMES_NONE && table->of_system[system] != TOPO_NONE)
		name = table->t->nodes[table->of_system[system]].desc;

	char *clean = arena_strdup(table->arena, name);

	text_clean(clean, strlen(clean), clean);
	return names_id(&table->devices, clean, strlen(clean));
}

static bool read_end(struct table *table, const char *device, const char *port, struct end *end)
{
	const char *digits = strncasecmp(port, "port", 4) ? port : port + 4;
	char name[256], hex[24], *rest;

	while (isspace((unsigned char)*digits))
		digits++;
	if (!*device || !*port)
		return refuse(table, "a cable's end without a device or port");
	if (table->config) {
		char *last;
		guid_t guid = strtoull(device, &last, 16);

		if (strncasecmp(device, "0x", 2) || *last || guid <= UINT32_MAX)
			return refuse(table, "'%s' is no GUID", device);
		array_printf(hex, "0x%016" PRIx64, guid);
		device = hex;
	}
	errno = 0;

	unsigned long number = strtoul(digits, &rest, 10);

	if (isdigit((unsigned char)*digits) && !*rest) {
		if (errno || !number || number > 254)
			return refuse(table, "port '%s' of %s is none of 1 to 254", port, device);
		*end = (struct end){ device_of(table, device), number };
		return true;
	}
	if (strchr(port, ' ') || strchr(port, '/'))
		return refuse(table, "port '%s' of %s: a number is needed, as in 'Port 21'", port,
			      device);
	array_printf(name, "%s %s", device, port);
	*end = (struct end){ device_of(table, name), 1 };
	return true;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static bool read_row(struct table *table)
{
	const char *type = cell(table, LINK_TYPE), *state = cell(table, STATE);
	struct row row = { .line = table->line };

	if (table->config && !*state)
		return refuse(table, "not GUID,PORT,GUID,PORT,TYPE,STATE: the file is cut off");
	if ((*type && strcasecmp(type, "data")) || (*state && strcasecmp(state, "active")))
		return true; /* no cable of the fabric */
	if (!read_end(table, cell(table, START_DEVICE), cell(table, START_PORT), &row.a) ||
	    !read_end(table, cell(table, END_DEVICE), cell(table, END_PORT), &row.b))
		return false;
	table->rows = mem_grow(table->rows, table->nrows);
	table->rows[table->nrows++] = row;
	return true;
}

static bool read_lines(struct table *table, char *text)
{
	bool header = false;

	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line[strcspn(line, "\r")] = '\0';
		table->line++;
		if (!line[strspn(line, " \t,")] || (header && *line == '#'))
			continue;
		if (!cut_line(table, line))
			return false;
		if (!header && !strncasecmp(table->cells[0], "0x", 2) && table->ncells >= 4) {
			for (unsigned c = START_DEVICE; c <= END_PORT; c++)
				table->columns[c] = c;
			table->columns[LINK_TYPE] = NONE;
			table->columns[STATE] = 5;
			header = table->config = true;
		}
		if (header && !read_row(table))
			return false;
		if (!header && !read_header(table))
			return refuse(table, "no header with the columns StartDevice, StartPort, "
					     "EndDevice and EndPort");
		header = true;
	}
	return header || refuse(table, "there is nothing in it");
}

/* ---- The plan -------------------------------------------------------------------------------- */

/* Made up where the table has none. */
static guid_t guid_of(const struct table *table, uint32_t device)
{
	return table->config ? strtoull(table->devices.list[device].text, NULL, 16) : device + 1;
}

static bool add_cable(struct table *table, struct topo_builder *b, const struct row *row)
{
	table->line = row->line;
	if (row->a.device == row->b.device && row->a.port == row->b.port)
		return refuse(table, "a cable from %s port %u to itself",
			      table->devices.list[row->a.device].text, row->a.port);
	if (topo_builder_link(b, topo_builder_find(b, guid_of(table, row->a.device)), row->a.port,
			      topo_builder_find(b, guid_of(table, row->b.device)), row->b.port,
			      true))
		return refuse(table, "%s port %u or %s port %u has another cable already",
			      table->devices.list[row->a.device].text, row->a.port,
			      table->devices.list[row->b.device].text, row->b.port);
	return true;
}

static struct topo *make_plan(struct table *table)
{
	struct topo_builder *b = topo_builder_new();
	unsigned *nports = mem_array(nports, table->devices.count + 1);
	bool *begins = mem_alloc(((size_t)table->devices.count + 1) << 8, 1);
	bool good = true, both = false;

	for (uint32_t i = 0; i < table->nrows; i++) {
		const struct row *row = &table->rows[i];

		begins[row->a.device << 8 | row->a.port] = true;
		both |= begins[row->b.device << 8 | row->b.port];
		if (row->a.port > nports[row->a.device])
			nports[row->a.device] = row->a.port;
		if (row->b.port > nports[row->b.device])
			nports[row->b.device] = row->b.port;
	}
	for (uint32_t id = 0; id < table->devices.count && good; id++) {
		const char *name = table->devices.list[id].text;
		guid_t guid = guid_of(table, id);
		uint32_t n = table->t ? topo_find(table->t, guid) : TOPO_NONE;

		good = topo_builder_node(
			       b, &(struct topo_node){
					  .guid = guid,
					  .desc = n == TOPO_NONE ? name : table->t->nodes[n].desc,
					  .nports = nports[id] ?: 1,
					  .type = nports[id] > 2 ? TOPO_SWITCH : TOPO_CA }) >= 0;
	}
	for (uint32_t i = 0; i < table->nrows && good; i++) {
		const struct row *row = &table->rows[i];

		good = add_cable(table, b, row);
		if (good && table->config && both && !begins[row->b.device << 8 | row->b.port])
			good = refuse(table, "no line begins with %s,%u: the file is cut off",
				      table->devices.list[row->b.device].text, row->b.port);
	}
	free(nports);
	free(begins);
	if (good)
		return topo_freeze(b);
	topo_builder_free(b);
	return NULL;
}

static struct topo *read_table(const char *name, const char *text, size_t len, const struct topo *t,
			       char *err, size_t err_size)
{
	struct table table = {
		.t = t, .path = name, .err = err, .err_size = err_size, .arena = arena_new()
	};
	char *copy = mem_alloc(len + 1, 1);
	struct topo *plan = NULL;

	memcpy(copy, text, len);

	uint32_t count = table.t ? table.t->nswitches : 0;

	table.of_system = mem_array(table.of_system, count + 1);
	for (uint32_t sw = 0; sw < count; sw++) {
		/* The system's name within "MF0;NAME:MODEL/U1". */
		const char *begin = strchr(table.t->nodes[sw].desc, ';');
		const char *end = begin ? strrchr(begin, ':') : NULL;
		uint32_t before = table.systems.count, id;

		if (!end || end == begin + 1)
			continue;
		id = names_id(&table.systems, begin + 1, end - begin - 1);
		table.of_system[id] = id < before ? TOPO_NONE : sw;
	}
	/* A description goes before a name within another one. */
	for (uint32_t n = 0; table.t && n < table.t->nnodes; n++) {
		const char *desc = table.t->nodes[n].desc;
		uint32_t id = names_find(&table.systems, desc, strlen(desc));

		if (id != NAMES_NONE)
			table.of_system[id] = TOPO_NONE;
	}

	if (strlen(copy) != len)
		refuse(&table, "a zero byte: this is no text");
	else if (read_lines(&table, copy))
		plan = make_plan(&table);
	free(copy);
	names_fini(&table.devices);
	names_fini(&table.systems);
	free(table.of_system);
	free(table.rows);
	arena_free(table.arena);
	return plan;
}

struct topo *cabling_plan_parse(const char *name, const char *text, size_t len,
				const struct topo *t, char *err, size_t err_size)
{
	size_t at = 0, commas = 0;

	/*
	 * Of ibnetdiscover's lines the first ones have no commas: they are comments and
	 * `vendid=0x2c9`.
	 */
	while (at < len && isspace((unsigned char)text[at]))
		at++;
	for (; at < len && text[at] != '\n'; at++)
		commas += text[at] == ',';
	return commas >= 3 ? read_table(name, text, len, t, err, err_size)
			   : netfile_parse(name, text, len, err, err_size);
}

struct topo *cabling_plan_read(const char *path, const struct topo *t, char *err, size_t err_size)
{
	size_t len;
	char *text = mem_read_named(path, &len, err, err_size);
	struct topo *plan = text ? cabling_plan_parse(path, text, len, t, err, err_size) : NULL;

	free(text);
	return plan;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

#define AMBIGUOUS (TOPO_NONE - 1)

struct side {
	const struct topo *t;
	uint32_t *name;		/* by node: id of the name that it is known by */
	uint32_t *node_of_name; /* by name: the node, TOPO_NONE or AMBIGUOUS */
	uint32_t *other; /* by node: the same node on the other side, TOPO_NONE or AMBIGUOUS */
};

/*
 * A plan may call a node by its NodeDescription or by its name of the node-name-map: that one
 * counts where the plan has it, and the plan's names are in the set before those of the fabric.
 * SHARP aggregation nodes are inside of switches and have no cables: no name stands for one.
 */
static void find_names(struct side *side, struct names *names, uint32_t capacity)
{
	side->name = mem_array(side->name, side->t->nnodes + 1);
	side->node_of_name = mem_array(side->node_of_name, capacity);
	memset(side->node_of_name, 0xff, capacity * sizeof(uint32_t));
	for (uint32_t n = 0; n < side->t->nnodes; n++) {
		const struct topo_node *node = &side->t->nodes[n];
		uint32_t label = names_find(names, node->label, strlen(node->label));
		uint32_t id = label != NAMES_NONE ? label
						  : names_id(names, node->desc, strlen(node->desc));
		bool names_it = names->list[id].len && !node->sharp;

		side->name[n] = id;
		side->node_of_name[id] =
			names_it && side->node_of_name[id] == TOPO_NONE ? n : AMBIGUOUS;
	}
}

static void find_others(struct side *side, const struct side *across)
{
	side->other = mem_array(side->other, side->t->nnodes + 1);
	for (uint32_t n = 0; n < side->t->nnodes; n++) {
		uint32_t id = side->name[n];

		side->other[n] =
			side->node_of_name[id] == AMBIGUOUS ? AMBIGUOUS : across->node_of_name[id];
	}
}

static void sides_begin(struct side *plan, struct side *real)
{
	uint32_t capacity = plan->t->nnodes + real->t->nnodes + 1;
	struct names names = { 0 };

	find_names(plan, &names, capacity);
	find_names(real, &names, capacity);
	find_others(plan, real);
	find_others(real, plan);
	names_fini(&names);
}

static void sides_end(struct side *plan, struct side *real)
{
	for (struct side *side = plan; side; side = side == plan ? real : NULL) {
		free(side->name);
		free(side->node_of_name);
		free(side->other);
	}
}

static bool is_node(uint32_t other)
{
	return other < AMBIGUOUS;
}

static void list_nodes(struct cabling *c, const struct side *side, enum cabling_kind kind)
{
	for (uint32_t n = 0; n < side->t->nnodes; n++) {
		struct cabling_end end = { .name = side->t->nodes[n].name };

		c->not_unique += side->other[n] == AMBIGUOUS && !side->t->nodes[n].sharp;
		if (side->other[n] == TOPO_NONE)
			cabling_add(c, &(struct cabling_item){ .kind = kind,
							       .at = end,
							       .a = end,
							       .rail = -1,
							       .leaf_rail = -1 });
	}
}

/* The vertex of a planned port; a new one where the fabric's node has no port of that number. */
static uint32_t planned_end(struct wiring *w, const struct side *plan, const struct topo_port *port)
{
	uint32_t node = plan->other[port->node];

	if (port->num <= w->t->nodes[node].nports)
		return w->t->nodes[node].port0 + port->num;
	return wiring_add_end(w, node, w->t->nodes[node].name, port->num);
}

struct cabling *cabling_compare(const struct topo *plan_topo, const struct topo *t)
{
	struct side plan = { .t = plan_topo }, real = { .t = t };
	struct wiring w;

	wiring_init(&w, t);
	w.planned = true;
	sides_begin(&plan, &real);
	list_nodes(w.result, &plan, CABLING_ABSENT);
	TOPO_CABLES (plan.t, port, peer)
		if (is_node(plan.other[port->node]) && is_node(plan.other[peer->node]))
			wiring_expect(&w, planned_end(&w, &plan, port),
				      planned_end(&w, &plan, peer), (struct wiring_votes){ 0 });

	/*
	 * Marks cables between planned nodes that are not planned; reports planned ones that are
	 * down.
	 */
	for (uint32_t p = 0; p < w.t->nports; p++) {
		uint32_t peer = w.v[p].found;

		if (peer == TOPO_NONE || peer < p || !is_node(real.other[w.v[p].node]) ||
		    !is_node(real.other[w.v[peer].node]))
			continue;
		if (w.v[p].want == TOPO_NONE && w.v[peer].want == TOPO_NONE)
			w.v[p].stray = w.v[peer].stray = true;
		else if (w.v[p].want == peer && !w.t->ports[p].link_up)
			cabling_add(w.result, &(struct cabling_item){ .kind = CABLING_DOWN,
								      .at = w.v[p].end,
								      .found = w.v[peer].end,
								      .a = w.v[p].end,
								      .b = w.v[peer].end,
								      .a_found = w.v[peer].end,
								      .b_found = w.v[p].end });
	}

	cabling_report(&w, NULL);
	list_nodes(w.result, &real, CABLING_UNKNOWN);
	cabling_sort(w.result);
	sides_end(&plan, &real);
	free(w.v);
	return w.result;
}

/* ---- For admission --------------------------------------------------------------------------- */

/*
 * The line of a plan's text with that port of a device: in a table a cell and the one behind it, in
 * ibnetdiscover's format a line behind the node's first one. Port 0: the device's first line.
 */
static unsigned find_line(const char *text, const char *name, unsigned port)
{
	const char *line = text, *end;
	unsigned number = 1, n;
	bool inside = false;

	for (; *line; line = *end ? end + 1 : end, number++) {
		const char *at = strcasestr(line, name), *rest = at ? at + strlen(name) : line;

		end = strchrnul(line, '\n');
		if (isalpha((unsigned char)*line))
			inside = at && at < end && *rest == '"';
		if (inside && (!port || (sscanf(line, "[%u]", &n) == 1 && n == port)))
			return number;
		rest += strspn(rest, "\" ");
		if (at && at < end && *rest == ',' &&
		    (!port ||
		     ((sscanf(rest, ",%u", &n) == 1 || sscanf(rest, ",%*[^0-9,]%u", &n) == 1) &&
		      n == port)))
			return number;
	}
	return 1;
}

guid_t *cabling_plan_guids(const struct topo *plan, const struct topo *t)
{
	struct side real = { .t = t }, side = { .t = plan };
	guid_t *guids = mem_array(guids, plan->nnodes + 1);

	sides_begin(&side, &real);
	for (uint32_t n = 0; n < plan->nnodes; n++) {
		guid_t guid = plan->nodes[n].guid;
		uint32_t is = side.other[n], port = topo_find_port(t, guid);

		if (!is_node(is) && topo_find(t, guid) == TOPO_NONE && port != TOPO_NONE)
			is = t->ports[port].node;
		guids[n] = is_node(is) ? t->nodes[is].guid : guid > UINT32_MAX ? guid : 0;
	}
	sides_end(&side, &real);
	return guids;
}

bool cabling_plan_fits(const struct topo *plan, const struct topo *t, const char *path,
		       const char *text, char *err, size_t err_size)
{
	guid_t *guids = cabling_plan_guids(plan, t);
	bool *reached = mem_alloc(plan->nnodes + 1, 1), more = true;
	const char *why = NULL;
	const struct topo_node *node = NULL;
	char guid[24];
	unsigned line = 1, num = 0;

	for (uint32_t n = 0; n < plan->nnodes && !why; n++) {
		uint32_t is = topo_find(t, guids[n]);

		reached[n] = is != TOPO_NONE;
		node = &plan->nodes[n];
		for (num = 1; num <= node->nports && reached[n] && !why; num++)
			if (plan->ports[node->port0 + num].peer != TOPO_NONE &&
			    num > t->nodes[is].nports)
				why = "the device has no such port";
	}
	while (more && !why) {
		more = false;
		for (uint32_t p = 0; p < plan->nports; p++) {
			const struct topo_port *port = &plan->ports[p];
			const struct topo_port *peer = topo_peer(plan, port);

			if (peer && reached[port->node] && !reached[peer->node])
				more = reached[peer->node] = true;
		}
	}
	for (uint32_t n = 0; n < plan->nnodes && !why; n++)
		if (!reached[n]) {
			why = "neither known nor cabled to what is: the plan is of another fabric";
			node = &plan->nodes[n];
			num = 1;
		}
	if (why) {
		array_printf(guid, "0x%016" PRIx64, node->guid);
		line = find_line(text, guid, --num);
		line = line > 1 ? line : find_line(text, node->desc, num);
		snprintf(err, err_size, "%s:%u: %s%s%.0u: %s", path, line, node->desc,
			 num ? " port " : "", num, why);
	} else if (text[strlen(text) - 1] != '\n') {
		for (const char *at = text; (at = strchr(at, '\n')); at++)
			line++;
		why = "the line has no end: the file is cut off";
		snprintf(err, err_size, "%s:%u: %s", path, line, why);
	}
	free(guids);
	free(reached);
	return !why;
}

struct topo *cabling_plan_add(const struct topo *plan, const struct topo *t, unsigned *added)
{
	struct topo_port like[2] = { { .state = TOPO_ACTIVE }, { .state = TOPO_ACTIVE } };
	guid_t *guids = cabling_plan_guids(plan, t);
	struct topo_builder *b = topo_builder_from(t);
	int *nodes = mem_array(nodes, plan->nnodes + 1);

	/* New links are like those that are there, between switches and of hosts. */
	for (uint32_t p = 0; p < t->nswitch_ports; p++)
		if (t->ports[p].link_up) {
			struct topo_port *attr = &like[t->ports[p].peer >= t->nswitch_ports];

			attr->speed = t->ports[p].speed;
			attr->width = t->ports[p].width;
			attr->mtu = t->ports[p].mtu;
		}
	for (uint32_t n = 0; n < plan->nnodes; n++) {
		const struct topo_node attr = { .guid = guids[n] ?: UINT64_MAX - n,
						.desc = plan->nodes[n].desc,
						.type = plan->nodes[n].type,
						.nports = plan->nodes[n].nports,
						.lft_cap = t->nodes[0].lft_cap,
						.mft_cap = t->nodes[0].mft_cap };
		uint32_t is = topo_find(t, guids[n]);

		nodes[n] = is == TOPO_NONE ? topo_builder_node(b, &attr) : (int)is;
		if (is == TOPO_NONE && attr.type == TOPO_SWITCH)
			topo_builder_port(b, nodes[n], 0, &(struct topo_port){ .guid = attr.guid });
	}
	TOPO_CABLES (plan, port, peer) {
		uint32_t node = nodes[port->node];

		if ((node < t->nnodes && topo_port(t, node, port->num)->peer != TOPO_NONE) ||
		    topo_builder_link(b, node, port->num, nodes[peer->node], peer->num, true))
			continue;
		++*added;
		for (unsigned i = 0; i < 2; i++) {
			const struct topo_port *end = i ? peer : port;
			bool host = plan->nodes[end->node].type != TOPO_SWITCH;

			if (host)
				like[1].guid =
					(guids[end->node] ?: UINT64_MAX - end->node) + end->num;
			topo_builder_port(b, nodes[end->node], end->num, &like[host]);
		}
	}
	free(guids);
	free(nodes);
	return topo_freeze(b);
}
