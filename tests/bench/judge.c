/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What forwarding tables do with traffic, judged by a program that shares no line with fmd: it
 * reads an ibnetdiscover file and opensm-lfts.dump, follows each packet by itself and counts.
 *
 *   judge NETFILE LFTS [ORDER_LFTS]     LFTS may be a pipe
 *
 * Hosts are CAs and routers that are no SHARP aggregation nodes, in the order of the LIDs that
 * ORDER_LFTS (else LFTS) gives them. Prints one JSON object:
 *   connected, unreached     pairs of hosts that cables connect; of these, without a way
 *   unreached_special        pairs with an aggregation node in them that cables connect and that
 *                            have no way
 *   loops                    pairs (switch, LID) from which a packet never ends
 *   cycle                    channels that wait for each other in a circle, by the dependencies
 *                            that packets of all pairs make
 *   shift_mean, shift_worst  flows on the worst channel between switches when host i sends to host
 *                            i + k, over all k or 200 of them
 *   all_to_all               load of the worst channel over the mean when each host sends to each
 * A flow counts by the time that it takes: on a link of half the rate of the fastest it is two.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE	 UINT32_MAX
#define MAX_HOPS 64
#define SHIFTS	 200
#define LIDS	 49152
#define UNIT	 1000 /* of a flow on the fastest links */

struct node {
	char name[24];
	bool is_switch, special;
	uint32_t first, nports; /* ports[first + number], number 1.. */
	uint32_t part;		/* of the fabric, by cables */
	uint8_t *lft;		/* switches, by LID; 255 = none */
	uint32_t hosts, specials;
};
struct port {
	uint32_t node, peer; /* peer: port index */
	uint64_t guid;
	uint32_t lid;
	double cost; /* between switches: UNIT by how much slower the link is than the fastest */
};

static struct node *nodes;
static struct port *ports;
static uint32_t nnodes, nports, nhosts, *hosts, top;
static uint32_t owner[LIDS]; /* by LID: port index; of a switch, its port 0 */

static void fail(const char *what, const char *more)
{
	fprintf(stderr, "judge: %s %s\n", what, more);
	exit(1);
}

static void *room(size_t count, size_t size)
{
	void *p = calloc(count + 1, size);

	if (!p)
		fail("no memory", "");
	return p;
}

static FILE *open_file(const char *path)
{
	FILE *in = fopen(path, "r");

	if (!in)
		fail("can't read", path);
	return in;
}

/* ---- The fabric ------------------------------------------------------------------------------ */

static void add_node(const char *line)
{
	char kind[16], name[24];
	unsigned count;
	struct node *node;

	if (sscanf(line, "%15s %u \"%23[^\"]", kind, &count, name) != 3)
		return;
	if (strcmp(kind, "Switch") && strcmp(kind, "Ca") && strcmp(kind, "Rt"))
		return;
	nodes = realloc(nodes, (nnodes + 1) * sizeof(*nodes));
	ports = realloc(ports, (nports + count + 1) * sizeof(*ports));
	if (!nodes || !ports)
		fail("no memory", "");
	node = &nodes[nnodes];
	*node = (struct node){ .is_switch = kind[0] == 'S', .first = nports, .nports = count };
	memcpy(node->name, name, sizeof(name));
	node->special = !node->is_switch && strstr(line, "Aggregation Node");
	for (unsigned p = 0; p <= count; p++)
		ports[nports++] = (struct port){ .node = nnodes, .peer = NONE };
	if (node->is_switch)
		ports[node->first].guid = strtoull(strchr(name, '-') + 1, NULL, 16);
	nnodes++;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct node *)a)->name, ((const struct node *)b)->name);
}

static uint32_t find(const char *name)
{
	struct node key;
	const struct node *found;

	snprintf(key.name, sizeof(key.name), "%s", name);
	found = bsearch(&key, nodes, nnodes, sizeof(*nodes), by_name);
	return found ? (uint32_t)(found - nodes) : NONE;
}

