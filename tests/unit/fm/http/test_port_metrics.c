/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A series a port: which there are, how they are written, and that pieces make one text. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/http/port_metrics.h"
#include "fm/perf/module.h"
#include "fm/registers/module.h"
#include "tests/lib/fabrics.h"
#include "topology/base/mem.h"

#define PORTS_MOST 65
#define READ_US	   5000000ull

struct store { /* what was read of the ports of one node */
	guid_t node;
	struct port_counters counters[PORTS_MOST];
	struct fec_mode modes[PORTS_MOST + 1];
	uint64_t oldest_us;
	unsigned asked;
	double celsius; /* of its port 1 */
};

/* In the daemon's place: the fabric is a store. */
const struct port_counters *link_health_node(const struct fabric *fabric, guid_t node,
					     uint8_t *nports)
{
	struct store *store = (struct store *)fabric;

	store->asked++;
	*nports = PORTS_MOST;
	return node == store->node ? store->counters : NULL;
}

const struct fec_mode *link_health_fec_node(const struct fabric *fabric, guid_t node,
					    uint8_t *nports)
{
	struct store *store = (struct store *)fabric;

	*nports = PORTS_MOST;
	return node == store->node ? store->modes : NULL;
}

uint64_t link_health_oldest_us(const struct fabric *fabric)
{
	return ((const struct store *)fabric)->oldest_us;
}

double link_module_celsius(const struct fabric *fabric, guid_t node, uint8_t port)
{
	const struct store *store = (const struct store *)fabric;

	return node == store->node && port == 1 ? store->celsius : NAN;
}

static void count(struct store *store, unsigned port, unsigned counter, uint64_t value)
{
	struct port_counters *c = &store->counters[port - 1];

	c->value[counter] = value;
	c->known |= 1u << counter;
	c->read_us[counters_group(counter)] = READ_US;
}

/* The whole text, taken in pieces; the caller frees it. */
static char *text_for(const struct topo *topo, const struct port_metrics_wish *wish,
		      struct store *store, size_t piece)
{
	struct port_metrics *m = port_metrics_new(topo, wish, (const struct fabric *)store);
	char *text = mem_alloc(32 << 20, 1);
	size_t len = 0, more;

	while ((more = port_metrics_read(m, text + len, piece))) {
		assert_true(more <= piece);
		len += more;
	}
	port_metrics_free(m);
	return text;
}

static char *text_of(const struct topo *topo, bool hcas, struct store *store, size_t piece)
{
	const struct port_metrics_wish wish = { .hcas = hcas, .all = true, .leaf = TOPO_NONE };

	return text_for(topo, &wish, store, piece);
}

static unsigned lines_with(const char *text, const char *begin)
{
	unsigned lines = 0;

	for (const char *at = text; (at = strstr(at, begin)); at++)
		lines += at == text || at[-1] == '\n';
	return lines;
}

static void links_have_series_before_anything_is_read(void **state)
{
	struct topo *t = pod(1);
	struct store none = { .oldest_us = 1 };
	char *text = text_of(t, false, &none, 4096);

	assert_int_equal(lines_with(text, "fmd_port_state{"), 12 * 64 + 12);
	assert_int_equal(lines_with(text, "fmd_port_link_up{"), 12 * 64 + 12);
	assert_non_null(strstr(text,
			       "\nfmd_port_speed_bytes_per_second{guid=\"0x0002c90300000100\","
			       "port=\"1\"} 50000000000\n"));
	assert_int_equal(lines_with(text, "fmd_port_info{"), 12 * 64 + 12);
	assert_non_null(strstr(text, "\nfmd_port_info{guid=\"0x0002c90300000100\",port=\"1\","
				     "node=\"leaf-su01-rail0\",peer=\"dgx-su01-01 mlx5_0\","
				     "peer_guid=\"0x0002c90380000100\",peer_port=\"1\","
				     "host=\"dgx-su01-01\"} 1\n"));
	assert_non_null(strstr(text, "# TYPE infiniband_switch_port_symbol_error_total counter\n"));
	assert_int_equal(lines_with(text, "infiniband_switch_port_symbol_error_total{"), 0);
	free(text);
	topo_unref(t);
}

static void a_counter_has_a_series_from_its_first_reading_on(void **state)
{
	struct topo *t = pod(1);
	struct store store = { .node = t->nodes[0].guid, .oldest_us = 1 };
	char *text;

	count(&store, 3, PERF_XMIT_DATA, 1ull << 63);
	count(&store, 3, COUNTERS_FEC_FIRST + WIRE_FEC_UNCORRECTED, 0);
	text = text_of(t, false, &store, 4096);
	assert_int_equal(lines_with(text, "infiniband_switch_port_transmit_data_bytes_total{"), 1);
	assert_non_null(strstr(text, "{guid=\"0x0002c90300000100\",port=\"3\","
				     "switch=\"leaf-su01-rail0\"} 9223372036854775808\n"));
	assert_int_equal(lines_with(text, "infiniband_switch_port_receive_data_bytes_total{"), 0);
	assert_int_equal(lines_with(text, "fmd_port_fec_uncorrected_blocks_total{"), 1);
	assert_true(store.asked < t->nswitches * 40);
	free(text);
	topo_unref(t);
}

