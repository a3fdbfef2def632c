/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The whole manager on a small fabric double, in simulated time. An input is a list of steps of
 * eight bytes: faults of devices and cables, answers that are falsified or changed on their way,
 * MADs of any class from any port, other masters, operators' commands, restarts, state files that
 * were edited by hand.
 *
 * Nothing crashes. Where only devices, cables and answers were ill, the fabric is whole again some
 * time after the last of them is mended, without a command: every device is known, the judge of the
 * double finds no dead pair, no loop, no credit cycle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <assert.h>
#include "fm/control/answer.h"
#include "fm/mad/wire_sa.h"
#include "tests/fabric/double_falsify.h"
#include "tests/fabric/double_judge.h"
#include "tests/fabric/double_own.h"
#include "tests/fabric/fault.h"
#include "tests/lib/fabric_world.h"
#include "topology/base/mem.h"

#define STEP	   8
#define STEPS	   48
#define MENDED_S   200 /* more than isolations and damped flaps last */
#define PORTS	   8
#define SMP_DATA   64
#define SA_HEADER  56
#define ANY_MAD	   2048
#define AWAITED(m) ((m)[3] & 0x80)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct ill {
	struct world w;
	io_recv_fn *recv;
	void *arg;
	uint64_t seed;
	unsigned falsify; /* so many answers to come */
	unsigned change, at;
	uint8_t bits; /* so many, whose byte `at` is not as it was sent */
	bool by_hand; /* something was done that no mending ends */
};

static void recv_ill(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct ill *l = arg;
	uint8_t copy[ANY_MAD];
	bool far = mad[1] != WIRE_SMI_DR || mad[7];

	if (len <= sizeof(copy) && AWAITED(mad) && far) {
		memcpy(copy, mad, len);
		if (l->change) {
			l->change--;
			copy[l->at % len] ^= l->bits;
		} else if (l->falsify && mad[1] != WIRE_SA) {
			l->falsify--;
			double_falsify(l->w.design, &l->seed, copy);
		}
		mad = copy;
	}
	l->recv(l->arg, from, mad, len);
}

static void start(struct ill *l)
{
	struct io *io;

	start_fabric(&l->w);
	io = double_io(l->w.hw);
	l->recv = io->recv;
	l->arg = io->arg;
	io->recv = recv_ill;
	io->arg = l;
}

static const struct topo_node *node_of(const struct ill *l, unsigned n)
{
	return &l->w.design->nodes[n % l->w.design->nnodes];
}

static unsigned port_of(const struct topo_node *node, unsigned p)
{
	return node->nports ? 1 + p % node->nports : 0;
}

static void set_fault(struct ill *l, const uint8_t s[STEP], bool on)
{
	const struct fault *rows = fault_table();
	const struct topo_node *node = node_of(l, s[2]);
	unsigned nfaults, amount = 1;

	for (nfaults = 0; rows[nfaults].name; nfaults++)
		;
	rows += s[1] % nfaults;
	if (rows->amount == FAULT_SHARE)
		amount = 1 + s[4] * 4;
	else if (rows->amount == FAULT_TIME)
		amount = 1 + s[4] * 4000;
	fault_set(l->w.hw, rows, node->guid, port_of(node, s[3]), on ? amount : 0);
}

static void heard_any(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
}

/* A MAD to the manager from a node's port: class, method, attribute and content are the input's. */
static void inject(struct ill *l, const uint8_t s[STEP], const uint8_t *data, size_t size)
{
	static const uint8_t classes[] = { WIRE_SA, WIRE_SA, WIRE_SMI_LID, WIRE_SMI_DR, WIRE_PERF };
	static const uint16_t attrs[] = {
		WIRE_NOTICE,	WIRE_SM_INFO,	    WIRE_SA_MCMEMBER,	     WIRE_SA_PATH,
		WIRE_SA_NODE,	WIRE_SA_PORT_INFO,  WIRE_SA_INFORM_INFO,     WIRE_SA_SERVICE,
		WIRE_NODE_INFO, WIRE_SA_MULTI_PATH, WIRE_SA_CLASS_PORT_INFO, WIRE_PORT_INFO,
	};
	static const uint8_t methods[] = { WIRE_GET,	   WIRE_SET,	     WIRE_TRAP,
					   WIRE_GET_TABLE, WIRE_DELETE,	     WIRE_GET_RESP,
					   WIRE_REPORT,	   WIRE_TRAP_REPRESS };
	const struct topo_node *own = &l->w.design->nodes[l->w.design->nswitches];
	const struct topo_node *node = node_of(l, s[4]);
	uint8_t class = classes[s[1] % sizeof(classes)], mad[WIRE_MAD_SIZE] = { 0 };
	bool smp = class == WIRE_SMI_LID || class == WIRE_SMI_DR;
	const struct wire_mad header = {
		.mgmt_class = class,
		.class_version = class == WIRE_SA ? 2 : 1,
		.method = methods[s[2] % sizeof(methods)],
		.tid = s[6],
		.attr_id = attrs[s[3] % (sizeof(attrs) / sizeof(attrs[0]))],
		.attr_mod = s[7],
	};
	const struct io_addr to = { .lid = double_port_info(l->w.hw, own->guid, 1)->lid,
				    .qp = !smp,
				    .qkey = smp ? 0 : 0x80010000u };
	size_t at = smp ? SMP_DATA : 24, most = sizeof(mad) - at;

	wire_mad_encode(&header, mad);
	memcpy(mad + at, data, size < most ? size : most);
	if (s[5] & 0x80) /* any byte of the header too */
		mad[s[5] % 64] ^= s[6];
	double_inject(l->w.hw, node->guid, node->type == TOPO_SWITCH ? 0 : 1, &to, mad, sizeof(mad),
		      heard_any, NULL);
}