/* What follows the names of both ends, as "4xDDR". In Gbit/s of data; 0 = it is not there. */
static double rate_of(const char *line)
{
	static const struct {
		const char *name;
		double gbps;
	} speeds[] = { { "xSDR", 2 },	 { "xDDR", 4 },	   { "xQDR", 8 },
		       { "xFDR10", 10 }, { "xFDR", 13.6 }, { "xEDR", 25 },
		       { "xHDR", 50 },	 { "xNDR", 100 },  { "xXDR", 200 } };

	for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		const char *at = strstr(line, speeds[i].name), *digits = at;

		while (digits && digits > line && digits[-1] >= '0' && digits[-1] <= '9')
			digits--;
		if (digits != at)
			return speeds[i].gbps * strtod(digits, NULL);
	}
	return 0;
}

static void add_link(const char *line, uint32_t node)
{
	unsigned number, far = 0;
	char guid[24] = "", name[24];
	const char *rest = strchr(line, ']') + 1;
	uint32_t other;

	if (sscanf(line, "[%u]", &number) != 1 || !number || number > nodes[node].nports)
		fail("no such port:", line);
	sscanf(rest, "(%23[^)])", guid);
	rest = strchr(rest, '"');
	if (!rest || sscanf(rest, "\"%23[^\"]\"[%u]", name, &far) != 2)
		fail("no peer:", line);
	other = find(name);
	if (other == NONE || far > nodes[other].nports)
		fail("no such peer:", line);
	if (!nodes[node].is_switch) /* where none is told: from the node's, as ibsim does */
		ports[nodes[node].first + number].guid =
			*guid ? strtoull(guid, NULL, 16)
			      : strtoull(strchr(nodes[node].name, '-') + 1, NULL, 16) + number;
	ports[nodes[node].first + number].peer = nodes[other].first + far;
	ports[nodes[node].first + number].cost = rate_of(strrchr(line, '"') + 1);
}

static void read_fabric(const char *path)
{
	char line[1024], kind[16], name[24];
	FILE *in = open_file(path);
	uint32_t at = NONE;
	unsigned count;

	while (fgets(line, sizeof(line), in))
		add_node(line);
	qsort(nodes, nnodes, sizeof(*nodes), by_name);
	for (uint32_t n = 0; n < nnodes; n++)
		for (unsigned p = 0; p <= nodes[n].nports; p++)
			ports[nodes[n].first + p].node = n;
	rewind(in);
	while (fgets(line, sizeof(line), in)) {
		if (line[0] == '[' && at != NONE)
			add_link(line, at);
		else if (sscanf(line, "%15s %u \"%23[^\"]", kind, &count, name) == 3)
			at = find(name);
	}
	fclose(in);
}

static bool is_between_switches(uint32_t port)
{
	return ports[port].peer != NONE && nodes[ports[port].node].is_switch &&
	       nodes[ports[ports[port].peer].node].is_switch;
}

/* Cables that both ends tell of count. */
static void check_links(void)
{
	double fastest = 0;

	for (uint32_t i = 0; i < nports; i++)
		if (ports[i].peer != NONE && ports[ports[i].peer].peer != i)
			ports[i].peer = NONE;
	for (uint32_t i = 0; i < nports; i++)
		if (is_between_switches(i) && ports[i].cost > fastest)
			fastest = ports[i].cost;
	for (uint32_t i = 0; i < nports; i++)
		ports[i].cost = ports[i].cost > 0 ? UNIT * fastest / ports[i].cost : UNIT;
}

