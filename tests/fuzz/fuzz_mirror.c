/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What other managers send, at the handlers behind TLS, within a whole manager on a small fabric in
 * simulated time. An input is a list of steps of eight bytes: managers that connect and go, frames
 * of every kind with heads that are nearly right, another master that the election accepts, time,
 * joins that are recorded meanwhile, a restart.
 *
 * Nothing crashes, and nobody is sent a row before its HELLO.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <assert.h>
#include <netinet/in.h>
#include "fm/loop/loop.h"
#include "tests/fabric/double_own.h"
#include "tests/lib/fabric_world.h"

/* The room as it is; that a simulated loop has no sockets is the harness's concern. */
#define loop_is_simulated(loop) ((void)(loop), false)
#include "fm/mirror/module.c"
#undef loop_is_simulated

#define STEP	 8
#define STEPS	 64
#define CHANNELS 24
#define PEER	 0x00000000beef0001ull

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- Channels without TLS -------------------------------------------------------------------- */

struct channel_tls {
	int dummy;
};

struct channel {
	const struct channel_ops *ops;
	void *arg;
	bool used, met;
	uint64_t seq;
};

static struct channel channels[CHANNELS];
static listener_fn *door;
static void *door_arg;

struct channel_tls *channel_tls_new(const struct conf_mirror *conf, char *err, size_t err_size)
{
	return mem_alloc(1, sizeof(struct channel_tls));
}

void channel_tls_free(struct channel_tls *tls)
{
	free(tls);
}

static struct channel *channel_make(const struct channel_ops *ops, void *arg)
{
	struct channel *c = channels;

	while (c->used)
		c++;
	assert(c < channels + CHANNELS);
	*c = (struct channel){ ops, arg, true, false, 0 };
	return c;
}

struct channel *channel_connect(struct loop *loop, struct channel_tls *tls, const char *host,
				unsigned port, const char *names, const struct channel_ops *ops,
				void *arg)
{
	return channel_make(ops, arg);
}

struct channel *channel_accept(struct loop *loop, struct channel_tls *tls, int fd,
			       const struct channel_ops *ops, void *arg)
{
	return channel_make(ops, arg);
}

void channel_take_long(struct channel *c)
{
}

void channel_close(struct channel *c)
{
	c->used = false;
}

bool channel_export(const struct channel *c, const char *label, uint8_t *bytes, size_t count)
{
	memset(bytes, 1, count);
	return true;
}

void channel_sign(const struct channel *c, char text[CHANNEL_SIGNED])
{
	*text = '\0';
}

void channel_proof(const struct channel *c, const char *text, uint8_t proof[CHANNEL_PROOF])
{
	memset(proof, text ? *text : 0, CHANNEL_PROOF);
}

void channel_send(struct channel *c, enum frame_type type, json_t *head, const char *body,
		  size_t length)
{
	assert(c->used);
	assert(c->met || (type != FRAME_ROWS && type != FRAME_WHOLE));
	json_decref(head);
}

int listener_socket(struct loop *loop, const char *where, bool names)
{
	return 1000;
}

struct listener *listener_new(struct loop *loop, int fd, const char *name, unsigned unproven,
			      listener_fn *fn, void *arg)
{
	door = fn;
	door_arg = arg;
	return (struct listener *)&door;
}

void listener_free(struct listener *listener)
{
	door = NULL;
}

