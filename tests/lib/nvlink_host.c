/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/nvlink_host.h"

struct machine machine_of(const char *model, unsigned switches, unsigned links)
{
	struct machine it = { .model = model,
			      .gpus = strstr(model, "GB200") ? 4 : 8,
			      .switches = switches,
			      .links = links,
			      .asks_p2p = true,
			      .asks_fm = true,
			      .asks_links = links > 0,
			      .asks_temp = true };

	for (unsigned g = 0; g < HOST_GPUS; g++)
		it.fm[g] = strstr(model, "A100") ? FM_NOT_SUPPORTED : FM_SUCCESS;
	return it;
}

struct machine h100(void)
{
	return machine_of("NVIDIA H100 80GB HBM3", 4, 36);
}

struct machine a100(void)
{
	return machine_of("NVIDIA A100-SXM4-80GB", 6, 16);
}

__attribute__((format(printf, 2, 3))) static void answer_add(struct answer *a, const char *format,
							     ...)
{
	va_list args;

	va_start(args, format);
	a->used += (size_t)vsnprintf(a->text + a->used, sizeof(a->text) - a->used, format, args);
	va_end(args);
	assert_true(a->used < sizeof(a->text));
}

/* The labels of a GPU entity as dcgm-exporter's template has them (render_metrics.go). */
static void answer_gpu(struct answer *a, const struct machine *m, unsigned g, const char *name,
		       const char *more, unsigned long long value)
{
	answer_add(a,
		   "%s{gpu=\"%u\",UUID=\"GPU-0000000%u-%04u-0000-0000-000000000000\",pci_bus_id="
		   "\"00000000:"
		   "%02X:00.0\",device=\"nvidia%u\",modelName=\"%s\"%s,hostname=\"dgx-00\",DCGM_FI_"
		   "DRIVER_VERSION=\"570.133.20\"} %llu\n",
		   name, g, g, m->replaced[g], 0x10 + g, g, m->model, more, value);
}

/* MIG takes its GPU out of every pair. */
static unsigned machine_peers(const struct machine *m, unsigned g)
{
	unsigned peers = 0;

	for (unsigned p = 0; p < m->gpus; p++)
		if (p != g && !m->mig[g] && !m->mig[p] && !m->gone[p] && !(m->lost[g] >> p & 1))
			peers |= 1u << p;
	return peers;
}