static void find_parts(void)
{
	uint32_t *queue = room(nnodes, sizeof(*queue)), parts = 0;

	for (uint32_t n = 0; n < nnodes; n++) {
		uint32_t head = 0, tail = 0;

		if (nodes[n].part)
			continue;
		nodes[n].part = ++parts;
		queue[tail++] = n;
		while (head < tail) {
			const struct node *node = &nodes[queue[head++]];

			for (unsigned p = 1; p <= node->nports; p++) {
				uint32_t peer = ports[node->first + p].peer;

				if (peer == NONE || nodes[ports[peer].node].part)
					continue;
				nodes[ports[peer].node].part = parts;
				queue[tail++] = ports[peer].node;
			}
		}
	}
	free(queue);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static int by_guid(const void *a, const void *b)
{
	uint64_t x = ports[*(const uint32_t *)a].guid, y = ports[*(const uint32_t *)b].guid;

	return x < y ? -1 : x > y;
}

static uint32_t *guids; /* port indices */

static uint32_t find_guid(uint64_t guid)
{
	uint32_t low = 0, high = nports;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ports[guids[middle]].guid < guid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < nports && ports[guids[low]].guid == guid ? guids[low] : NONE;
}

static void read_entry(const char *line, struct node *sw)
{
	uint32_t lid = (uint32_t)strtoul(line, NULL, 16), port;
	const char *guid = strstr(line, "portguid ");
	char *end;

	if (lid >= LIDS)
		fail("LID:", line);
	sw->lft[lid] = (uint8_t)strtoul(line + 7, &end, 10);
	if (end == line + 7)
		sw->lft[lid] = 255; /* UNREACHABLE */
	if (!guid || owner[lid] != NONE)
		return;
	port = find_guid(strtoull(guid + 9, NULL, 16));
	if (port == NONE)
		return;
	owner[lid] = port;
	if (!ports[port].lid || lid < ports[port].lid)
		ports[port].lid = lid;
	top = lid > top ? lid : top;
}

static void read_tables(const char *path, bool order_only)
{
	char line[1024], *at;
	FILE *in = open_file(path);
	struct node *sw = NULL;

	while (fgets(line, sizeof(line), in)) {
		at = strstr(line, " guid 0x");
		if (at && strstr(line, "nicast")) {
			uint32_t port = find_guid(strtoull(at + 6, NULL, 16));

			sw = port == NONE ? NULL : &nodes[ports[port].node];
			if (sw && !sw->lft) {
				sw->lft = room(LIDS, 1);
				memset(sw->lft, 255, LIDS);
			}
		} else if (sw && !strncmp(line, "0x", 2)) {
			read_entry(line, sw);
		}
	}
	fclose(in);
	for (uint32_t n = 0; order_only && n < nnodes; n++) {
		free(nodes[n].lft);
		nodes[n].lft = NULL;
	}
}

static int by_lid(const void *a, const void *b)
{
	uint32_t x = ports[*(const uint32_t *)a].lid, y = ports[*(const uint32_t *)b].lid;

	return x < y ? -1 : x > y;
}

static bool is_host(uint32_t port)
{
	const struct node *node = &nodes[ports[port].node];

	return !node->is_switch && !node->special;
}

/* Ports of hosts, and for each switch how many are at it. */
static void list_hosts(void)
{
	hosts = room(nports, sizeof(*hosts));
	for (uint32_t n = 0; n < nnodes; n++) {
		for (unsigned p = 1; p <= nodes[n].nports && !nodes[n].is_switch; p++) {
			uint32_t i = nodes[n].first + p, peer = ports[i].peer;

			if (peer == NONE || !nodes[ports[peer].node].is_switch)
				continue;
			nodes[ports[peer].node].hosts += is_host(i);
			nodes[ports[peer].node].specials += !is_host(i);
			if (is_host(i))
				hosts[nhosts++] = i;
		}
	}
	qsort(hosts, nhosts, sizeof(*hosts), by_lid);
}

/* ---- Ways ------------------------------------------------------------------------------------ */

/*
 * The port by which a packet for the LID leaves a switch, or NONE when the table has none or it
 * ends here.
 */
static uint32_t next(uint32_t sw, uint32_t lid)
{
	unsigned out = nodes[sw].lft ? nodes[sw].lft[lid] : 255;

	if (!out || out > nodes[sw].nports)
		return NONE;
	return ports[nodes[sw].first + out].peer == NONE ? NONE : nodes[sw].first + out;
}

static uint64_t *load; /* by port */
static uint8_t *
	/*
	 * by port, of the channel that leads into a switch: a bit for each port that packets leave
	 * it by
	 */
	waits;

static void depend(uint32_t in, uint32_t out)
{
	uint32_t number = out - nodes[ports[out].node].first;

	waits[(size_t)in * 32 + number / 8] |= (uint8_t)(1 << number % 8);
}

/*
 * A packet from that switch to the LID: where it ends up. NONE = nowhere, UINT32_MAX - 1 = never.
 */
#define LOOPS (UINT32_MAX - 1)
static uint32_t follow(uint32_t sw, uint32_t lid, uint64_t flows)
{
	uint32_t in = NONE;

	for (unsigned hop = 0; hop < MAX_HOPS; hop++) {
		uint32_t out = next(sw, lid), peer;

		if (out == NONE)
			return nodes[sw].lft && nodes[sw].lft[lid] == 0 ? nodes[sw].first : NONE;
		peer = ports[out].peer;
		if (!nodes[ports[peer].node].is_switch)
			return peer;
		load[out] += flows;
		if (waits && in != NONE)
			depend(in, out);
		in = out;
		sw = ports[peer].node;
	}
	return LOOPS;
}

/* ---- Judgement ------------------------------------------------------------------------------- */

static struct {
	uint64_t connected, unreached, unreached_special, loops;
	uint32_t cycle;
	double mean, worst, all_to_all;
} verdict;

/*
 * From all switches with somebody to the LID of a host or an aggregation node; what hosts send to
 * hosts is load.
 */
static void all_to(uint32_t lid, uint32_t to)
{
	bool host = is_host(to);
	const struct node *end = &nodes[ports[to].node];

	for (uint32_t sw = 0; sw < nnodes; sw++) {
		uint64_t senders = nodes[sw].hosts, specials = nodes[sw].specials;
		uint32_t got, own = ports[to].peer != NONE && ports[ports[to].peer].node == sw;

		if (!nodes[sw].is_switch || senders + specials == 0 || nodes[sw].part != end->part)
			continue;
		senders -= host && own;
		specials -= !host && own;
		got = follow(sw, lid, host ? senders : 0);
		verdict.loops += got == LOOPS;
		verdict.connected += host ? senders : 0;
		verdict.unreached += host && got != to ? senders : 0;
		verdict.unreached_special += got != to ? specials + (host ? 0 : senders) : 0;
	}
}

static void judge_all_to_all(void)
{
	double sum = 0, most = 0, channels = 0;

	waits = room((size_t)nports * 32, 1);
	for (uint32_t lid = 1; lid <= top; lid++)
		if (owner[lid] != NONE && !nodes[ports[owner[lid]].node].is_switch &&
		    ports[owner[lid]].lid == lid)
			all_to(lid, owner[lid]);
	for (uint32_t i = 0; i < nports; i++) {
		double time = (double)load[i] * ports[i].cost;

		if (!is_between_switches(i))
			continue;
		channels += UNIT / ports[i].cost;
		sum += (double)load[i];
		most = time > most ? time : most;
	}
	verdict.all_to_all = sum > 0 ? most / UNIT * channels / sum : 0;
}

/* Packets to switches wait as well. */
static void to_switches(void)
{
	for (uint32_t lid = 1; lid <= top; lid++) {
		if (owner[lid] == NONE || !nodes[ports[owner[lid]].node].is_switch)
			continue;
		for (uint32_t sw = 0; sw < nnodes; sw++)
			if (nodes[sw].is_switch && nodes[sw].hosts + nodes[sw].specials)
				verdict.loops += follow(sw, lid, 0) == LOOPS;
	}
}

/*
 * Channels from which nothing that waits is left are taken away; who stays is in a circle or waits
 * for one.
 */
static void judge_cycles(void)
{
	uint32_t *waiting = room(nports, sizeof(*waiting)), *queue = room(nports, sizeof(*queue));
	uint32_t head = 0, tail = 0, left = 0;

	for (uint32_t in = 0; in < nports; in++) {
		const struct node *sw =
			ports[in].peer == NONE ? NULL : &nodes[ports[ports[in].peer].node];

		for (unsigned p = 1; sw && p <= sw->nports; p++)
			waiting[sw->first + p] += waits[(size_t)in * 32 + p / 8] >> p % 8 & 1;
	}
	for (uint32_t i = 0; i < nports; i++)
		if (!waiting[i])
			queue[tail++] = i;
	while (head < tail) {
		uint32_t in = queue[head++];
		const struct node *sw =
			ports[in].peer == NONE ? NULL : &nodes[ports[ports[in].peer].node];

		for (unsigned p = 1; sw && p <= sw->nports; p++)
			if (waits[(size_t)in * 32 + p / 8] >> p % 8 & 1 &&
			    !--waiting[sw->first + p])
				queue[tail++] = sw->first + p;
	}
	left = nports - tail;
	verdict.cycle = left;
	free(waiting);
	free(queue);
	free(waits);
	waits = NULL;
}

static double shift(uint32_t k, uint32_t *touched)
{
	double worst = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < nhosts; i++) {
		uint32_t to = hosts[(i + k) % nhosts], from = ports[hosts[i]].peer, out;
		uint32_t sw = ports[from].node;

		for (unsigned hop = 0; hop < MAX_HOPS; hop++) {
			out = next(sw, ports[to].lid);
			if (out == NONE || !nodes[ports[ports[out].peer].node].is_switch)
				break;
			if (!load[out]++)
				touched[n++] = out;
			if ((double)load[out] * ports[out].cost > worst)
				worst = (double)load[out] * ports[out].cost;
			sw = ports[ports[out].peer].node;
		}
	}
	while (n)
		load[touched[--n]] = 0;
	return worst / UNIT;
}

