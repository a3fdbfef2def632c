/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/control_world.h"

/* ---- The fabric ---- */

/* Port n of the switch leads to host n, whose LID is n + 1; the switch has LID 1. */
static struct topo *make_topo(void)
{
	struct topo_builder *b = topo_builder_new();
	struct topo_node sw = { .guid = 0x100, .desc = "leaf-1", .type = TOPO_SWITCH, .nports = 4 };
	int sw_node = topo_builder_node(b, &sw);

	for (unsigned n = 1; n <= HOSTS; n++) {
		char desc[16];
		struct topo_node host = {
			.guid = 0x200 + n, .desc = desc, .type = TOPO_CA, .nports = 1
		};
		struct topo_port port = { .guid = 0x300 + n, .speed = TOPO_NDR, .width = 4 };
		int node;

		snprintf(desc, sizeof(desc), "host-%u", n);
		node = topo_builder_node(b, &host);
		topo_builder_port(b, node, 1, &port);
		topo_builder_port(b, sw_node, n,
				  &(struct topo_port){ .speed = TOPO_NDR, .width = 4 });
		topo_builder_link(b, sw_node, n, node, 1, true);
	}
	return topo_freeze(b);
}

/* LIDs above HOSTS + 1, up to `top`, are host 1's too: a long table of a small fabric. */
static void set_up_tables(struct fabric *f, uint16_t top)
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

static int reload(void *arg, char *err, size_t err_size)
{
	struct fixture *f = arg;

	if (!f->reload_error)
		return 0;
	snprintf(err, err_size, "%s", f->reload_error);
	return -1;
}

int dial(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(addr.sun_path, path);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static void look_over_cb(void *arg)
{
	struct fixture *f = arg;

	if (++f->looks > ROUND_LOOKS)
		loop_stop(f->loop);
	else
		loop_timer_set(f->round, LOOK_US);
}

void run_round(struct fixture *f)
{
	f->looks = 0;
	loop_timer_set(f->round, LOOK_US);
	assert_int_equal(loop_run(f->loop), 0);
}

struct control *open_control(struct fixture *f, char *err, size_t size)
{
	return control_new(f->loop, &f->fabric, f->path, reload, f, err, size);
}

static int set_up_top(void **state, uint16_t top)
{
	struct fixture *f = mem_alloc(1, sizeof(*f));
	char err[256] = "";

	strcpy(f->dir, "/tmp/fmd-test-control-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/fmd.sock", f->dir);
	f->loop = loop_new();
	f->round = loop_timer_new(f->loop, look_over_cb, f);
	f->fabric.topo = make_topo();
	set_up_tables(&f->fabric, top);
	f->control = open_control(f, err, sizeof(err));
	assert_non_null(f->control);
	f->fd = dial(f->path);
	*state = f;
	return 0;
}

int set_up(void **state)
{
	return set_up_top(state, HOSTS + 1);
}

int set_up_big(void **state)
{
	return set_up_top(state, BIG_TOP);
}

int tear_down(void **state)
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

void say(struct fixture *f, const char *text)
{
	assert_int_equal(send(f->fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

enum heard hear(struct fixture *f)
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
static char *take(struct fixture *f, size_t at)
{
	char *line = mem_alloc(at + 1, 1);

	memcpy(line, f->text, at);
	f->len -= at + 1;
	memmove(f->text, f->text + at + 1, f->len);
	return line;
}

char *hear_until(struct fixture *f, char end)
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

bool hear_end(struct fixture *f)
{
	for (unsigned i = 0; i < PATIENCE; i++) {
		if (hear(f) == HEARD_END)
			return true;
		run_round(f);
	}
	return false;
}

void answers(struct fixture *f, const char *expected)
{
	char *line = hear_until(f, '\n');

	assert_string_equal(line, expected);
	free(line);
}

json_t *ask_control(struct fixture *f, const char *request)
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

json_t *item(json_t *answer, const char *list, size_t index)
{
	json_t *result = json_object_get(answer, "result");

	return json_array_get(json_object_get(result, list), index);
}
