/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * port_metrics: the format wants all series of a metric in one place, so the walk is metric by
 * metric, and in each port by port. Labels are written anew for each line: to keep them would take
 * more memory than the counters do.
 */
#include "fm/fabric/view.h"
#include "fm/http/port_metrics.h"
#include "fm/http/serve.h"
#include "fm/perf/module.h"
#include "topology/base/mem.h"

#define LINE_MAX_SIZE 1024 /* two descriptions of 64 bytes, each byte escaped, and the rest */
#define LOOKS	      32768
#define BYTES_A_MBIT  125000ull

enum kind { COUNTER, STATE, LINK_UP, WIDTH, SPEED, FEC_MODE, CORDONED, QUARANTINED, ISOLATED };

struct metric {
	const char *name; /* behind the prefix of its part */
	const char *help;
	enum kind kind;
	unsigned counter; /* of COUNTER */
};

#define FEC(c) COUNTER, COUNTERS_FEC_FIRST + (c)

static const struct metric own_metrics[] = {
	{ "state", "PortInfo:PortState: 1 Down, 2 Initialize, 3 Armed, 4 Active", STATE, 0 },
	{ "link_up", "1 = the link is up at both ends", LINK_UP, 0 },
	{ "width_lanes", "Active lanes of the link", WIDTH, 0 },
	{ "speed_bytes_per_second", "Capacity of the link in one direction, all lanes together",
	  SPEED, 0 },
	{ "fec_info", "1, with the FEC mode that the port says it uses as the label mode", FEC_MODE,
	  0 },
	{ "cordoned", "1 = cordoned by an operator; others have no series", CORDONED, 0 },
	{ "quarantined", "1 = quarantined; others have no series", QUARANTINED, 0 },
	{ "isolated", "1 = isolated from routing; others have no series", ISOLATED, 0 },
	{ "fec_corrected_blocks_total", "Blocks with errors that FEC corrected",
	  FEC(WIRE_FEC_CORRECTED) },
	{ "fec_uncorrected_blocks_total", "Blocks with errors that FEC could not correct",
	  FEC(WIRE_FEC_UNCORRECTED) },
	{ "fec_corrected_symbols_total", "Symbols that RS-FEC corrected", FEC(WIRE_FEC_SYMBOLS) },
};

static const struct metric counter_metrics[] = {
	{ "transmit_data_bytes_total", "PortXmitData, in bytes", COUNTER, PERF_XMIT_DATA },
	{ "receive_data_bytes_total", "PortRcvData, in bytes", COUNTER, PERF_RCV_DATA },
	{ "transmit_packets_total", "PortXmitPkts", COUNTER, PERF_XMIT_PACKETS },
	{ "receive_packets_total", "PortRcvPkts", COUNTER, PERF_RCV_PACKETS },
	{ "unicast_transmit_packets_total", "PortUnicastXmitPkts", COUNTER, PERF_XMIT_UNICAST },
	{ "unicast_receive_packets_total", "PortUnicastRcvPkts", COUNTER, PERF_RCV_UNICAST },
	{ "multicast_transmit_packets_total", "PortMulticastXmitPkts", COUNTER,
	  PERF_XMIT_MULTICAST },
	{ "multicast_receive_packets_total", "PortMulticastRcvPkts", COUNTER, PERF_RCV_MULTICAST },
	{ "symbol_error_total", "SymbolErrorCounter", COUNTER, PERF_SYMBOL },
	{ "link_error_recovery_total", "LinkErrorRecoveryCounter", COUNTER, PERF_RECOVERED },
	{ "link_downed_total", "LinkDownedCounter", COUNTER, PERF_DOWNED },
	{ "receive_errors_total", "PortRcvErrors", COUNTER, PERF_RCV_ERRORS },
	{ "receive_remote_physical_errors_total", "PortRcvRemotePhysicalErrors", COUNTER,
	  PERF_RCV_REMOTE },
	{ "receive_switch_relay_errors_total", "PortRcvSwitchRelayErrors", COUNTER,
	  PERF_RCV_RELAY },
	{ "transmit_discards_total", "PortXmitDiscards", COUNTER, PERF_XMIT_DISCARDS },
	{ "transmit_constraint_errors_total", "PortXmitConstraintErrors", COUNTER,
	  PERF_XMIT_CONSTRAINT },
	{ "receive_constraint_errors_total", "PortRcvConstraintErrors", COUNTER,
	  PERF_RCV_CONSTRAINT },
	{ "local_link_integrity_errors_total", "LocalLinkIntegrityErrors", COUNTER,
	  PERF_INTEGRITY },
	{ "excessive_buffer_overrun_errors_total", "ExcessiveBufferOverrunErrors", COUNTER,
	  PERF_OVERRUN },
	{ "vl15_dropped_total", "VL15Dropped", COUNTER, PERF_VL15_DROPPED },
	{ "transmit_wait_total", "PortXmitWait, in ticks of the device", COUNTER, PERF_XMIT_WAIT },
};

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
	bool hcas;
	struct port_metrics_source source;

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