static void other_master(struct ill *l, const uint8_t s[STEP])
{
	const struct topo *t = l->w.design;
	guid_t host = t->nodes[t->nswitches + 1 + s[1] % (t->ncas - 1)].guid;
	const struct wire_sm_info info = { .guid = s[5] & 1 ? host + 1 : ~0ull,
					   .priority = s[2] % 16,
					   .state = s[3] % 5,
					   .act_count = s[4] };

	double_set_sm(l->w.hw, host, 1, s[5] & 2 ? NULL : &info);
	if (s[5] & 4)
		double_set_sm_silent(l->w.hw, host, 1);
}

static void done_cb(void *arg, json_t *result, const char *error)
{
}

static int no_reload(void *arg, char *err, size_t err_size)
{
	snprintf(err, err_size, "not here");
	return -1;
}

/* A command with what a person may type behind it, or what follows in the input. */
static void command(struct ill *l, const uint8_t s[STEP], const uint8_t *data, size_t size)
{
	static const char *const keys[] = { "what",   "node", "count", "from", "to",
					    "filter", "fail", "lid",   "port", "dry_run" };
	const struct command_env env = { .fabric = l->w.fabric, .reload = no_reload };
	const struct topo_node *node = node_of(l, s[3]);
	char err[COMMAND_ERROR_SIZE] = "";
	const struct command *c;
	json_t *args, *result;
	unsigned count;

	for (count = 0; fmd_commands[count].name; count++)
		;
	c = &fmd_commands[(s[1] | (unsigned)s[6] << 8) % count];
	args = s[5] & 1 ? json_loadb((const char *)data, size, 0, NULL) : NULL;
	if (!json_is_object(args)) {
		json_decref(args);
		args = json_object();
		for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (s[2] >> i % 8 & 1)
				json_object_set_new(args, keys[i],
						    s[4] >> i % 8 & 1 ? json_integer(s[4])
								      : json_string(node->desc));
	}
	if (command_is_operation(c, args)) {
		l->by_hand = true;
		command_begin(c, l->w.fabric, args, done_cb, NULL);
	} else if (c->run->answer || c->run->rows) {
		result = command_answer(&env, c, args, err);
		assert(result || *err);
		json_decref(result);
	}
	json_decref(args);
}

/* Rows of a kind with a byte that is not as it was, as if a person had edited them. */
static void edit_state(struct ill *l, const uint8_t s[STEP], const uint8_t *data, size_t size)
{
	static const char *const names[] = { "lids",   "cables", "cordons", "nodes", "ports",
					     "groups", "hosts",	 "tables",  "plan",  "events" };
	const char *name = names[s[1] % (sizeof(names) / sizeof(names[0]))];
	char *rows = rows_text(l->w.state_dir, name), *text;
	size_t length = strlen(rows);

	l->by_hand = true;
	if (length)
		rows[(s[2] | (size_t)s[3] << 8) % length] = (char)(s[4] ? s[4] : '\n');
	text = mem_printf("%s%.*s", rows, s[5] & 1 ? (int)size : 0, (const char *)data);
	rows_replace(l->w.state_dir, name, text);
	free(text);
	free(rows);
}

static void restart(struct ill *l, const uint8_t s[STEP], const uint8_t *data, size_t size)
{
	stop_fabric(&l->w);
	if (s[6] & 1)
		edit_state(l, s, data, size);
	start(l);
}

