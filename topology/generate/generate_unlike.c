/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Trees of unlike parts: machines and trunks of several kinds, directors as cores; and the nodes
 * and cables of which all generators make theirs.
 */
#include <assert.h>
#include <ctype.h>
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/generate/generate_own.h"

/* ---- What all fabrics are made of ------------------------------------------------------------ */

#define GUID_PREFIX 0x0002c90300000000u
#define GUID_HCA    0x80000000u
#define GUID_AN	    0xc0000000u
#define AN_DEVICE   0xcf09
#define AN_NAME	    "Mellanox Technologies Aggregation Node"
#define MTU_4096    5

static struct topo_port live_port(const struct generator *g)
{
	return (struct topo_port){
		.state = TOPO_INIT, .speed = g->speed, .width = 4, .mtu = MTU_4096
	};
}

struct made { /* a node of a generated fabric */
	enum topo_type type;
	guid_t guid;
	uint16_t device;
	unsigned nports;
	const char *name;
};

static int make_node(struct generator *g, const struct made *made)
{
	bool is_switch = made->type == TOPO_SWITCH;
	struct topo_node attr = {
		.guid = made->guid,
		.sys_guid = made->guid,
		.desc = made->name,
		.vendor = 0x2c9,
		.device = made->device,
		.type = made->type,
		.nports = made->nports,
		.enhanced_port0 = is_switch,
		.sharp = topo_named_sharp(made->name),
	};
	int node = topo_builder_node(g->builder, &attr);

	for (unsigned num = 0; num <= made->nports && node >= 0; num++) {
		struct topo_port port = live_port(g);

		port.guid = made->guid + num;
		/* A switch's ports come alive with their cables; an HCA's are all cabled. */
		if (num == 0 || is_switch)
			port = (struct topo_port){ .state = num ? TOPO_DOWN : TOPO_ACTIVE };
		if (num || is_switch)
			topo_builder_port(g->builder, node, num, &port);
	}
	return node;
}

int generate_switch(struct generator *g, unsigned nports, const char *name)
{
	guid_t guid = GUID_PREFIX + ((guid_t)++g->switches << 8);

	return make_node(g, &(struct made){ TOPO_SWITCH, guid, g->switch_device, nports, name });
}

int generate_hca(struct generator *g, unsigned nports, const char *name)
{
	guid_t guid = GUID_PREFIX + GUID_HCA + ((guid_t)++g->hcas << 8);

	return make_node(g, &(struct made){ TOPO_CA, guid, g->hca_device, nports, name });
}

void generate_host_cable(struct generator *g, int hca, unsigned hca_port, int sw, unsigned sw_port)
{
	struct topo_port attr = live_port(g);
	int error = topo_builder_port(g->builder, sw, sw_port, &attr);

	assert(!error);
	error = topo_builder_link(g->builder, hca, hca_port, sw, sw_port, true);
	assert(!error);
	(void)error;
}

void generate_cable(struct generator *g, int a, unsigned a_port, int b, unsigned b_port)
{
	struct topo_port attr = live_port(g);

	topo_builder_port(g->builder, a, a_port, &attr);
	generate_host_cable(g, a, a_port, b, b_port);
}

void generate_aggregation(struct generator *g, int sw, unsigned port)
{
	guid_t guid = GUID_PREFIX + GUID_AN + ((guid_t)g->switches << 8);
	int node = make_node(g, &(struct made){ TOPO_CA, guid, AN_DEVICE, 1, AN_NAME });

	generate_host_cable(g, node, 1, sw, port);
}

bool generate_number(const char *text, unsigned most, unsigned *value, const char **end)
{
	char *stop;
	unsigned long n = strtoul(text, &stop, 10);

	*value = n;
	*end = stop;
	return isdigit((unsigned char)text[0]) && n >= 1 && n <= most;
}

bool generate_list(const char *text, unsigned count, unsigned *list)
{
	for (unsigned i = 0; i < count; i++) {
		char *end;
		unsigned long n = strtoul(text, &end, 10);

		if (!isdigit((unsigned char)text[0]) || n > 100000 ||
		    *end != (i + 1 < count ? ',' : '\0'))
			return false;
		list[i] = n;
		text = end + 1;
	}
	return true;
}

/* ---- Unlike parts ---------------------------------------------------------------------------- */

/*
 * mixed: leaves under spines with so many parallel cables to each leaf, and machines of several
 * kinds. The leaves are in groups of eight (the rails of a unit). The machines' kinds take turns; a
 * machine of k HCAs has them on the k leaves of a group with the most free ports, in rail order, so
 * that counts are even and places are not. The first group that can take a kind does. A
 * kind that no group can take is passed over, until there is none for any.
 */

