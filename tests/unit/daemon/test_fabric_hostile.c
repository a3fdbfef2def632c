/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Hostile MADs of many kinds, some with true transaction IDs, on the fabric double: nothing
 * crashes, and some time after the last one all is as before, without a command: every device and
 * LID, the tables, no alert, no sick host. SEEDS in the environment: as many rounds of each kind,
 * and behind each round all kinds by turns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "tests/fabric/double_falsify.h"
#include "tests/fabric/double_judge.h"
#include "tests/fabric/fault.h"
#include "tests/lib/fabric_world.h"

#define FORGER	  9 /* the host that sends them */
#define HOSTILE_S 10
#define A_SECOND  100
#define MENDED_S  700
#define ANY	  0xffff
#define PERF_PORT 0x12

enum from { OWN_LID, ANY_LID, LID_0, LID_MULTICAST };

/* What one packet of a kind is; ANY: by chance. */
struct kind {
	const char *name;
	uint16_t mgmt_class, method, attr_id;
	enum from from;
	uint64_t key;
	uint8_t version; /* 0 = the class's */
	void (*shape)(uint64_t *seed, uint8_t *mad);
	uint16_t length; /* 0 = a MAD's */
	const char *fault;
	unsigned amount;
	enum { UNASKED, OF_A_FORGER, OF_WHO_WAS_ASKED } known;
};

static void rmpp(uint64_t *seed, uint8_t *mad)
{
	mad[24] = 1;
	mad[25] = (uint8_t)(damage_random(seed) % 6);
	mad[26] = (uint8_t)damage_random(seed);
}

static void every_component(uint64_t *seed, uint8_t *mad)
{
	memset(mad + 24, 0, 24);
	memset(mad + 48, 0xff, 8);
}

static void no_component(uint64_t *seed, uint8_t *mad)
{
	memset(mad + 24, 0, 32);
}

static void all_ones(uint64_t *seed, uint8_t *mad)
{
	memset(mad + WIRE_MAD_HEADER, 0xff, WIRE_MAD_SIZE - WIRE_MAD_HEADER);
}

static void a_bit(uint64_t *seed, uint8_t *mad)
{
	mad[WIRE_MAD_HEADER + damage_random(seed) % (WIRE_MAD_SIZE - WIRE_MAD_HEADER)] ^=
		(uint8_t)(1u << damage_random(seed) % 8);
}

static void status(uint64_t *seed, uint8_t *mad)
{
	mad[5] = (uint8_t)damage_random(seed);
}

/* A notice of the IBA's numbers, with a LID and a port by chance. */
static void notice(uint64_t *seed, uint8_t *mad)
{
	static const uint16_t traps[] = { 64,  65,  66,	 67,  128, 129, 130,
					  131, 144, 145, 256, 257, 258, 259 };
	uint16_t trap = traps[damage_random(seed) % ARRAY_SIZE(traps)];
	unsigned at = mad[1] == WIRE_SA ? 56 : 64;

	mad[at] = (uint8_t)(0x80 | damage_random(seed) % 5);
	mad[at + 4] = (uint8_t)(trap >> 8);
	mad[at + 5] = (uint8_t)trap;
	mad[at + 6] = 0;
	mad[at + 7] = (uint8_t)(1 + damage_random(seed) % 64);
}

static void handover(uint64_t *seed, uint8_t *mad)
{
	mad[23] = (uint8_t)(1 + damage_random(seed) % 5);
}