static void answer_of(struct answer *a, const struct machine *m)
{
	a->used = 0;
	for (unsigned g = 0; g < m->gpus; g++) {
		const char *cut =
			m->instances[g] ? ",GPU_I_PROFILE=\"1g.10gb\",GPU_I_ID=\"7\"" : "";

		if (m->xid[g])
			answer_gpu(a, m, g, "DCGM_FI_DEV_XID_ERRORS", "", m->xid[g]);
		if (m->gone[g])
			continue;
		if (m->asks_temp)
			answer_gpu(a, m, g, "DCGM_FI_DEV_GPU_TEMP", cut, 40);
		if (m->asks_p2p)
			answer_gpu(a, m, g, "DCGM_FI_DEV_P2P_NVLINK_STATUS", "",
				   machine_peers(m, g));
		if (m->asks_fm)
			answer_gpu(a, m, g, "DCGM_FI_DEV_FABRIC_MANAGER_STATUS", "", m->fm[g]);
		if (m->energy)
			answer_gpu(a, m, g, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", cut, m->energy);
		if (m->asks_action)
			answer_gpu(a, m, g, "DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION", "",
				   m->action[g]);
		if (m->asks_mig)
			answer_gpu(a, m, g, "DCGM_FI_DEV_MIG_MODE", "", m->mig[g]);
	}
	for (unsigned s = 0; s < m->switches; s++) {
		if (m->switch_gone[s])
			continue;
		if (m->asks_reset)
			answer_add(a,
				   "DCGM_FI_DEV_NVSWITCH_RESET_REQUIRED{nvswitch=\"nvswitch%u\","
				   "hostname=\"dgx-00\"} 0\n",
				   s);
		for (unsigned l = 0; l < m->links && m->asks_links; l++)
			answer_add(a,
				   "DCGM_FI_DEV_NVSWITCH_LINK_STATUS{nvlink=\"%u\",nvswitch="
				   "\"nvswitch%u\",hostname=\"dgx-00\"} 2\n",
				   l, s);
	}
	answer_add(a, "%s", m->extra);
}

/* ---- The host in time ------------------------------------------------------------------------ */

struct host *host_new(struct machine machine)
{
	struct host *it = calloc(1, sizeof(*it));

	health_init(&it->h);
	it->h.conf = (struct conf_nvswitch){ .worsen_hold_ms = 30000,
					     .recover_hold_ms = 300000,
					     .poll_interval_ms = 15000,
					     .guard = 25 };
	it->machine = machine;
	it->progress = FM_PROGRESS_DEGRADED;
	it->trust = NVSWITCH_PROVEN;
	it->now = 1000 * HOST_S;
	health_add(&it->h, "dgx-00");
	health_source_add(&it->h, 0, "exporter", it->trust);
	it->h.hosts[0].present = true;
	return it;
}

void host_free(struct host *it)
{
	health_fini(&it->h);
	free(it);
}

static void host_step(struct host *it)
{
	health_step(&it->h, it->now);
	assert_false(it->h.guarded);
	it->changes += it->h.hosts[0].before != NVSWITCH_STATES;
	it->h.hosts[0].before = NVSWITCH_STATES;
}

struct memory *host_memory(struct host *it)
{
	return health_memory(&it->h, 0);
}

void host_ask_source(struct host *it, const struct machine *machine, uint8_t source)
{
	const struct health_source *from = &it->h.hosts[0].sources[source];
	const struct evidence_context context = {
		.now_us = it->now,
		.source = source,
		.settle_us = it->h.conf.worsen_hold_ms * 1000ull + 1000,
		.silent_us = from->heard ? it->now - from->heard_us : 0,
		.trust = it->trust,
		.progress = it->progress
	};
	struct exposition *e = malloc(sizeof(*e));
	struct evidence evidence;
	struct nvswitch_verdict verdict;

	it->h.hosts[0].sources[source].trust = it->trust;
	answer_of(&it->answer, machine);
	evidence = (struct evidence){ .configured = NVSWITCH_SYSTEM_AUTO };
	exposition_init(e, &evidence_ops, &evidence);
	exposition_feed(e, it->answer.text, it->answer.used);
	if (!exposition_end(e))
		fail_msg("%s", e->fault);
	free(e);
	evidence_judge(&evidence, host_memory(it), &context, &verdict);
	health_hear(&it->h, 0, source, verdict.state == NVSWITCH_UNKNOWN ? NULL : &verdict,
		    "nothing", it->now);
	host_step(it);
}

static void host_ask(struct host *it)
{
	host_ask_source(it, &it->machine, 0);
}

void host_pass(struct host *it, unsigned seconds)
{
	for (unsigned i = 0; i < seconds; i++) {
		it->now += HOST_S;
		if (!it->silent && it->now / HOST_S % HOST_INTERVAL == 0)
			host_ask(it);
		host_step(it);
	}
}

void host_log(struct host *it, const char *line)
{
	struct sxid_event event;

	if (!sxid_read(line, strlen(line), &event))
		fail_msg("not understood: %s", line);
	health_hear_log(&it->h, 0, &event, it->now);
	host_step(it);
}

enum nvswitch_state host_state(const struct host *it)
{
	return it->h.hosts[0].state;
}

struct host *host_well(struct machine machine)
{
	struct host *it = host_new(machine);

	host_pass(it, 60);
	assert_host(it, NVSWITCH_HEALTHY);
	it->changes = 0;
	return it;
}