static void the_error_correction_of_a_port_is_a_label_of_one_series(void **state)
{
	struct topo *t = pod(1);
	struct store store = { .node = t->nodes[0].guid, .oldest_us = 1 };
	char *text;

	store.modes[3] = (struct fec_mode){ .state = FEC_KNOWN, .active = 4 };
	store.modes[4] = (struct fec_mode){ .state = FEC_KNOWN, .active = 7 };
	store.modes[5] = (struct fec_mode){ .state = FEC_UNKNOWN, .active = 4 };
	text = text_of(t, true, &store, 4096);
	assert_int_equal(lines_with(text, "fmd_port_fec_info{"), 2);
	assert_non_null(strstr(text, "port=\"3\",mode=\"rs-544-514\"} 1\n"));
	assert_non_null(strstr(text, "port=\"4\",mode=\"mode-7\"} 1\n"));
	free(text);
	topo_unref(t);
}

/* A flat line would say that nothing happens there. */
static void a_counter_that_was_not_read_for_long_has_none(void **state)
{
	struct topo *t = pod(1);
	struct store store = { .node = t->nodes[0].guid, .oldest_us = READ_US + 1 };
	char *text;

	count(&store, 3, PERF_XMIT_DATA, 5);
	text = text_of(t, false, &store, 4096);
	assert_int_equal(lines_with(text, "infiniband_switch_port_transmit_data_bytes_total{"), 0);
	assert_int_equal(lines_with(text, "fmd_port_state{"), 12 * 64 + 12);
	free(text);
	topo_unref(t);
}

static void ports_of_hcas_are_there_on_demand(void **state)
{
	struct topo *t = pod(1);
	struct store store = { .node = t->nodes[t->nswitches].guid, .oldest_us = 1 };
	char *switches, *all;

	count(&store, 1, PERF_DOWNED, 7);
	switches = text_of(t, false, &store, 4096);
	all = text_of(t, true, &store, 4096);
	assert_null(strstr(switches, "infiniband_hca_"));
	assert_int_equal(lines_with(all, "infiniband_hca_port_link_downed_total{"), 1);
	assert_int_equal(lines_with(all, "infiniband_switch_port_link_downed_total{"), 0);
	assert_int_equal(lines_with(all, "fmd_port_state{"), 2 * t->nlinks);
	free(switches);
	free(all);
	topo_unref(t);
}

static void names_are_escaped_and_ports_without_a_cable_have_no_series(void **state)
{
	struct topo *t =
		parse_netfile("vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x10\n"
			      "switchguid=0x10(10)\n"
			      "Switch\t4 \"S-0000000000000010\"\t# \"a\\b \"c\"\" base port "
			      "0 lid 1 lmc 0\n"
			      "[2]\t\"H-0000000000000020\"[1](21)\t# \"host mlx5_0\" lid 2 "
			      "4xNDR\n\n"
			      "vendid=0x2c9\ndevid=0x1021\nsysimgguid=0x20\ncaguid=0x20\n"
			      "Ca\t1 \"H-0000000000000020\"\t# \"host mlx5_0\"\n"
			      "[1](21)\t\"S-0000000000000010\"[2]\t# lid 2 lmc 0 \"a\" lid 1 "
			      "4xNDR\n");
	struct store none = { .oldest_us = 1 };
	char *text = text_of(t, true, &none, 100);

	assert_int_equal(lines_with(text, "fmd_port_state{"), 2);
	assert_non_null(strstr(text, ",node=\"a\\\\b \\\"c\\\"\",peer="));
	free(text);
	topo_unref(t);
}

static void pieces_of_any_size_make_the_same_text(void **state)
{
	static const size_t sizes[] = { 1, 7, 1000, 1 << 20 };
	struct topo *t = pod(1);
	struct store store = { .node = t->nodes[2].guid, .oldest_us = 1 };
	char *whole;

	for (unsigned port = 1; port <= 64; port++)
		count(&store, port, PERF_RCV_PACKETS, port);
	whole = text_of(t, true, &store, 32768);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *text = text_of(t, true, &store, sizes[i]);

		assert_string_equal(text, whole);
		free(text);
	}
	free(whole);
	topo_unref(t);
}