#define SMP    WIRE_SMI_LID
#define DR     WIRE_SMI_DR
#define ANSWER WIRE_GET_RESP
static const struct kind kinds[] = {
	{ "traps in the sender's name", SMP, WIRE_TRAP, WIRE_NOTICE, .shape = notice },
	{ "traps in others' names", SMP, WIRE_TRAP, WIRE_NOTICE, .from = ANY_LID, .shape = notice },
	{ "traps by directed route", DR, WIRE_TRAP, WIRE_NOTICE, .shape = notice },
	{ "traps of random bytes", SMP, WIRE_TRAP, WIRE_NOTICE, .from = ANY_LID },
	{ "notices to the SA", WIRE_SA, WIRE_TRAP, WIRE_NOTICE, .shape = notice },
	{ "TrapRepress of nothing", SMP, WIRE_TRAP_REPRESS, WIRE_NOTICE, .from = ANY_LID },
	{ "Set(SMInfo)", SMP, WIRE_SET, WIRE_SM_INFO, .shape = handover },
	{ "Set(SMInfo) in others' names", SMP, WIRE_SET, WIRE_SM_INFO, .from = ANY_LID,
	  .shape = handover },
	{ "Get(SMInfo)", SMP, WIRE_GET, WIRE_SM_INFO, .from = ANY_LID },
	{ "guessed NodeInfo", DR, ANSWER, WIRE_NODE_INFO, .from = ANY_LID },
	{ "guessed PortInfo", DR, ANSWER, WIRE_PORT_INFO, .from = ANY_LID },
	{ "guessed LFT", DR, ANSWER, WIRE_LFT, .from = ANY_LID },
	{ "guessed SMInfo", SMP, ANSWER, WIRE_SM_INFO, .from = ANY_LID },
	{ "guessed counters", WIRE_PERF, ANSWER, PERF_PORT, .from = ANY_LID },
	{ "guessed SA answers", WIRE_SA, ANSWER, ANY, .from = ANY_LID },
	{ "guessed ReportResp", WIRE_SA, WIRE_REPORT_RESP, WIRE_NOTICE, .from = ANY_LID },
	{ "SA requests of random bytes", WIRE_SA, WIRE_GET, ANY, .from = OWN_LID },
	{ "SA tables of random bytes", WIRE_SA, WIRE_GET_TABLE, ANY, .from = OWN_LID },
	{ "SA tables, each component", WIRE_SA, WIRE_GET_TABLE, ANY, .shape = every_component },
	{ "SA tables of all", WIRE_SA, WIRE_GET_TABLE, ANY, .shape = no_component },
	{ "SA methods that are none", WIRE_SA, ANY, ANY, .from = OWN_LID },
	{ "MultiPath of random bytes", WIRE_SA, WIRE_GET_MULTI, WIRE_SA_MULTI_PATH, .shape = rmpp },
	{ "RMPP of random bytes", WIRE_SA, WIRE_GET_TABLE, ANY, .shape = rmpp },
	{ "Delete in others' names", WIRE_SA, WIRE_DELETE, ANY, .from = ANY_LID },
	{ "SA with a wrong SM_Key", WIRE_SA, WIRE_SET, ANY, .key = 0xbad },
	{ "SA of another class version", WIRE_SA, WIRE_GET, ANY, .version = 1 },
	{ "SA from LID 0", WIRE_SA, WIRE_GET_TABLE, ANY, .from = LID_0 },
	{ "SA from multicast LIDs", WIRE_SA, WIRE_GET_TABLE, ANY, .from = LID_MULTICAST },
	{ "classes that are none", ANY, WIRE_GET, ANY, .from = ANY_LID },
	{ "MADs cut short", WIRE_SA, WIRE_SET, ANY, .length = 60 },
	{ "long MADs", WIRE_SA, ANSWER, ANY, .length = 1024 },
	{ "true IDs, another's LID", .shape = all_ones, .known = OF_A_FORGER },
	{ "true IDs, a bit", .shape = a_bit, .known = OF_WHO_WAS_ASKED },
	{ "true IDs, all ones", .shape = all_ones, .known = OF_WHO_WAS_ASKED },
	{ "true IDs, a status", .shape = status, .known = OF_WHO_WAS_ASKED },
	{ "true IDs, a lie", .fault = "lie", .amount = 100 },
	{ "true IDs, twice", .fault = "echo", .amount = 500 },
	{ "true IDs, another attribute", .fault = "garble", .amount = 100 },
	{ "true IDs, cut short", .fault = "truncate", .amount = 100 },
	{ "true IDs, a status, Sets done", .fault = "complain", .amount = 100 },
	{ "true IDs, PortInfo of ones", .fault = "ones", .amount = 1 },
	{ "true IDs, tables not stored", .fault = "pretend", .amount = 1 },
	{ "true IDs, late", .fault = "late", .amount = 300000 },
};
#define KINDS ARRAY_SIZE(kinds)

