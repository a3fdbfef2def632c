/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Plans as tables of cable ends, as UFM's NDT. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/lib/fabrics.h"
#include "topology/cabling/cabling.h"
#include "topology/files/netfile.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"

#define NDT                                                                                        \
	"rack #,U height,#Fields:StartDevice,StartPort,StartDeviceLocation,EndDevice,EndPort,"     \
	"EndDeviceLocation,U height_1,LinkType,Speed,_2,Cable "                                    \
	"Length,_3,_4,_5,_6,_7,State,Domain\n"

static struct topo *parse(const char *text, const struct topo *t, char *err, size_t err_size)
{
	*err = '\0';
	return cabling_plan_parse("plan.csv", text, strlen(text), t, err, err_size);
}

static void assert_refused(const char *text, const char *reason)
{
	char err[512];

	assert_null(parse(text, NULL, err, sizeof(err)));
	assert_string_equal(err, reason);
}

/* Every cable of a fabric as a row of UFM's table. */
static char *write_ndt(const struct topo *t)
{
	size_t len;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	fputs(NDT, out);
	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *port = &t->ports[p], *peer = topo_peer(t, port);

		if (peer && !t->nodes[peer->node].sharp && !t->nodes[port->node].sharp)
			fprintf(out, ",,%s,Port %u,,%s,Port %u,,,,,,,,,,,,Active,In-Scope\n",
				t->nodes[port->node].desc, port->num, t->nodes[peer->node].desc,
				peer->num);
	}
	fclose(out);
	return text;
}

static void a_fabric_written_as_ufms_table_is_its_own_plan(void **state)
{
	struct topo *t = pod(2), *plan;
	char *text = write_ndt(t), err[512];
	struct cabling *c;

	plan = parse(text, t, err, sizeof(err));
	if (!plan)
		fail_msg("%s", err);
	c = cabling_compare(plan, t);
	assert_int_equal(c->compared, 1024);
	assert_int_equal(c->count, 0);
	cabling_free(c);
	topo_unref(plan);
	topo_unref(t);
	free(text);
}

static void columns_are_known_by_their_names_in_any_order(void **state)
{
	static const char text[] = "\n\"End Port\",end_device,Note,START PORT,Start-Device\r\n"
				   "3,\"spine, the first\",,Port 21,leaf 1\r\n"
				   "\r\n"
				   "4,\"spine, the first\",\"a \"\"note\"\"\",22,leaf 1\r\n"
				   "Port 1,node1 mlx5_0,,1,leaf 1\r\n"
				   "mlx5_1,node1,,2,leaf 1";
	char err[512];
	struct topo *t = parse(text, NULL, err, sizeof(err));

	if (!t)
		fail_msg("%s", err);
	assert_int_equal(t->nlinks, 4);
	assert_int_equal(topo_peer(t, topo_port(t, find_desc(t, "leaf 1"), 22))->num, 4);
	assert_int_equal(topo_peer(t, topo_port(t, find_desc(t, "node1 mlx5_1"), 1))->num, 2);
	assert_true(find_desc(t, "spine, the first") < t->nswitches ||
		    t->nodes[find_desc(t, "spine, the first")].nports == 4);
	topo_unref(t);
}

static void rows_of_other_links_and_states_are_no_cables(void **state)
{
	static const char text[] = "StartDevice,StartPort,EndDevice,EndPort,LinkType,State\n"
				   "leaf,Port 1,spine,Port 1,Data,Active\n"
				   "leaf,Eth 1/2,router,mgmt 0,Management,Active\n"
				   "leaf,Port 3,spine,Port 3,Data,Disabled\n"
				   "spine,1,leaf,1,data,\n";
	char err[512];
	struct topo *t = parse(text, NULL, err, sizeof(err));

	if (!t)
		fail_msg("%s", err);
	assert_int_equal(t->nlinks, 1);
	topo_unref(t);
}

