/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * port_metrics: the format wants all series of a metric in one place, so the walk is metric by
 * metric, and in each port by port. Labels are written anew for each line: to keep them would take
 * more memory than the counters do.
 */
#include <math.h>
#include <zlib.h>
#include "fm/fabric/view.h"
#include "fm/http/port_metrics.h"
#include "fm/http/serve.h"
#include "fm/perf/module.h"
#include "fm/registers/module.h"
#include "topology/base/mem.h"

#define LINE_MAX_SIZE 1024 /* two descriptions of 64 bytes, each byte escaped, and the rest */
#define LOOKS	      32768
#define BYTES_A_MBIT  125000ull

enum kind {
	COUNTER,
	INFO,
	STATE,
	LINK_UP,
	WIDTH,
	SPEED,
	FEC_MODE,
	CORDONED,
	QUARANTINED,
	ISOLATED,
	CELSIUS
};

struct metric {
	const char *name; /* behind the prefix of its part */
	const char *help;
	enum kind kind;
	unsigned counter; /* of COUNTER */
	unsigned group;	  /* enum port_metrics_group */
	bool essential;	  /* has series without being asked for */
};

#define FEC(c) COUNTER, COUNTERS_FEC_FIRST + (c), PORTS_FEC

static const struct metric own_metrics[] = {
	{ "info", "1, with what there is to know of the port and of the other end of its link",
	  INFO, 0, PORTS_INFO, true },
	{ "state", "PortInfo:PortState: 1 Down, 2 Initialize, 3 Armed, 4 Active", STATE, 0,
	  PORTS_STATE, false },
	{ "link_up", "1 = the link is up at both ends", LINK_UP, 0, PORTS_STATE, true },
	{ "width_lanes", "Active lanes of the link", WIDTH, 0, PORTS_STATE, false },
	{ "speed_bytes_per_second", "Data rate of the link in one direction, all lanes together",
	  SPEED, 0, PORTS_STATE, true },
	{ "fec_info", "1, with the FEC mode that the port says it uses as the label mode", FEC_MODE,
	  0, PORTS_FEC, false },
	{ "cordoned", "1 = cordoned by an operator; others have no series", CORDONED, 0,
	  PORTS_STATE, true },
	{ "quarantined", "1 = quarantined; others have no series", QUARANTINED, 0, PORTS_STATE,
	  true },
	{ "isolated", "1 = isolated from routing; others have no series", ISOLATED, 0, PORTS_STATE,
	  true },
	{ "module_temperature_celsius", "Temperature of the module, where it reports one", CELSIUS,
	  0, PORTS_STATE, false },
	{ "fec_corrected_blocks_total", "Blocks with errors that FEC corrected",
	  FEC(WIRE_FEC_CORRECTED), false },
	{ "fec_uncorrected_blocks_total", "Blocks with errors that FEC could not correct",
	  FEC(WIRE_FEC_UNCORRECTED), true },
	{ "fec_corrected_symbols_total", "Symbols that RS-FEC corrected", FEC(WIRE_FEC_SYMBOLS),
	  false },
};

