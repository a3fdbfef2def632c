/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* control_world: the control socket on a fabric of three hosts on a switch that does as the test says, and a client. Behind <cmocka.h>. */
#ifndef FMD_TESTS_CONTROL_WORLD_H
#define FMD_TESTS_CONTROL_WORLD_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "fm/control/control.h"
#include "topology/dump.h"
#include "topology/mem.h"

#define PATIENCE 2000 /* rounds of the loop before a test gives up waiting; some seconds */
#define ROUND_US 5000
#define HOSTS	 3
#define BIG_TOP	 40000
#define CLIENTS	 32

/* ---- The fabric, as control sees one ---- */

struct fabric {
	struct topo *topo;
	struct lid_map lids;
	struct tables tables;
	fabric_done_fn *act_fn; /* of the act under way */
	void *act_arg;
	unsigned acts, cancelled;
	bool instant; /* acts end before they return */
	char cordoned[32];
	fabric_event_fn *event_fn; /* of the follower */
	void *event_arg;
	bool cordon_on;
	const char *refusal; /* it is not master */
};

const struct topo *fabric_topo(const struct fabric *f)
{
	return f->topo;
}
const struct lid_map *fabric_lids(const struct fabric *f)
{
	return f->topo ? &f->lids : NULL;
}
const struct tables *fabric_tables(const struct fabric *f)
{
	return f->topo ? &f->tables : NULL;
}
json_t *fabric_status(const struct fabric *f)
{
	return json_pack("{s:s}", "state", "master");
}
const struct mcast_plan *fabric_trees(const struct fabric *f)
{
	return NULL;
}
json_t *fabric_partitions(const struct fabric *f, const char *which)
{
	if (which && strcmp(which, "tenant-a") && strcmp(which, "0x8001"))
		return NULL;
	return json_pack("[{s:s, s:s}]", "name", "tenant-a", "pkey", "0x0001");
}
json_t *fabric_groups(const struct fabric *f)
{
	return json_pack("[{s:s, s:s}, {s:s, s:s}]", "mgid", "ff12:401b:ffff::1", "mlid", "0xc000",
			 "mgid", "ff12:401b:ffff::2", "mlid", "0xc001");
}
const char *fabric_refusal(const struct fabric *f)
{
	return f->refusal;
}

json_t *fabric_events(const struct fabric *f, unsigned count)
{
	json_t *events = json_array();

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(events, json_integer(i));
	return events;
}
bool fabric_check(const struct fabric *f, struct check_report *report)
{
	*report = (struct check_report){ .reachable = 6 };
	return true;
}