/* "MF0;leaf-01:MQM9700/U1" is leaf-01 to people. */
static void switches_are_known_by_their_systems_names(void **state)
{
	static const char net[] = "switchguid=0x1\nSwitch 64 \"S-0000000000000001\" # "
				  "\"MF0;leaf-01:MQM9700/U1\" base port 0 lid 1 lmc 0\n"
				  "[1] \"H-0000000000000002\"[1] # \"node1 mlx5_0\" lid 2 4xNDR\n\n"
				  "caguid=0x2\nCa 1 \"H-0000000000000002\" # \"node1 mlx5_0\"\n"
				  "[1](3) \"S-0000000000000001\"[1] # lid 2 lmc 0 "
				  "\"MF0;leaf-01:MQM9700/U1\" lid 1 4xNDR\n";
	struct topo *t = parse_netfile(net), *plan;
	struct cabling *c;
	char err[512];

	plan = parse(
		"StartDevice,StartPort,EndDevice,EndPort\nleaf-01,Port 1,node1 mlx5_0,Port 1\n", t,
		err, sizeof(err));
	if (!plan)
		fail_msg("%s", err);
	c = cabling_compare(plan, t);
	assert_int_equal(c->compared, 1);
	assert_int_equal(c->count, 0);
	cabling_free(c);
	topo_unref(plan);
	topo_unref(t);
}

static void what_is_wrong_with_a_table_is_said_with_its_line(void **state)
{
	assert_refused("a,b,c,d\n1,2,3,4\n",
		       "plan.csv:1: no header with the columns StartDevice, StartPort, EndDevice "
		       "and EndPort");
	assert_refused("StartDevice,StartPort,EndDevice,EndPort\nleaf,0,spine,1\n",
		       "plan.csv:2: port '0' of leaf is none of 1 to 254");
	assert_refused("StartDevice,StartPort,EndDevice,EndPort\nleaf,Blade 2_Port 1/1,spine,1\n",
		       "plan.csv:2: port 'Blade 2_Port 1/1' of leaf: a number is needed, as in "
		       "'Port 21'");
	assert_refused("StartDevice,StartPort,EndDevice,EndPort\n\nleaf,1,spine,\n",
		       "plan.csv:3: a cable's end without a device or port");
	assert_refused("StartDevice,StartPort,EndDevice,EndPort\nleaf,1,spine,1\nleaf,1,spine,2\n",
		       "plan.csv:3: leaf port 1 or spine port 2 has another cable already");
	assert_refused("StartDevice,StartPort,EndDevice,EndPort\nleaf,1,leaf,1\n",
		       "plan.csv:2: a cable from leaf port 1 to itself");
}

/* ---- For admission --------------------------------------------------------------------------- */

/* Every port of a fabric as a line of topoconfig.conf; `skip`: without the last so many lines. */
static char *write_config(const struct topo *t, unsigned skip)
{
	size_t len;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *port = &t->ports[p], *peer = topo_peer(t, port);

		if (peer && !t->nodes[peer->node].sharp && !t->nodes[port->node].sharp)
			fprintf(out, "0x%llx,%u,0x%llx,%u,Any,Active\n",
				(unsigned long long)t->nodes[port->node].guid, port->num,
				(unsigned long long)t->nodes[peer->node].guid, peer->num);
	}
	fclose(out);
	for (; skip; skip--) {
		text[len - 1] = '\0';
		len = (size_t)(strrchr(text, '\n') + 1 - text);
		text[len] = '\0';
	}
	return text;
}

static void assert_fits(const char *text, const struct topo *t)
{
	char err[512] = "";
	struct topo *plan = cabling_plan_parse("plan", text, strlen(text), t, err, sizeof(err));
	guid_t *guids;

	if (!plan || !cabling_plan_fits(plan, t, "plan", text, err, sizeof(err)))
		fail_msg("%s", err);
	guids = cabling_plan_guids(plan, t);
	for (uint32_t n = 0; n < plan->nnodes; n++)
		assert_true(plan->nodes[n].sharp || topo_find(t, guids[n]) != TOPO_NONE);
	free(guids);
	topo_unref(plan);
}