#define KINDS_MAX  8
#define TRUNKS_MAX 64

struct kind {
	unsigned count; /* HCAs of a machine, cables of a spine to each leaf */
	enum topo_speed speed;
};

struct mixed {
	unsigned leaves, hosts; /* ports for hosts of a leaf */
	struct kind kinds[KINDS_MAX], spines[TRUNKS_MAX];
	unsigned nkinds, nspines, up; /* up: ports of a leaf for cables to spines */
	int leaf[SWITCHES_MAX];
	unsigned used[SWITCHES_MAX]; /* host ports of each leaf */
};

/* "8xNDR,4xHDR": without a speed NDR. The number of them; 0 = it is no such list. */
static unsigned parse_kinds(const char *text, unsigned most, struct kind *list)
{
	unsigned n = 0;

	for (;; text++) {
		char speed[8] = "NDR";

		if (n == most || !generate_number(text, PORTS_MAX, &list[n].count, &text))
			return 0;
		if (*text == 'x') {
			size_t len = strcspn(++text, ",");

			snprintf(speed, sizeof(speed), "%.*s", (int)len, text);
			text += len;
		}
		list[n].speed = topo_speed_parse(speed);
		if (list[n++].speed == TOPO_SPEED_NONE)
			return 0;
		if (*text != ',')
			return *text ? 0 : n;
	}
}

static bool can_take(const struct mixed *x, unsigned first, unsigned size, unsigned hcas)
{
	unsigned free_leaves = 0;

	for (unsigned leaf = first; leaf < first + size; leaf++)
		free_leaves += x->used[leaf] < x->hosts;
	return free_leaves >= hcas;
}

static void make_machine(struct mixed *x, struct generator *g, unsigned first, unsigned size,
			 const struct kind *kind, unsigned number)
{
	bool taken[RAILS] = { false };
	unsigned hca = 0;
	char name[40];

	for (unsigned i = 0; i < kind->count; i++) {
		unsigned best = size;

		for (unsigned k = 0; k < size; k++)
			if (!taken[k] &&
			    (best == size || x->used[first + k] < x->used[first + best]))
				best = k;
		taken[best] = true;
	}
	g->speed = kind->speed;
	g->hca_device = kind->speed >= TOPO_NDR	  ? 0x1021
			: kind->speed == TOPO_HDR ? 0x101b
						  : 0x1017;
	for (unsigned k = 0; k < size; k++) {
		if (!taken[k])
			continue;
		array_printf(name, "node-%05u mlx5_%u", number, hca++);
		generate_host_cable(g, generate_hca(g, 1, name), 1, x->leaf[first + k],
				    ++x->used[first + k]);
	}
}

static struct topo *make_mixed(struct mixed *x)
{
	struct generator g = { .speed = TOPO_NDR, .switch_device = 0xd2f2 };
	unsigned number = 0, passed = 0, up = x->hosts;
	char name[40];

	g.builder = topo_builder_new();
	for (unsigned i = 0; i < x->leaves; i++) {
		array_printf(name, "leaf-%04u", i + 1);
		x->leaf[i] = generate_switch(&g, x->hosts + x->up, name);
	}
	for (unsigned turn = 0; passed < x->nkinds; turn++) {
		const struct kind *kind = &x->kinds[turn % x->nkinds];
		unsigned first = 0, size = 0;

		for (; first < x->leaves; first += RAILS) {
			size = x->leaves - first < RAILS ? x->leaves - first : RAILS;
			if (can_take(x, first, size, kind->count))
				break;
		}
		passed = first < x->leaves ? 0 : passed + 1;
		if (!passed)
			make_machine(x, &g, first, size, kind, ++number);
	}
	for (unsigned s = 0; s < x->nspines; s++) {
		unsigned cables = x->spines[s].count;

		array_printf(name, "spine-%02u", s + 1);

		int spine = generate_switch(&g, x->leaves * cables, name);

		g.speed = x->spines[s].speed;
		for (unsigned i = 0; i < x->leaves * cables; i++)
			generate_cable(&g, x->leaf[i / cables], up + i % cables + 1, spine, i + 1);
		up += cables;
	}
	return topo_freeze(g.builder);
}

struct topo *generate_mixed(int argc, char **argv, char *err, size_t err_size)
{
	struct mixed *x = mem_new(x);
	unsigned sizes[2];
	const char *reason = NULL;
	struct topo *t = NULL;