static inline void finish_act(struct fabric *f, json_t *result, const char *error)
{
	fabric_done_fn *fn = f->act_fn;

	f->act_fn = NULL;
	fn(f->act_arg, result, error);
	json_decref(result);
}
void fabric_reroute(struct fabric *f, fabric_done_fn *fn, void *arg)
{
	f->acts++;
	f->act_fn = fn;
	f->act_arg = arg;
	if (f->instant)
		finish_act(f, json_pack("{s:i}", "blocks", 7), NULL);
}
void fabric_sweep(struct fabric *f, fabric_done_fn *fn, void *arg)
{
	fabric_reroute(f, fn, arg);
}
void fabric_readback(struct fabric *f, fabric_done_fn *fn, void *arg)
{
	fabric_reroute(f, fn, arg);
}
void fabric_cordon(struct fabric *f, const char *what, bool on, fabric_done_fn *fn, void *arg)
{
	f->cordon_on = on;
	snprintf(f->cordoned, sizeof(f->cordoned), "%s", what);
	fabric_reroute(f, fn, arg);
}
void fabric_release(struct fabric *f, const char *what, fabric_done_fn *fn, void *arg)
{
	fabric_cordon(f, what, false, fn, arg);
}
void fabric_forget(struct fabric *f, const char *what, fabric_done_fn *fn, void *arg)
{
	fabric_cordon(f, what ? what : "all that is down", false, fn, arg);
}
json_t *fabric_links_down(const struct fabric *f)
{
	return dump_json_links(f->topo, true);
}
json_t *fabric_sick(const struct fabric *f)
{
	return json_pack("[{s:s}]", "sick", "quarantined");
}
void fabric_nvswitch_set(struct fabric *f, const char *host, const char *state, fabric_done_fn *fn,
			 void *arg)
{
	snprintf(f->cordoned, sizeof(f->cordoned), "%s %s", host, state ? state : "as it is");
	fabric_reroute(f, fn, arg);
}
json_t *fabric_nvswitch(const struct fabric *f)
{
	return json_pack("{s:[]}", "hosts");
}
json_t *fabric_health(const struct fabric *f)
{
	return json_pack("{s:[]}", "ports");
}
void fabric_health_read(struct fabric *f, fabric_done_fn *fn, void *arg)
{
	fabric_reroute(f, fn, arg);
}
int fabric_assume(const struct fabric *f, const char *text, uint8_t **states, char *err,
		  size_t err_size)
{
	if (strcmp(text, "host-1=NO_P2P")) {
		snprintf(err, err_size, "no host there: %s", text);
		return -1;
	}
	free(*states);
	*states = mem_alloc(1, 1);
	return 0;
}
json_t *fabric_trial(const struct fabric *f, const struct topo *variant, const uint8_t *states,
		     const struct tables *tables)
{
	return json_pack("[{ss}]", "host", "host-1");
}
void fabric_try(const struct fabric *f, const struct topo *variant, const uint8_t *states,
		struct tables *out)
{
	tables_copy(out, &f->tables);
	for (uint32_t h = 1; h <= HOSTS; h++)
		if (!topo_port(variant, 0, h)->link_up)
			tables_row(out, 0)[h + 1] = TABLES_NO_ROUTE;
}
uint8_t *fabric_port_classes(const struct fabric *f)
{
	return NULL;
}
void fabric_follow(struct fabric *f, fabric_event_fn *fn, void *arg)
{
	f->event_fn = fn;
	f->event_arg = arg;
}
void fabric_unfollow(struct fabric *f, void *arg)
{
	assert_ptr_equal(arg, f->event_arg);
	f->event_fn = NULL;
}
void fabric_act_cancel(struct fabric *f, void *arg)
{
	assert_ptr_equal(arg, f->act_arg);
	f->cancelled++;
	f->act_fn = NULL;
}

/* Port n of the switch leads to host n, whose LID is n + 1; the switch has LID 1. */
static inline struct topo *make_topo(void)
{
	struct topo_builder *b = topo_builder_new();
	struct topo_node_attr sw = {
		.guid = 0x100, .desc = "leaf-1", .type = TOPO_SWITCH, .nports = 4
	};
	int sw_node = topo_builder_node(b, &sw);

	for (unsigned n = 1; n <= HOSTS; n++) {
		char desc[16];
		struct topo_node_attr host = {
			.guid = 0x200 + n, .desc = desc, .type = TOPO_CA, .nports = 1
		};
		struct topo_port_attr port = { .guid = 0x300 + n, .speed = TOPO_NDR, .width = 4 };
		int node;

		snprintf(desc, sizeof(desc), "host-%u", n);
		node = topo_builder_node(b, &host);
		topo_builder_port(b, node, 1, &port);
		topo_builder_port(b, sw_node, n,
				  &(struct topo_port_attr){ .speed = TOPO_NDR, .width = 4 });
		topo_builder_link(b, sw_node, n, node, 1, true);
	}
	return topo_freeze(b);
}

/* LIDs above HOSTS + 1, up to `top`, are host 1's too: a long table of a small fabric. */
static inline void set_up_tables(struct fabric *f, uint16_t top)
{
	f->lids = (struct lid_map){ .top = top, .nports = f->topo->nports };
	f->lids.lid_of_port = mem_alloc(f->topo->nports, sizeof(uint16_t));
	f->lids.port_of_lid = mem_alloc(top + 1u, sizeof(uint32_t));
	f->lids.port_of_lid[0] = TOPO_NONE;
	tables_resize(&f->tables, 1, top);
	for (unsigned lid = 1; lid <= top; lid++) {
		unsigned host = lid == 1 ? 0 : lid <= HOSTS + 1 ? lid - 1 : 1;
		uint32_t port =
			host ? topo_find_port(f->topo, 0x300 + host) : f->topo->nodes[0].port0;

		f->lids.port_of_lid[lid] = port;
		if (lid <= HOSTS + 1)
			f->lids.lid_of_port[port] = (uint16_t)lid;
		tables_row(&f->tables, 0)[lid] = (uint8_t)host;
	}
}

/* ---- Fixture ---- */

struct fixture {
	char dir[64], path[96];
	struct loop *loop;
	struct loop_timer *round;
	struct fabric fabric;
	struct control *control;
	const char *reload_error;
	int fd;	    /* a client */
	char *text; /* what it has read */
	size_t len, size;
};