static void assert_unfit(const char *text, const struct topo *t, const char *reason)
{
	char err[512] = "";
	struct topo *plan = cabling_plan_parse("plan", text, strlen(text), t, err, sizeof(err));

	assert_false(plan && cabling_plan_fits(plan, t, "plan", text, err, sizeof(err)));
	if (!strstr(err, reason))
		assert_string_equal(err, reason);
	topo_unref(plan);
}

static void a_fabric_in_each_format_is_a_plan_with_all_of_its_cables(void **state)
{
	struct topo *t = pod(2);
	char *ndt = write_ndt(t), *config = write_config(t, 0), *net = NULL;
	size_t len;
	FILE *out = open_memstream(&net, &len);

	netfile_write(t, out);
	fclose(out);
	assert_fits(ndt, t);
	assert_fits(config, t);
	assert_fits(net, t);
	free(ndt);
	free(config);
	free(net);
	topo_unref(t);
}

static void what_is_no_plan_of_this_fabric_is_refused_by_file_and_line(void **state)
{
	struct topo *t = pod(2);
	char *config = write_config(t, 1), leaf[64], text[512], reason[512];
	unsigned lines = 0;

	for (const char *at = config; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 2047);
	/* The end of the link whose other end is the line that is gone. */
	assert_unfit(config, t, "the file is cut off");
	config[strlen(config) - 8] = '\0';
	assert_unfit(config, t,
		     "plan:2047: not GUID,PORT,GUID,PORT,TYPE,STATE: the file is cut off");
	snprintf(leaf, sizeof(leaf), "0x%016llx", (unsigned long long)t->nodes[0].guid);
	snprintf(text, sizeof(text), "\n%s,1,0xabc0000000000001,1,Any,Active", leaf);
	assert_unfit(text, t, "plan:2: the line has no end: the file is cut off");
	snprintf(text, sizeof(text),
		 "%s,1,0xabc0000000000001,1,Any,Active\n%s,99,0xabc0000000000001,2,Any,Active\n",
		 leaf, leaf);
	snprintf(reason, sizeof(reason), "plan:2: %s port 99: the device has no such port",
		 t->nodes[0].desc);
	assert_unfit(text, t, reason);
	snprintf(text, sizeof(text),
		 "%s,1,0xabc0000000000001,1,Any,Active\n"
		 "0xabc0000000000003,1,0xabc0000000000004,2,Any,Active\n",
		 leaf);
	assert_unfit(text, t,
		     "plan:2: 0xabc0000000000003: neither known nor cabled to what is: the plan "
		     "is of another fabric");
	snprintf(text, sizeof(text),
		 "StartDevice,StartPort,EndDevice,EndPort\n"
		 "%s,Port 1,new,1\n%s,Port 99,new,2\n",
		 t->nodes[0].desc, t->nodes[0].desc);
	snprintf(reason, sizeof(reason), "plan:3: %s port 99: the device has no such port",
		 t->nodes[0].desc);
	assert_unfit(text, t, reason);
	free(config);
	topo_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fabric_in_each_format_is_a_plan_with_all_of_its_cables),
		cmocka_unit_test(what_is_no_plan_of_this_fabric_is_refused_by_file_and_line),
		cmocka_unit_test(a_fabric_written_as_ufms_table_is_its_own_plan),
		cmocka_unit_test(columns_are_known_by_their_names_in_any_order),
		cmocka_unit_test(rows_of_other_links_and_states_are_no_cables),
		cmocka_unit_test(switches_are_known_by_their_systems_names),
		cmocka_unit_test(what_is_wrong_with_a_table_is_said_with_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