	*x = (struct mixed){ .leaves = 8, .hosts = 16 };
	x->nkinds = parse_kinds("8", KINDS_MAX, x->kinds);
	x->nspines = parse_kinds("4,4,4,4", TRUNKS_MAX, x->spines);
	for (int i = 1; i < argc && !reason; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (!strcmp(argv[i], "--size") && generate_list(value, 2, sizes)) {
			x->leaves = sizes[0];
			x->hosts = sizes[1];
		} else if (!strcmp(argv[i], "--kinds"))
			x->nkinds = parse_kinds(value, KINDS_MAX, x->kinds);
		else if (!strcmp(argv[i], "--trunks"))
			x->nspines = parse_kinds(value, TRUNKS_MAX, x->spines);
		else
			reason = "--size LEAVES,HOST-PORTS --kinds HCASxSPEED,.. --trunks "
				 "CABLESxSPEED,..";
	}
	for (unsigned s = 0; s < x->nspines; s++)
		x->up += x->spines[s].count;
	if (!reason && (!x->nkinds || !x->nspines))
		reason = "a list is NUMBERxSPEED,.. with SPEED one of EDR, HDR, NDR ..";
	if (!reason && (any_of(k, 0, x->nkinds, x->kinds[k].count > RAILS) || !x->hosts))
		reason = "a machine has 1 to 8 HCAs, a leaf a port for one";
	if (!reason && (x->hosts + x->up > PORTS_MAX || x->leaves < 1 || x->leaves > SWITCHES_MAX ||
			any_of(s, 0, x->nspines, x->leaves * x->spines[s].count > PORTS_MAX)))
		reason = "a switch has at most 254 ports";
	if (!reason)
		t = make_mixed(x);
	else
		snprintf(err, err_size, "mixed: %s", reason);
	free(x);
	return t;
}

/*
 * directors LEAVES,UPLINKS,DIRECTORS,CARDS,SPINES: leaves of as many hosts as uplinks, which go to
 * a line card of each director in turn; a line card has as many ports to spine cards as to leaves.
 */
struct topo *generate_directors(int argc, char **argv, char *err, size_t err_size)
{
	struct generator g = { .speed = TOPO_NDR, .hca_device = 0x1021, .switch_device = 0xd2f2 };
	unsigned n[5] = { 0 }, per_card, lanes, used[PORTS_MAX + 1] = { 0 };
	int line[PORTS_MAX + 1], spine;
	bool fits =
		argc == 2 && generate_list(argv[1], 5, n) && n[0] && n[1] && n[2] && n[3] && n[4];
	unsigned ports = fits && n[0] <= SWITCHES_MAX && n[1] <= PORTS_MAX ? n[0] * n[1] : 0;
	char name[40];

	fits = ports && n[2] * n[3] <= PORTS_MAX && n[1] % n[2] == 0 &&
	       ports % (n[2] * n[3]) == 0 && ports <= LIDS_MAX / 2;
	per_card = fits ? ports / n[2] / n[3] : 0;
	if (!fits || per_card % n[4] || 2 * per_card > PORTS_MAX || 2 * n[1] > PORTS_MAX ||
	    per_card / n[4] * n[3] > PORTS_MAX) {
		snprintf(
			err, err_size,
			"directors: LEAVES,UPLINKS,DIRECTORS,CARDS,SPINES, where each divides what "
			"is shared out, and a switch has at most 254 ports");
		return NULL;
	}
	lanes = per_card / n[4];
	g.builder = topo_builder_new();
	for (unsigned c = 0; c < n[2] * n[3]; c++) {
		array_printf(name, "director-%u/line-%02u", c / n[3] + 1, c % n[3] + 1);
		line[c] = generate_switch(&g, 2 * per_card, name);
	}
	for (unsigned s = 0; s < n[2] * n[4]; s++) {
		array_printf(name, "director-%u/spine-%02u", s / n[4] + 1, s % n[4] + 1);
		spine = generate_switch(&g, n[3] * lanes, name);
		for (unsigned i = 0; i < n[3] * lanes; i++)
			generate_cable(&g, line[s / n[4] * n[3] + i / lanes],
				       per_card + s % n[4] * lanes + i % lanes + 1, spine, i + 1);
	}
	for (unsigned leaf = 0; leaf < n[0]; leaf++) {
		array_printf(name, "leaf-%04u", leaf + 1);

		int sw = generate_switch(&g, 2 * n[1], name);

		for (unsigned p = 0; p < n[1]; p++) {
			unsigned d = p % n[2], turn = leaf * (n[1] / n[2]) + p / n[2];
			unsigned c = d * n[3] + turn / per_card;

			array_printf(name, "node-%05u mlx5_0", leaf * n[1] + p + 1);
			generate_host_cable(&g, generate_hca(&g, 1, name), 1, sw, p + 1);
			generate_cable(&g, sw, n[1] + p + 1, line[c], ++used[c]);
		}
	}
	return topo_freeze(g.builder);
}