struct hostile {
	struct world w;
	uint64_t seed;
	const struct kind *kind;
	const struct io_ops *ops; /* the double's */
	struct io_ops heard_by;
	uint8_t known[WIRE_MAD_SIZE];
	uint16_t known_lid; /* of who was asked; 0 = nothing is known */
	struct loop_timer *answer;
	unsigned sent;
};

static struct hostile *present; /* struct io_ops has no argument of its own */

static uint16_t lid_by(struct hostile *h, enum from from)
{
	switch (from) {
	case ANY_LID:
		return lid_of(&h->w, (uint32_t)(1 + damage_random(&h->seed) % 40));
	case LID_0:
		return 0;
	case LID_MULTICAST:
		return (uint16_t)(0xc000 + damage_random(&h->seed) % 0x4000);
	default:
		return lid_of(&h->w, FORGER);
	}
}

static void deliver(struct hostile *h, const uint8_t *mad, size_t length, uint16_t lid)
{
	const struct io_addr from = { .lid = lid, .qp = !wire_is_smi(mad[1]), .qkey = 0x80010000u };
	struct io *io = double_io(h->w.hw);

	h->sent++;
	io->recv(io->arg, &from, mad, length);
}

static void send_one(struct hostile *h)
{
	static const uint16_t attrs[] = { 0x01, 0x02, 0x03, 0x11, 0x12, 0x14, 0x15, 0x17, 0x18,
					  0x20, 0x30, 0x31, 0x33, 0x35, 0x36, 0x38, 0x3a, 0xf3 };
	const struct kind *k = h->kind;
	uint8_t mad[1024], chance = (uint8_t)damage_random(&h->seed);
	struct wire_mad header = {
		.mgmt_class = (uint8_t)(k->mgmt_class == ANY ? chance : k->mgmt_class),
		.method = (uint8_t)(k->method == ANY ? chance : k->method),
		.tid = damage_random(&h->seed),
		.attr_id = k->attr_id,
		.key = k->key,
		.returning = true,
		.dr_slid = 0xffff,
		.dr_dlid = 0xffff,
		.hop_count = 3,
	};

	if (k->attr_id == ANY)
		header.attr_id = attrs[damage_random(&h->seed) % ARRAY_SIZE(attrs)];
	header.class_version = k->version ?: header.mgmt_class == WIRE_SA ? 2 : 1;
	for (unsigned i = 0; i < sizeof(mad); i++)
		mad[i] = (uint8_t)damage_random(&h->seed);
	memset(mad + 24, 0, 24);
	wire_mad_encode(&header, mad);
	if (k->shape)
		k->shape(&h->seed, mad);
	deliver(h, mad, k->length ?: WIRE_MAD_SIZE, lid_by(h, k->from));
}

static void answer_known(void *arg)
{
	struct hostile *h = arg;
	uint16_t lid = h->kind->known == OF_A_FORGER ? lid_of(&h->w, FORGER) : h->known_lid;

	h->kind->shape(&h->seed, h->known);
	h->known_lid = 0;
	deliver(h, h->known, WIRE_MAD_SIZE, lid);
}

/* One request in eight, by LID: the answer is there before that of who was asked. */
static int heard(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
		 unsigned timeout_ms)
{
	struct hostile *h = present;

	if (h->kind && h->kind->known && timeout_ms && mad[1] != WIRE_SMI_DR && !h->known_lid &&
	    damage_random(&h->seed) % 8 == 0) {
		memcpy(h->known, mad, WIRE_MAD_SIZE);
		h->known[3] = WIRE_GET_RESP;
		h->known_lid = to->lid;
		loop_timer_set(h->answer, 0);
	}
	return h->ops->send(io, to, mad, len, timeout_ms);
}