static char *put(char *to, const char *text)
{
	size_t len = strlen(text);

	memcpy(to, text, len);
	return to + len;
}

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
	switch (metric_of(m)->kind) {
	case COUNTER: {
		unsigned num = port->num;
		const struct port_counters *c;
		unsigned counter = metric_of(m)->counter;

		if (!m->looked_up)
			m->counters = m->source.counters(m->source.arg,
							 m->topo->nodes[m->node].guid, &m->nports);
		m->looked_up = true;
		c = m->counters && num <= m->nports ? &m->counters[num - 1] : NULL;
		if (!c || !counters_have(c, counter) ||
		    c->read_us[counters_group(counter)] < m->oldest_us)
			return false;
		*value = c->value[counter];
		return true;
	}
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
		*value = 1;
		if (!m->modes_looked_up)
			m->modes = m->source.fec_modes(m->source.arg, m->topo->nodes[m->node].guid,
						       &m->nmodes);
		m->modes_looked_up = true;
		return port->link_up && m->modes && port->num <= m->nmodes &&
		       m->modes[port->num].state == FEC_KNOWN;

	case CORDONED:
	case QUARANTINED:
	case ISOLATED:
		*value = 1;
		/*
		 * A port without transit has `cordoned`, and why in the others; STATE: it has
		 * transit.
		 */
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
	return part_of(m)->ports == PORTS_SWITCHES || !m->hcas ? m->topo->nswitches
							       : m->topo->nnodes;
}

static void go_to(struct port_metrics *m, uint32_t node)
{
	m->node = node;
	m->num = 1;
	m->looked_up = m->modes_looked_up = false;
}

/* The next line of the metric; false = that was all of it. */
static bool next_sample(struct port_metrics *m)
{
	uint32_t end = end_node(m);

	while (m->node < end) {
		const struct topo_port *port;
		uint64_t value;

		if (m->num > m->topo->nodes[m->node].nports) {
			go_to(m, m->node + 1);
			continue;
		}
		port = topo_port(m->topo, m->node, m->num++);
		m->looks++;
		if (port->peer == TOPO_NONE || !value_of(m, port, &value))
			continue;

		uint64_t sample_value = value;
		char *to = put(put(m->line, part_of(m)->prefix), metric_of(m)->name);

		/* All labels but the closing brace. */
		char *at = to;
		const struct topo *t = m->topo;
		const struct topo_port *peer = topo_peer(t, port);

		at = put_escaped(put(at, "{node=\""), t->nodes[port->node].name);

		char *digits = put(at, "\",guid=\"");
		guid_t guid = t->nodes[port->node].guid;
		static const char hex[] = "0123456789abcdef";

		*digits++ = '0';
		*digits++ = 'x';
		for (int shift = 60; shift >= 0; shift -= 4)
			*digits++ = hex[guid >> shift & 15];
		at = digits;

		at = put_number(put(at, "\",port=\""), port->num);
		at = put_escaped(put(at, "\",peer=\""), t->nodes[peer->node].name);
		at = put_number(put(at, "\",peer_port=\""), peer->num);
		to = put(at, "\"");

		if (metric_of(m)->kind == FEC_MODE)
			to = put(put(put(to, ",mode=\""),
				     fec_mode_name(m->modes[port->num].active).text),
				 "\"");
		line_done(m, put_number(put(to, "} "), sample_value));

		return true;
	}
	m->begun = false;
	m->metric++;
	return false;
}