static inline int reload(void *arg, char *err, size_t err_size)
{
	struct fixture *f = arg;

	if (!f->reload_error)
		return 0;
	snprintf(err, err_size, "%s", f->reload_error);
	return -1;
}

static inline int dial(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(addr.sun_path, path);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static inline void round_over_cb(void *arg)
{
	loop_stop(arg);
}

static inline void run_round(struct fixture *f)
{
	loop_timer_set(f->round, ROUND_US);
	assert_int_equal(loop_run(f->loop), 0);
}

static inline struct control *open_control(struct fixture *f, char *err, size_t size)
{
	return control_new(f->loop, &f->fabric, f->path, reload, f, err, size);
}

static inline int set_up_top(void **state, uint16_t top)
{
	struct fixture *f = mem_alloc(1, sizeof(*f));
	char err[256] = "";

	strcpy(f->dir, "/tmp/fmd-test-control-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/fmd.sock", f->dir);
	f->loop = loop_new();
	f->round = loop_timer_new(f->loop, round_over_cb, f->loop);
	f->fabric.topo = make_topo();
	set_up_tables(&f->fabric, top);
	f->control = open_control(f, err, sizeof(err));
	assert_non_null(f->control);
	f->fd = dial(f->path);
	*state = f;
	return 0;
}

static inline int set_up(void **state)
{
	return set_up_top(state, HOSTS + 1);
}

static inline int set_up_big(void **state)
{
	return set_up_top(state, BIG_TOP);
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	close(f->fd);
	control_free(f->control);
	topo_unref(f->fabric.topo);
	free(f->fabric.lids.lid_of_port);
	free(f->fabric.lids.port_of_lid);
	tables_fini(&f->fabric.tables);
	loop_timer_free(f->round);
	loop_free(f->loop);
	unlink(f->path);
	rmdir(f->dir);
	free(f->text);
	free(f);
	return 0;
}

/* ---- A client ---- */

static inline void say(struct fixture *f, const char *text)
{
	assert_int_equal(send(f->fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

enum heard { HEARD_TEXT, HEARD_NOTHING, HEARD_END };

static inline enum heard hear(struct fixture *f)
{
	char piece[65536];
	ssize_t len = recv(f->fd, piece, sizeof(piece), MSG_DONTWAIT);

	if (len == 0 || (len < 0 && errno == ECONNRESET))
		return HEARD_END;
	if (len < 0)
		return HEARD_NOTHING;
	if (f->len + len + 1 > f->size) {
		f->size = (f->len + len + 1) * 2;
		f->text = mem_resize(f->text, f->size, 1);
	}
	memcpy(f->text + f->len, piece, len);
	f->len += len;
	return HEARD_TEXT;
}

/* Takes the text up to `end`, which stands at `at`, off what was heard. */
static inline char *take(struct fixture *f, size_t at)
{
	char *line = mem_alloc(at + 1, 1);

	memcpy(line, f->text, at);
	f->len -= at + 1;
	memmove(f->text, f->text + at + 1, f->len);
	return line;
}

/* The loop runs until `end` was read. */
static inline char *hear_until(struct fixture *f, char end)
{
	size_t looked = 0;

	for (unsigned i = 0; i < PATIENCE; i++) {
		char *found = f->len ? memchr(f->text + looked, end, f->len - looked) : NULL;

		if (found)
			return take(f, found - f->text);
		looked = f->len;
		if (hear(f) == HEARD_NOTHING)
			run_round(f);
	}
	fail_msg("no answer");
	return NULL;
}

static inline bool hear_end(struct fixture *f)
{
	for (unsigned i = 0; i < PATIENCE; i++) {
		if (hear(f) == HEARD_END)
			return true;
		run_round(f);
	}
	return false;
}

static inline void answers(struct fixture *f, const char *expected)
{
	char *line = hear_until(f, '\n');

	assert_string_equal(line, expected);
	free(line);
}

static inline json_t *ask(struct fixture *f, const char *request)
{
	char *line;
	json_t *answer;

	say(f, request);
	line = hear_until(f, '\n');
	answer = json_loads(line, 0, NULL);
	assert_non_null(answer);
	assert_true(json_is_true(json_object_get(answer, "ok")));
	free(line);
	return answer;
}

static inline json_t *item(json_t *answer, const char *list, size_t index)
{
	json_t *result = json_object_get(answer, "result");

	return json_array_get(json_object_get(result, list), index);
}

#endif