bool listener_done(struct listener *listener, int fd, bool proven)
{
	return true;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static const char *const names[] = {
	"cordons",	    "groups", "members", "services", "lids",	"takeovers",
	"peer_keys",	    "cables", "hosts",	 "events",   "unknown", "u1",
	"../../etc/passwd", "kinds",  "nodes",	 "held"
};

/* Rows of a kind: the lines of the bytes are keys and values in turn. */
static void rows_of(struct bytes *to, const uint8_t s[STEP], char *lines)
{
	const char *name = names[s[3] % (sizeof(names) / sizeof(names[0]))];
	char *rest = NULL, made[16];

	snprintf(made, sizeof(made), "n%u", s[6]);
	for (char *key = strtok_r(lines, "\n", &rest); key; key = strtok_r(NULL, "\n", &rest)) {
		const struct row_change row = { s[5] & 2 ? made : name, key,
						strtok_r(NULL, "\n", &rest), 0 };

		row_bytes_add(to, &row);
	}
}

static json_t *head_of(const uint8_t s[STEP], const char *body, size_t length)
{
	char guid[32];

	snprintf(guid, sizeof(guid), "0x%016llx", s[4] & 1 ? PEER : PEER + s[4] % 16);
	switch (s[2] % 8) {
	case 0:
		return json_pack("{si ss ss sb sI s[[Is]] s[s] sb ss}", "protocol",
				 MIRROR_PROTOCOL + (s[5] & 4 ? s[6] % 4 - 2 : 0), "port_guid", guid,
				 "name", "peer", "records", s[5] & 8, "unshared", (json_int_t)s[6],
				 "takeovers", (json_int_t)s[6], guid, "m_keys", "abc",
				 "gives_m_keys", s[5] & 16, "signed", s[5] & 32 ? "x" : "");
	case 1:
		return json_pack("{sb s[[Is]]}", "master", s[5] & 4, "takeovers",
				 (json_int_t)s[6] << (s[5] & 31), guid);
	case 2:
	case 3:
	case 4:
		return json_pack("{sI}", "seq", (json_int_t)s[6] - (s[5] & 4 ? 100 : 0));
	case 5:
		return json_pack("{sI sb}", "seq", (json_int_t)s[6] - 100, "whole", s[5] & 1);
	case 6:
		return json_loadb(body, length, JSON_DECODE_ANY, NULL);
	default:
		return json_object();
	}
}

static void frame_send(struct channel *c, const uint8_t s[STEP], const uint8_t *data, size_t size)
{
	static const enum frame_type types[] = {
		FRAME_HELLO, FRAME_ROLE,  FRAME_ROWS,  FRAME_ROWS,
		FRAME_ROWS,  FRAME_TAKEN, FRAME_HELLO, FRAME_WHOLE
	};
	size_t length = s[7] < size ? s[7] : size;
	char *body = mem_alloc(length + 1, 1);
	struct bytes rows = { 0 };
	struct frame frame = { .type = s[5] & 128 ? s[6] % 16 : types[s[2] % 8] };

	memcpy(body, data, length);
	if (length && s[5] & 64)
		body[length - 1] = '\n';
	frame.head = head_of(s, body, length);
	if (s[2] % 8 == 2 || s[2] % 8 == 3)
		rows_of(&rows, s, body);
	frame.body = rows.data ? rows.data : body;
	frame.length = rows.data ? rows.end : length;
	if (json_is_object(frame.head)) {
		c->met |= frame.type == FRAME_HELLO;
		c->ops->frame(c->arg, c, &frame);
	}
	json_decref(frame.head);
	free(rows.data);
	free(body);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static void accept_one(unsigned n)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	unsigned used = 0;

	for (unsigned i = 0; i < CHANNELS; i++)
		used += channels[i].used;
	if (!door || used >= CHANNELS - MIRROR_PEERS)
		return;
	from.sin_addr.s_addr = n;
	door(door_arg, n == 255 ? -1 : 1001 + (int)n, (const struct sockaddr *)&from);
}

static void other_master(struct world *w, const uint8_t s[STEP])
{
	const struct topo *t = w->design;
	guid_t host = t->nodes[t->nswitches + 1 + s[1] % (t->ncas - 1)].guid;
	const struct wire_sm_info info = {
		.guid = PEER, .priority = s[2] % 16, .state = s[3] % 5, .act_count = s[4]
	};

	double_set_sm(w->hw, host, 1, s[5] & 2 ? NULL : &info);
}

static void step(struct world *w, const uint8_t s[STEP], const uint8_t *data, size_t size)
{
	struct channel *c = &channels[s[1] % CHANNELS];
	guid_t own = w->design->nodes[w->design->nswitches + 1].guid;

	switch (s[0] % 10) {
	case 0:
		run_for(w, (1 + s[1]) * 20000ull);
		break;
	case 1:
		accept_one(s[1]);
		break;
	case 2:
		if (c->used)
			c->ops->opened(c->arg, c);
		break;
	case 3:
		if (c->used) {
			c->used = false;
			c->ops->closed(c->arg, c, "it ended");
		}
		break;
	case 4:
		other_master(w, s);
		break;
	case 5:
		double_cut(w->hw, own, 1);
		run_for(w, 20000);
		double_join(w->hw, own, 1);
		break;
	case 6:
		stop_fabric(w);
		start_fabric(w);
		break;
	default:
		if (c->used)
			frame_send(c, s, data, size);
	}
	run_for(w, 1000);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	return setenv("CMOCKA_TEST_ABORT", "1", 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned m[] = { 2, 3 }, up[] = { 1, 2 }, lanes[] = { 1, 2 };
	char err[256];
	struct world w;

	memset(channels, 0, sizeof(channels));
	world_init_stopped(&w, generate_pgft(2, m, up, lanes, err, sizeof(err)));
	log_set_level(-1, LOG_ERR - 1);
	strcpy(w.conf.mirror.listen, "127.0.0.1:1");
	strcpy(w.conf.mirror.peers, "127.0.0.1:2 127.0.0.1:3");
	start_fabric(&w);
	run_for(&w, SECOND_US);
	for (size_t at = 0; at + STEP <= size && at < STEPS * STEP; at += STEP)
		step(&w, data + at, data + at + STEP, size - at - STEP);
	world_fini(&w);
	for (unsigned i = 0; i < CHANNELS; i++)
		assert(!channels[i].used);
	return 0;
}