#define TRAFFIC(c, essential) COUNTER, PERF_##c, PORTS_TRAFFIC, essential
#define ERRORS(c, essential)  COUNTER, PERF_##c, PORTS_ERRORS, essential
static const struct metric counter_metrics[] = {
	{ "transmit_data_bytes_total", "PortXmitData, in bytes", TRAFFIC(XMIT_DATA, true) },
	{ "receive_data_bytes_total", "PortRcvData, in bytes", TRAFFIC(RCV_DATA, true) },
	{ "transmit_packets_total", "PortXmitPkts", TRAFFIC(XMIT_PACKETS, false) },
	{ "receive_packets_total", "PortRcvPkts", TRAFFIC(RCV_PACKETS, false) },
	{ "unicast_transmit_packets_total", "PortUnicastXmitPkts", TRAFFIC(XMIT_UNICAST, false) },
	{ "unicast_receive_packets_total", "PortUnicastRcvPkts", TRAFFIC(RCV_UNICAST, false) },
	{ "multicast_transmit_packets_total", "PortMulticastXmitPkts",
	  TRAFFIC(XMIT_MULTICAST, false) },
	{ "multicast_receive_packets_total", "PortMulticastRcvPkts",
	  TRAFFIC(RCV_MULTICAST, false) },
	{ "symbol_error_total", "SymbolErrorCounter", ERRORS(SYMBOL, true) },
	{ "link_error_recovery_total", "LinkErrorRecoveryCounter", ERRORS(RECOVERED, false) },
	{ "link_downed_total", "LinkDownedCounter", ERRORS(DOWNED, true) },
	{ "receive_errors_total", "PortRcvErrors", ERRORS(RCV_ERRORS, true) },
	{ "receive_remote_physical_errors_total", "PortRcvRemotePhysicalErrors",
	  ERRORS(RCV_REMOTE, false) },
	{ "receive_switch_relay_errors_total", "PortRcvSwitchRelayErrors",
	  ERRORS(RCV_RELAY, false) },
	{ "transmit_discards_total", "PortXmitDiscards", ERRORS(XMIT_DISCARDS, true) },
	{ "transmit_constraint_errors_total", "PortXmitConstraintErrors",
	  ERRORS(XMIT_CONSTRAINT, false) },
	{ "receive_constraint_errors_total", "PortRcvConstraintErrors",
	  ERRORS(RCV_CONSTRAINT, false) },
	{ "local_link_integrity_errors_total", "LocalLinkIntegrityErrors",
	  ERRORS(INTEGRITY, false) },
	{ "excessive_buffer_overrun_errors_total", "ExcessiveBufferOverrunErrors",
	  ERRORS(OVERRUN, false) },
	{ "vl15_dropped_total", "VL15Dropped", ERRORS(VL15_DROPPED, false) },
	{ "transmit_wait_total", "PortXmitWait, in ticks of the device", TRAFFIC(XMIT_WAIT, true) },
};

enum port_metrics_group port_metrics_group(const char *name)
{
	static const char *const names[] = { "info", "state", "traffic", "errors", "fec" };

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return 1u << i;
	return 0;
}

enum ports { PORTS_ALL, PORTS_SWITCHES, PORTS_HCAS };

static const struct part {
	const char *prefix;
	const struct metric *metrics;
	unsigned count;
	enum ports ports;
} parts[] = {
	{ "fmd_port_", own_metrics, ARRAY_SIZE(own_metrics), PORTS_ALL },
	{ "infiniband_switch_port_", counter_metrics, ARRAY_SIZE(counter_metrics), PORTS_SWITCHES },
	{ "infiniband_hca_port_", counter_metrics, ARRAY_SIZE(counter_metrics), PORTS_HCAS },
};

struct port_metrics {
	const struct topo *topo;
	struct port_metrics_wish wish;
	const struct fabric *fabric;

	unsigned part, metric; /* whose series are written; part == ARRAY_SIZE(parts): the end */
	bool begun;	       /* its HELP and TYPE are written */
	uint32_t node;
	unsigned num; /* the port looked at next */

	const struct port_counters *counters; /* of `node`, while a piece is made */
	uint8_t nports;
	bool looked_up;
	const struct fec_mode *modes; /* likewise */
	uint8_t nmodes;
	bool modes_looked_up;
	uint64_t oldest_us;
	unsigned looks;

	size_t start, end; /* of the line that is not taken yet */
	char line[LINE_MAX_SIZE];
};

/* ---- Lines ----------------------------------------------------------------------------------- */

static char *put_number(char *to, uint64_t value)
{
	char digits[20], *at = digits + sizeof(digits);

	do
		*--at = '0' + value % 10;
	while (value /= 10);
	memcpy(to, at, digits + sizeof(digits) - at);
	return to + (digits + sizeof(digits) - at);
}

/* As the format escapes label values. */
static char *put_escaped(char *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '"' || *text == '\n')
			*to++ = '\\';
		*to++ = *text == '\n' ? 'n' : *text;
	}
	return to;
}

static char *put_guid(char *to, guid_t guid)
{
	static const char hex[] = "0123456789abcdef";

	to = stpcpy(to, "0x");
	for (int shift = 60; shift >= 0; shift -= 4)
		*to++ = hex[guid >> shift & 15];
	return to;
}