/* A quarantine is no operator's cordon, though both keep transit away. */
static void a_link_without_transit_says_why(void **state)
{
	struct topo *t = pod(1);
	struct topo_port *ports = (struct topo_port *)t->ports;
	const uint32_t first = t->nodes[0].port0;
	struct store none = { .oldest_us = 1 };
	char *text;

	for (unsigned num = 1; num <= 3; num++)
		ports[first + num].cordoned = true;
	ports[first + 2].quarantined = true;
	ports[first + 3].isolated = true;
	text = text_of(t, false, &none, 4096);
	assert_int_equal(lines_with(text, "fmd_port_cordoned{"), 1);
	assert_int_equal(lines_with(text, "fmd_port_quarantined{"), 1);
	assert_int_equal(lines_with(text, "fmd_port_isolated{"), 1);
	assert_non_null(
		strstr(text, "fmd_port_quarantined{guid=\"0x0002c90300000100\",port=\"2\"}"));
	free(text);
	topo_unref(t);
}

/* As many as a site can afford; what is asked for by name comes whole. */
static void metrics_are_the_essential_ones_or_groups_of_one_leaf(void **state)
{
	struct topo *t = pod(1);
	struct store store = { .node = t->nodes[0].guid, .oldest_us = 1, .celsius = 51.6 };
	struct port_metrics_wish wish = { .leaf = TOPO_NONE };
	char *text;

	((struct topo_port *)t->ports)[t->nodes[0].port0 + 4].link_up = false;
	for (unsigned counter = 0; counter < COUNTERS_ALL; counter++) {
		count(&store, 3, counter, 1);
		count(&store, 4, counter, 0);
	}
	count(&store, 5, PERF_DOWNED, 7); /* of which one came with this reading; of port 6 all */
	count(&store, 6, PERF_DOWNED, 7);
	for (unsigned port = 5; port <= 6; port++) {
		struct port_counters *c = &store.counters[port - 1];

		c->rated = 1u << PERF_DOWNED;
		c->span_ms[counters_group(PERF_DOWNED)] = 60000;
		c->rate[PERF_DOWNED] = (port == 5 ? 1 : 7) / 60.0f;
	}
	text = text_for(t, &wish, &store, 4096);
	assert_int_equal(lines_with(text, "fmd_port_state{"), 0);
	assert_int_equal(lines_with(text, "fmd_port_info{"), 12 * 64 + 12);
	assert_int_equal(lines_with(text, "infiniband_switch_port_"), 7 + 3 + 2);
	assert_non_null(strstr(text, "port=\"5\",switch=\"leaf-su01-rail0\"} 7\n"));
	assert_non_null(strstr(text, "port=\"6\",switch=\"leaf-su01-rail0\"} 0\n"));
	assert_null(strstr(text, "error_total{guid=\"0x0002c90300000100\",port=\"4\""));
	assert_int_equal(lines_with(text, "fmd_port_link_up{"), 1);
	assert_non_null(strstr(text, "fmd_port_link_up{guid=\"0x0002c90300000100\",port=\"4\"} 0"));
	free(text);
	wish = (struct port_metrics_wish){ .hcas = true, .groups = PORTS_STATE | PORTS_ERRORS };
	text = text_for(t, &wish, &store, 4096);
	assert_int_equal(lines_with(text, "fmd_port_info{"), 0);
	assert_int_equal(lines_with(text, "fmd_port_state{"), 65 + 32 + 1);
	assert_int_equal(lines_with(text, "fmd_port_module_temperature_celsius{"), 1);
	assert_non_null(strstr(text, "port=\"1\"} 52\n"));
	assert_int_equal(lines_with(text, "infiniband_switch_port_"), 2 * 12 + 2);
	assert_int_equal(lines_with(text, "infiniband_switch_port_vl15_dropped_total{"), 2);
	free(text);
	assert_int_equal(port_metrics_group("fec"), PORTS_FEC);
	assert_int_equal(port_metrics_group("all"), 0);
	topo_unref(t);
}

static void nothing_published_is_an_empty_text(void **state)
{
	struct store none = { .oldest_us = 1 };
	char *text = text_of(NULL, true, &none, 4096);

	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_have_series_before_anything_is_read),
		cmocka_unit_test(a_counter_has_a_series_from_its_first_reading_on),
		cmocka_unit_test(the_error_correction_of_a_port_is_a_label_of_one_series),
		cmocka_unit_test(a_counter_that_was_not_read_for_long_has_none),
		cmocka_unit_test(ports_of_hcas_are_there_on_demand),
		cmocka_unit_test(names_are_escaped_and_ports_without_a_cable_have_no_series),
		cmocka_unit_test(pieces_of_any_size_make_the_same_text),
		cmocka_unit_test(a_link_without_transit_says_why),
		cmocka_unit_test(metrics_are_the_essential_ones_or_groups_of_one_leaf),
		cmocka_unit_test(nothing_published_is_an_empty_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