static bool next_line(struct port_metrics *m)
{
	while (m->topo && m->part < ARRAY_SIZE(parts)) {
		if (!m->begun) {
			/* HELP and TYPE of the metric that is next; false = there is none. */
			while (m->part < ARRAY_SIZE(parts)) {
				if (m->metric < part_of(m)->count && first_node(m) < end_node(m)) {
					go_to(m, first_node(m));
					m->begun = true;

					const char *prefix = part_of(m)->prefix,
						   *name = metric_of(m)->name;
					char *to = put(put(put(m->line, "# HELP "), prefix), name);

					to = put(put(put(to, " "), metric_of(m)->help),
						 "\n# TYPE ");
					to = put(put(put(to, prefix), name),
						 metric_of(m)->kind == COUNTER ? " counter"
									       : " gauge");
					line_done(m, to);

					return true;
				}
				m->part++;
				m->metric = 0;
			}
			return false;
		}
		if (next_sample(m))
			return true;
	}
	return false;
}

size_t port_metrics_read(struct port_metrics *m, char *to, size_t room)
{
	size_t done = 0;

	m->looks = 0;
	m->looked_up = m->modes_looked_up = false; /* what was had of the store may be gone */
	m->oldest_us = m->source.oldest_us(m->source.arg);
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

struct port_metrics *port_metrics_new(const struct topo *topo, bool hcas,
				      const struct port_metrics_source *source)
{
	struct port_metrics *m = mem_new(m);

	m->topo = topo ? topo_ref(topo) : NULL;
	m->hcas = hcas;
	m->source = *source;
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

#define REPLIES_MAX 4 /* at a time: each holds a snapshot.. */
#define PER_CLIENT  2 /* ..of which one address has so many, for it may read slowly */

struct port_reply {
	const struct fabric *fabric;
	struct port_metrics *text;
	struct port_replies *all;
	struct port_reply *next;
	char client[SERVE_ADDRESS];
};

static const struct port_counters *counters_of_node(void *arg, guid_t node, uint8_t *nports)
{
	const struct port_reply *reply = arg;

	return link_health_node(reply->fabric, node, nports);
}

static const struct fec_mode *fec_modes_of_node(void *arg, guid_t node, uint8_t *nports)
{
	const struct port_reply *reply = arg;

	return link_health_fec_node(reply->fabric, node, nports);
}

static uint64_t oldest(void *arg)
{
	const struct port_reply *reply = arg;

	return link_health_oldest_us(reply->fabric);
}

static ssize_t read_piece(void *arg, uint64_t pos, char *to, size_t most)
{
	const struct port_reply *reply = arg;
	size_t len = port_metrics_read(reply->text, to, most);

	return len ? len : MHD_CONTENT_READER_END_OF_STREAM;
}

static void free_reply(void *arg)
{
	struct port_reply *reply = arg;
	struct port_reply **link = &reply->all->first;

	while (*link != reply)
		link = &(*link)->next;
	*link = reply->next;
	port_metrics_free(reply->text);
	free(reply);
}

struct MHD_Response *port_reply_new(struct port_replies *all, struct MHD_Connection *connection,
				    const struct fabric *fabric, bool hcas)
{
	struct port_reply *reply;
	char client[SERVE_ADDRESS];
	struct port_metrics_source source = { counters_of_node, fec_modes_of_node, oldest, NULL };

	serve_client(connection, client);

	/* Whether a client has to wait for others, or for its own replies, to end. */
	unsigned count = 0, same = 0;

	for (const struct port_reply *other = all->first; other; other = other->next) {
		count++;
		same += !strcmp(other->client, client);
	}
	if (count >= REPLIES_MAX || same >= PER_CLIENT)
		return NULL;

	source.arg = reply = mem_new(reply);
	*reply = (struct port_reply){ .fabric = fabric, .all = all, .next = all->first };
	strcpy(reply->client, client);
	reply->text = port_metrics_new(fabric_view(fabric).topo, hcas, &source);
	all->first = reply;
	return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, read_piece, reply,
						 free_reply);
}