/* The labels of fmd_port_info besides guid and port. */
static char *put_info(const struct port_metrics *m, const struct topo_port *port, char *to)
{
	const struct topo *t = m->topo;
	const struct topo_port *peer = topo_peer(t, port);
	const struct topo_node *node = &t->nodes[port->node], *far = &t->nodes[peer->node];
	const struct topo_node *hca = node->type == TOPO_SWITCH ? far : node;

	to = put_escaped(stpcpy(to, ",node=\""), node->name);
	to = put_escaped(stpcpy(to, "\",peer=\""), far->name);
	to = put_guid(stpcpy(to, "\",peer_guid=\""), far->guid);
	to = put_number(stpcpy(to, "\",peer_port=\""), peer->num);
	if (hca->host != TOPO_NONE)
		to = put_escaped(stpcpy(to, "\",host=\""), t->hosts[hca->host].name);
	return stpcpy(to, "\"");
}

static const struct part *part_of(const struct port_metrics *m)
{
	return &parts[m->part];
}

static const struct metric *metric_of(const struct port_metrics *m)
{
	return &part_of(m)->metrics[m->metric];
}

static void line_done(struct port_metrics *m, char *end)
{
	*end++ = '\n';
	m->start = 0;
	m->end = end - m->line;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* False: this port has no such series. */
static bool value_of(struct port_metrics *m, const struct topo_port *port, uint64_t *value)
{
	*value = 1;
	switch (metric_of(m)->kind) {
	case COUNTER: {
		const struct port_counters *c;
		unsigned counter = metric_of(m)->counter;

		if (!m->looked_up)
			m->counters = link_health_node(m->fabric, m->topo->nodes[m->node].guid,
						       &m->nports);
		m->looked_up = true;
		c = m->counters && port->num <= m->nports ? &m->counters[port->num - 1] : NULL;
		if (!c || !counters_have(c, counter) ||
		    c->read_us[counters_group(counter)] < m->oldest_us)
			return false;
		*value = c->value[counter];
		return true;
	}
	case CELSIUS: {
		double celsius =
			link_module_celsius(m->fabric, m->topo->nodes[m->node].guid, port->num);

		*value = celsius > 0 ? (uint64_t)lround(celsius) : 0;
		return !isnan(celsius);
	}
	case INFO:
		return true;
	case STATE:
		*value = port->state;
		return true;
	case LINK_UP:
		*value = port->link_up;
		return true;
	case WIDTH:
		*value = port->link_up ? port->width : 0;
		return true;
	case SPEED:
		*value = port->link_up ? topo_lane_mbps(port->speed) * BYTES_A_MBIT * port->width
				       : 0;
		return true;
	case FEC_MODE:
		if (!m->modes_looked_up)
			m->modes = link_health_fec_node(m->fabric, m->topo->nodes[m->node].guid,
							&m->nmodes);
		m->modes_looked_up = true;
		return port->link_up && m->modes && port->num <= m->nmodes &&
		       m->modes[port->num].state == FEC_KNOWN;
	case CORDONED:
	case QUARANTINED:
	case ISOLATED: /* without transit `cordoned` too, and why in the others; STATE: with it */
		return metric_of(m)->kind == (!port->cordoned	  ? STATE
					      : port->isolated	  ? ISOLATED
					      : port->quarantined ? QUARANTINED
								  : CORDONED);
	}
	return false;
}

/* ---- The walk -------------------------------------------------------------------------------- */

static uint32_t first_node(const struct port_metrics *m)
{
	return part_of(m)->ports == PORTS_HCAS ? m->topo->nswitches : 0;
}

static uint32_t end_node(const struct port_metrics *m)
{
	return part_of(m)->ports == PORTS_SWITCHES || !m->wish.hcas ? m->topo->nswitches
								    : m->topo->nnodes;
}

/* To that node, or the next one that the leaf has that was asked for. */
static void go_to(struct port_metrics *m, uint32_t node)
{
	const uint32_t leaf = m->wish.leaf, nswitches = m->topo->nswitches;

	while (node < m->topo->nnodes && leaf != TOPO_NONE && node != leaf &&
	       (node < nswitches || topo_leaf_of(m->topo, node) != leaf))
		node++;
	m->node = node;
	m->num = 1;
	m->looked_up = m->modes_looked_up = false;
}

/*
 * False: of the essential metrics what says that a port is well has no series. That of an error
 * counter begins with the 0 of the reading before, so that increase() has the first errors.
 */
static bool is_shown(const struct port_metrics *m, const struct topo_port *port, uint64_t *value)
{
	const struct metric *metric = metric_of(m);
	const struct port_counters *c;
	double grew;

	if (m->wish.all || m->wish.groups || metric->group == PORTS_TRAFFIC)
		return true;
	if (metric->kind != COUNTER || !*value)
		return metric->kind == LINK_UP ? !*value : metric->kind != COUNTER;
	c = &m->counters[port->num - 1];
	grew = c->rate[metric->counter] * c->span_ms[counters_group(metric->counter)] / 1000.0;
	if (counters_rated(c, metric->counter) && fabs((double)*value - grew) < 0.5 + 1e-6 * grew)
		*value = 0;
	return true;
}

/* The next line of the metric; false = that was all of it. */
static bool next_sample(struct port_metrics *m)
{
	while (m->node < end_node(m)) {
		const struct topo_node *node = &m->topo->nodes[m->node];
		uint64_t value;

		if (m->num > node->nports) {
			go_to(m, m->node + 1);
			continue;
		}

		const struct topo_port *port = topo_port(m->topo, m->node, m->num++);

		m->looks++;
		if (port->peer == TOPO_NONE || !value_of(m, port, &value) ||
		    !is_shown(m, port, &value))
			continue;

		/* All labels but the closing brace. */
		char *to = stpcpy(stpcpy(m->line, part_of(m)->prefix), metric_of(m)->name);

		to = put_guid(stpcpy(to, "{guid=\""), node->guid);
		to = stpcpy(put_number(stpcpy(to, "\",port=\""), port->num), "\"");
		if (part_of(m)->ports != PORTS_ALL) {
			to = stpcpy(to, part_of(m)->ports == PORTS_HCAS ? ",hca=\"" : ",switch=\"");
			to = stpcpy(put_escaped(to, node->name), "\"");
		}
		if (metric_of(m)->kind == INFO)
			to = put_info(m, port, to);
		if (metric_of(m)->kind == FEC_MODE) {
			to = stpcpy(to, ",mode=\"");
			to = stpcpy(stpcpy(to, fec_mode_name(m->modes[port->num].active).text),
				    "\"");
		}
		line_done(m, put_number(stpcpy(to, "} "), value));
		return true;
	}
	m->begun = false;
	m->metric++;
	return false;
}

static bool next_line(struct port_metrics *m)
{
	while (m->topo && m->part < ARRAY_SIZE(parts)) {
		const struct part *part = part_of(m);
		const struct metric *metric = metric_of(m);
		unsigned groups = m->wish.groups;

		if (m->begun) {
			if (next_sample(m))
				return true;
		} else if (m->metric >= part->count || first_node(m) >= end_node(m)) {
			m->part++;
			m->metric = 0;
		} else if (!(groups ? groups & metric->group : metric->essential || m->wish.all)) {
			m->metric++;
		} else {
			char *to = stpcpy(stpcpy(stpcpy(m->line, "# HELP "), part->prefix),
					  metric->name);

			to = stpcpy(stpcpy(stpcpy(to, " "), metric->help), "\n# TYPE ");
			to = stpcpy(stpcpy(stpcpy(to, part->prefix), metric->name),
				    metric->kind == COUNTER ? " counter" : " gauge");
			line_done(m, to);
			go_to(m, first_node(m));
			m->begun = true;
			return true;
		}
	}
	return false;
}

size_t port_metrics_read(struct port_metrics *m, char *to, size_t room)
{
	size_t done = 0;

	m->looks = 0;
	m->looked_up = m->modes_looked_up = false; /* what was had of the store may be gone */
	m->oldest_us = link_health_oldest_us(m->fabric);
	while (done < room && !(done && m->looks > LOOKS)) {
		size_t len = m->end - m->start;

		if (!len && !next_line(m))
			break;
		len = m->end - m->start < room - done ? m->end - m->start : room - done;
		memcpy(to + done, m->line + m->start, len);
		m->start += len;
		done += len;
	}
	return done;
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct port_metrics *port_metrics_new(const struct topo *topo, const struct port_metrics_wish *wish,
				      const struct fabric *fabric)
{
	struct port_metrics *m = mem_new(m);

	m->topo = topo ? topo_ref(topo) : NULL;
	m->wish = *wish;
	m->fabric = fabric;
	return m;
}

void port_metrics_free(struct port_metrics *m)
{
	if (!m)
		return;
	topo_unref(m->topo);
	free(m);
}

/* ---- Port reply ------------------------------------------------------------------------------ */

#define PIECE 65536 /* at most so many bytes at a time; the library's own buffer is less */

#define REPLIES_MAX 4 /* at a time: each holds a snapshot */
#define PER_CLIENT  2 /* for one address, which may read slowly */

struct port_reply {
	struct port_metrics *text;
	struct port_replies *all;
	struct port_reply *next;
	z_stream *packed; /* NULL = the client gets the text */
	char *piece;	  /* of the text, that is packed next */
	char client[SERVE_ADDRESS];
};

static ssize_t read_piece(void *arg, uint64_t pos, char *to, size_t most)
{
	struct port_reply *reply = arg;
	z_stream *z = reply->packed;
	size_t len;
	int status = Z_OK;

	if (!z) {
		len = port_metrics_read(reply->text, to, most);
		return len ? len : MHD_CONTENT_READER_END_OF_STREAM;
	}
	z->next_out = (Bytef *)to;
	z->avail_out = most;
	while (z->avail_out == most && status == Z_OK) {
		if (!z->avail_in) {
			z->next_in = (Bytef *)reply->piece;
			z->avail_in = port_metrics_read(reply->text, reply->piece, PIECE);
		}
		status = deflate(z, z->avail_in ? Z_NO_FLUSH : Z_FINISH);
	}
	len = most - z->avail_out;
	return len ? len : MHD_CONTENT_READER_END_OF_STREAM;
}

static void free_reply(void *arg)
{
	struct port_reply *reply = arg;
	struct port_reply **link = &reply->all->first;

	while (*link != reply)
		link = &(*link)->next;
	*link = reply->next;
	if (reply->packed)
		deflateEnd(reply->packed);
	free(reply->packed);
	free(reply->piece);
	port_metrics_free(reply->text);
	free(reply);
}

struct asked { /* by a query */
	struct port_metrics_wish wish;
	const struct topo *topo;
	const char *why; /* NULL = it is well */
};

static enum MHD_Result take_value(void *arg, enum MHD_ValueKind kind, const char *key,
				  const char *value)
{
	struct asked *asked = arg;

	if (!strcmp(key, "collect[]") || !strcmp(key, "collect")) {
		unsigned group = value ? port_metrics_group(value) : 0;

		asked->wish.groups |= group;
		if (!group)
			asked->why = "collect[] is info, state, traffic, errors or fec";
	} else if (!strcmp(key, "leaf")) {
		uint32_t node = 0;

		while (asked->topo && value && node < asked->topo->nswitches &&
		       strcmp(asked->topo->nodes[node].name, value) != 0)
			node++;
		asked->wish.leaf = node;
		if (!asked->topo || !value || node == asked->topo->nswitches)
			asked->why = "leaf: there is no switch of that name";
	} else {
		asked->why = "collect[]= and leaf= alone are known";
	}
	return MHD_YES;
}

struct MHD_Response *port_reply_new(struct port_replies *all, struct MHD_Connection *connection,
				    const struct fabric *fabric,
				    const struct port_metrics_wish *wish, bool gzip,
				    unsigned *status, const char **why)
{
	struct port_reply *reply;
	char client[SERVE_ADDRESS];
	struct asked asked = { .wish = *wish, .topo = fabric_view(fabric).topo };

	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_value, &asked);
	*status = MHD_HTTP_BAD_REQUEST;
	*why = asked.why;
	if (asked.why)
		return NULL;
	serve_client(connection, client);

	/* Whether a client has to wait for others, or for its own replies, to end. */
	unsigned count = 0, same = 0;

	for (const struct port_reply *other = all->first; other; other = other->next) {
		count++;
		same += !strcmp(other->client, client);
	}
	*status = MHD_HTTP_SERVICE_UNAVAILABLE;
	*why = "too many readers of port metrics at a time";
	if (count >= REPLIES_MAX || same >= PER_CLIENT)
		return NULL;

	reply = mem_new(reply);
	*reply = (struct port_reply){ .all = all, .next = all->first };
	strcpy(reply->client, client);
	reply->text = port_metrics_new(asked.topo, &asked.wish, fabric);
	reply->packed = gzip ? mem_new(reply->packed) : NULL;
	reply->piece = gzip ? mem_alloc(PIECE, 1) : NULL;
	/* Fast: level 1 packs to a tenth. It fails where there is no memory. */
	if (gzip && deflateInit2(reply->packed, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY)) {
		free(reply->packed);
		reply->packed = NULL;
	}
	all->first = reply;
	return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, read_piece, reply,
						 free_reply);
}