static void step(struct ill *l, const uint8_t s[STEP], const uint8_t *data, size_t size)
{
	const struct topo_node *node = node_of(l, s[2]);
	guid_t own = l->w.design->nodes[l->w.design->nswitches].guid;

	switch (s[0] % 14) {
	case 0:
	case 1:
		run_for(&l->w, (1 + s[1]) * (s[2] & 1 ? 50000ull : 500ull));
		break;
	case 2:
		double_cut(l->w.hw, node->guid, port_of(node, s[1]));
		break;
	case 3:
		double_join(l->w.hw, node->guid, port_of(node, s[1]));
		break;
	case 4:
		if (node->guid != own)
			double_set_power(l->w.hw, node->guid, s[1] & 1);
		break;
	case 5:
		double_reboot(l->w.hw, node->guid);
		break;
	case 6:
	case 7:
		set_fault(l, s, s[0] % 14 == 6);
		break;
	case 8:
		l->seed = s[1] | (uint64_t)s[2] << 8;
		l->falsify = 1 + s[3] % 16;
		break;
	case 9:
		l->change = 1 + s[3] % 4;
		l->at = s[1];
		l->bits = s[2];
		break;
	case 10:
		inject(l, s, data, size);
		l->by_hand |= s[2] % 8 != 0; /* who may write changes what is so */
		break;
	case 11:
		other_master(l, s);
		break;
	case 12:
		command(l, s, data, size);
		break;
	default:
		restart(l, s, data, size);
	}
	run_for(&l->w, (1 + s[7]) * 1000ull);
}

static void mend(struct ill *l)
{
	const struct topo *t = l->w.design;

	l->falsify = l->change = 0;
	fault_end_all(l->w.hw);
	for (uint32_t n = 0; n < t->nnodes; n++) {
		double_set_power(l->w.hw, t->nodes[n].guid, true);
		for (unsigned p = 1; p <= t->nodes[n].nports; p++)
			double_join(l->w.hw, t->nodes[n].guid, p);
		if (n > t->nswitches)
			double_set_sm(l->w.hw, t->nodes[n].guid, 1, NULL);
	}
}

static const char *what_is_wrong(const struct ill *l)
{
	struct verdict verdict;

	if (!is_up(&l->w))
		return "not up";
	if (status_number(&l->w, NULL, "switches") != l->w.design->nswitches ||
	    status_number(&l->w, NULL, "hcas") != l->w.design->ncas)
		return "a device is not known";
	double_judge(l->w.hw, 0, NULL, false, &verdict);
	if (verdict.pairs != verdict.alive)
		return "pairs are dead";
	if (verdict.loops || verdict.cycles)
		return "a loop, or a credit cycle";
	return NULL;
}

static void assert_whole(struct ill *l)
{
	const char *wrong = "";

	for (unsigned s = 0; s < MENDED_S && wrong; s++) {
		run_for(&l->w, SECOND_US);
		wrong = what_is_wrong(l);
	}
	if (wrong) {
		json_t *status = fabric_status(l->w.fabric);

		fprintf(stderr, "%s\n", wrong);
		json_dumpf(status, stderr, JSON_INDENT(1));
		abort();
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	return setenv("CMOCKA_TEST_ABORT", "1", 1);
}

/* What the first byte says of the configuration. */
static void configure(struct world *w, unsigned bits)
{
	static const char partitions[] = "Default=0x7fff, ipoib : ALL=full;\n"
					 "tenant=0x0011, ipoib : ALL_CAS=limited, SELF=full;\n";
	FILE *out;

	w->conf.audit.rate = bits & 1 ? 100 : 0;
	w->conf.perf.interval_ms = bits & 2 ? 1000 : 0;
	w->conf.perf.action = bits >> 2 & 1;
	w->conf.sm.mkey = bits & 8 ? 0x1234 : 0;
	w->conf.sm.mkey_protect = bits >> 4 & 3;
	if (bits & 64) {
		snprintf(w->conf.partition.file, sizeof(w->conf.partition.file),
			 "%s/partitions.conf", w->state_dir);
		out = fopen(w->conf.partition.file, "w");
		assert(out);
		fputs(partitions, out);
		fclose(out);
		w->conf.partition.enforce = bits >> 7;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned m[] = { 2, 3 }, w[] = { 1, 2 }, p[] = { 1, 2 };
	char err[256];
	struct ill l = { .seed = 1 };

	world_init_stopped(&l.w, generate_pgft(2, m, w, p, err, sizeof(err)));
	log_set_level(-1, LOG_ERR - 1);
	configure(&l.w, size ? data[0] : 0);
	start(&l);
	run_for(&l.w, SECOND_US);
	for (size_t at = 1; at + STEP <= size && at < STEPS * STEP; at += STEP)
		step(&l, data + at, data + at + STEP, size - at - STEP);
	mend(&l);
	if (!l.by_hand)
		assert_whole(&l);
	world_fini(&l.w);
	return 0;
}
