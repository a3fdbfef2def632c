/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmctl plan --nvswitch: hosts that are taken to be in some state of their NVLinks, and what their
 * cross-rail traffic meets. The treatment of states is fmd's own, by its configuration (--config,
 * else its defaults).
 */
#include "fm/control/value.h"
#include "fm/fmctl/plan.h"
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/policy.h"
#include "routing/report/affected.h"
#include "topology/mem.h"

static enum fmctl_exit load_conf(struct plan *p)
{
	char err[512];

	conf_default(&p->conf);
	if (!p->conf_path || !conf_load(p->conf_path, &p->conf, err, sizeof(err)))
		return FMCTL_DONE;
	fprintf(stderr, "fmctl: plan: %s\n", err);
	return FMCTL_FAILED;
}

static enum fmctl_exit read_states(struct plan *p)
{
	char err[256];

	p->states = mem_alloc(p->topo->nhosts + 1, 1); /* all are well */
	for (unsigned i = 0; i < p->nassumed; i++) {
		const char *text = p->assumed[i];
		bool sound = value_check("HOST=STATE", text, err, sizeof(err));

		if (sound && !nvswitch_policy_assume(p->topo, text, p->states, err, sizeof(err)))
			continue;
		fprintf(stderr, "fmctl: plan: --nvswitch %s: %s\n", text, err);
		return sound ? FMCTL_FAILED : FMCTL_USAGE;
	}
	return FMCTL_DONE;
}

enum fmctl_exit plan_assume(struct plan *p)
{
	enum fmctl_exit status = load_conf(p);
	struct nvswitch_policy policy;

	if (status != FMCTL_DONE || !p->nassumed)
		return status;
	status = read_states(p);
	if (status != FMCTL_DONE)
		return status;
	policy = nvswitch_policy(&p->conf);
	if (p->by_name) {
		p->classes = mem_alloc(p->topo->nports, 1);
		memcpy(p->classes, p->by_name, p->topo->nports);
	}
	nvswitch_policy_apply(&policy, p->topo, p->states, &p->classes, &p->weights);
	p->params.classes = p->classes;
	p->params.weights = p->weights;
	return FMCTL_DONE;
}

json_t *plan_affected(const struct plan *p)
{
	const struct nvswitch_policy policy = nvswitch_policy(&p->conf);
	const struct congestion_scene now = { p->intact, p->lids, &p->before, p->is_storage };
	const struct congestion_scene then = { p->topo, p->lids, &p->tables, p->is_storage };
	uint8_t *aside = nvswitch_policy_aside(&policy, p->topo, NULL, p->states);
	json_t *found = affected_json(&now, &then, aside);

	free(aside);
	return found;
}

json_t *plan_trial(const struct plan *p)
{
	const struct nvswitch_policy policy = nvswitch_policy(&p->conf);
	const struct nvswitch_trial trial = { .policy = &policy,
					      .lids = p->lids,
					      .classes = p->by_name,
					      .now = { p->intact, &p->before, NULL },
					      .then = { p->topo, &p->tables, p->states } };

	return nvswitch_trial_json(&trial);
}