static void judge_shifts(void)
{
	uint32_t *touched = room(nports, sizeof(*touched)), count = nhosts - 1;
	uint64_t x = 88172645463325252ull; /* xorshift64 (Marsaglia, 2003) */

	memset(load, 0, nports * sizeof(*load));
	count = count > SHIFTS ? SHIFTS : count;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t k = i + 1;
		double worst;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (nhosts - 1 > SHIFTS)
			k = 1 + (uint32_t)(x % (nhosts - 1));
		worst = shift(k, touched);
		verdict.mean += worst / count;
		verdict.worst = worst > verdict.worst ? worst : verdict.worst;
	}
	free(touched);
}

static void take_order(const char *lfts, const char *order)
{
	uint32_t *places;

	for (uint32_t lid = 0; lid < LIDS; lid++)
		owner[lid] = NONE;
	read_tables(order, order != lfts);
	list_hosts();
	if (order == lfts)
		return;
	places = hosts;
	for (uint32_t i = 0; i < nports; i++)
		ports[i].lid = 0;
	for (uint32_t lid = 0; lid < LIDS; lid++)
		owner[lid] = NONE;
	top = 0;
	read_tables(lfts, false);
	hosts = places;
}

int main(int argc, char **argv)
{
	if (argc < 3 || argc > 4)
		fail("usage: judge NETFILE LFTS [ORDER_LFTS]", "");
	read_fabric(argv[1]);
	check_links();
	find_parts();
	guids = room(nports, sizeof(*guids));
	for (uint32_t i = 0; i < nports; i++)
		guids[i] = i;
	qsort(guids, nports, sizeof(*guids), by_guid);
	take_order(argv[2], argc == 4 ? argv[3] : argv[2]);
	load = room(nports, sizeof(*load));
	judge_all_to_all();
	to_switches();
	judge_cycles();
	if (nhosts > 1)
		judge_shifts();
	printf("{\"hosts\": %" PRIu32 ", \"connected\": %" PRIu64 ", \"unreached\": %" PRIu64
	       ", \"unreached_special\": %" PRIu64 ", \"loops\": %" PRIu64 ", \"cycle\": %" PRIu32
	       ", \"shift_mean\": %.4f, \"shift_worst\": %.4g, \"all_to_all\": %.4f}\n",
	       nhosts, verdict.connected, verdict.unreached, verdict.unreached_special,
	       verdict.loops, verdict.cycle, verdict.mean, verdict.worst, verdict.all_to_all);
	return 0;
}