static void hostile_init(struct hostile *h)
{
	struct io *io;

	*h = (struct hostile){ .seed = 1 };
	present = h;
	world_init_stopped(&h->w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	h->w.conf.perf.interval_ms = 1000;
	start_fabric(&h->w);
	run_for(&h->w, 3 * SECOND_US);
	io = double_io(h->w.hw);
	h->ops = io->ops;
	h->heard_by = *io->ops;
	h->heard_by.send = heard;
	io->ops = &h->heard_by;
	h->answer = loop_timer_new(h->w.loop, answer_known, h);
}

static void hostile_fini(struct hostile *h)
{
	double_io(h->w.hw)->ops = h->ops;
	loop_timer_free(h->answer);
	world_fini(&h->w);
}

/* What a verdict could be seen by. The caller frees it. */
static char *seen(const struct world *w)
{
	static const char *const counts[] = { "switches", "hcas", "links_down", "role_changes" };
	json_t *doc = json_array(), *all = fabric_status(w->fabric), *alert;
	struct verdict verdict;
	char *text;
	size_t i;

	for (uint32_t host = 0; host < w->design->ncas; host++)
		json_array_append_new(doc, json_integer(lid_of(w, host)));
	for (i = 0; i < ARRAY_SIZE(counts); i++)
		json_array_append(doc, json_object_get(all, counts[i]));
	json_array_append(doc, json_object_get(all, "state"));
	json_array_foreach (json_object_get(all, "alerts"), i, alert) {
		const char *what = json_string_value(json_object_get(alert, "what"));

		if (strcmp(what, "counters-untrue")) /* of the last hour, by the agents' names */
			json_array_append(doc, alert);
	}
	json_array_append_new(doc, json_real(status_number(w, "health", "sick")));
	double_judge(w->hw, 0, NULL, false, &verdict);
	json_array_append_new(doc, json_integer((json_int_t)(verdict.pairs - verdict.alive)));
	json_array_append_new(doc, json_integer(verdict.loops + verdict.cycles));
	text = json_dumps(doc, 0);
	json_decref(doc);
	json_decref(all);
	return text;
}

/* Seconds until all is as before; MENDED_S = it is not. */
static unsigned whole_after(struct hostile *h, const char *before)
{
	char *now = NULL;
	unsigned s;

	for (s = 0; s < MENDED_S; s++) {
		now = seen(&h->w);
		if (!strcmp(now, before))
			break;
		if (s + 1 == MENDED_S)
			print_error("%s\n%s\n", before, now);
		free(now);
		now = NULL;
		run_for(&h->w, SECOND_US);
	}
	free(now);
	return s;
}

static void be_hostile(struct hostile *h, const struct kind *kind, unsigned seconds)
{
	const struct topo *t = h->w.design;
	guid_t sw = t->nodes[damage_random(&h->seed) % t->nswitches].guid;

	h->kind = kind;
	if (kind->fault)
		fault_set(h->w.hw, fault_find(kind->fault), sw, 1, kind->amount);
	for (unsigned i = 0; i < seconds * A_SECOND; i++) {
		if (!kind->fault && !kind->known)
			send_one(h);
		run_for(&h->w, SECOND_US / A_SECOND);
	}
	fault_end_all(h->w.hw);
	h->kind = NULL;
}

static void no_kind_of_hostile_mad_leaves_a_verdict(void **state)
{
	const unsigned rounds = getenv("SEEDS") ? (unsigned)atoi(getenv("SEEDS")) : 1;
	unsigned lasting = 0;

	for (unsigned i = 0; i < rounds * (KINDS + 1); i++) {
		const bool all = i % (KINDS + 1) == KINDS;
		const char *name = all ? "all by turns" : kinds[i % (KINDS + 1)].name;
		struct hostile h;
		unsigned s;
		char *before;

		hostile_init(&h);
		h.seed = i + 1;
		before = seen(&h.w);
		if (all)
			for (unsigned n = 0; n < 4 * KINDS; n++)
				be_hostile(&h, &kinds[damage_random(&h.seed) % KINDS], 1);
		else
			be_hostile(&h, &kinds[i % (KINDS + 1)], HOSTILE_S);
		s = whole_after(&h, before);
		print_message("%2u %-32s %6u sent, as before after %u s\n", i, name, h.sent, s);
		lasting += s == MENDED_S;
		free(before);
		hostile_fini(&h);
	}
	assert_int_equal(lasting, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_kind_of_hostile_mad_leaves_a_verdict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
