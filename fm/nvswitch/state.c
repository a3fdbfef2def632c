/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state: names of states and machines, what a machine has of GPUs, NVSwitches and NVLinks, and the
 * list of what was found on one. A list is short and keeps the worst: a host with one dead switch
 * has a hundred symptoms.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include "fm/nvswitch/module.h"
#include "fm/nvswitch/state.h"
#include "topology/what/what.h"

const char *const nvswitch_states[NVSWITCH_STATES] = {
	[NVSWITCH_HEALTHY] = "HEALTHY", [NVSWITCH_DEGRADED_LINK] = "DEGRADED_LINK",
	[NVSWITCH_NO_P2P] = "NO_P2P",	[NVSWITCH_FATAL] = "FATAL",
	[NVSWITCH_UNKNOWN] = "UNKNOWN",
};

const struct nvswitch_expect nvswitch_systems[NVSWITCH_SYSTEMS] = {
#define SYSTEM(id, name, ...) { __VA_ARGS__ },
#include "fm/nvswitch/systems.def"
#undef SYSTEM
};
const char *const nvswitch_system_names[NVSWITCH_SYSTEMS] = {
#define SYSTEM(id, name, ...) name,
#include "fm/nvswitch/systems.def"
#include "topology/base/text.h"
};

int nvswitch_word(const char *text, const char *const *words, unsigned count)
{
	int word = count;

	while (word-- > 0 && strcasecmp(text, words[word]))
		;
	return word;
}

int nvswitch_state_parse(const char *text)
{
	return nvswitch_word(text, nvswitch_states, NVSWITCH_STATES);
}

bool nvlink_is_state(const char *text, bool unknown)
{
	int state = nvswitch_state_parse(text);

	return state >= 0 && (unknown || state != NVSWITCH_UNKNOWN);
}

const char *const nvswitch_trusts[] = { "anyone", "asked", "proven" };
const char *const nvswitch_remedies[NVSWITCH_REMEDIES] = { "none", "restart job", "reset GPU",
							   "reboot", "contact support" };

bool nvswitch_verdict_add(struct nvswitch_verdict *verdict, const struct nvswitch_finding *finding)
{
	struct nvswitch_finding *list = verdict->findings;
	unsigned at = verdict->count;

	while (at > 0 && list[at - 1].state < finding->state)
		at--; /* behind all that are as bad */
	if (finding->state > verdict->state)
		verdict->state = finding->state;
	if (at == NVSWITCH_FINDINGS)
		return false;
	verdict->count += verdict->count < NVSWITCH_FINDINGS;
	memmove(list + at + 1, list + at, (verdict->count - 1u - at) * sizeof(*list));
	list[at] = *finding;
	return true;
}

void nvswitch_find(struct nvswitch_verdict *verdict, enum nvswitch_state state,
		   struct nvswitch_finding finding, const char *format, ...)
{
	va_list args;

	finding.state = state;
	va_start(args, format);
	vsnprintf(finding.text, sizeof(finding.text), format, args);
	va_end(args);
	nvswitch_verdict_add(verdict, &finding);
}

/* ---- Lines of files -------------------------------------------------------------------------- */

const char *lines_take(char *text, lines_fn *fn, void *arg, unsigned *number)
{
	const char *wrong = NULL;
	char *line;

	for (*number = 0; !wrong && (line = strsep(&text, "\n")); ++*number) {
		line[strcspn(line, "#\r")] = '\0';
		wrong = fn(arg, line);
	}
	return wrong;
}

int lines_read(const char *path, lines_fn *fn, void *arg, char *err)
{
	size_t len;
	char *text = mem_read_path(path, &len);
	unsigned number = 0;
	const char *wrong = text ? lines_take(text, fn, arg, &number) : strerror(errno);

	free(text);
	if (wrong && number)
		return nvswitch_refuse(err, "%s:%u: %s", path, number, wrong);
	return wrong ? nvswitch_refuse(err, "%s: %s", path, wrong) : 0;
}

/* ---- What is assumed ------------------------------------------------------------------------- */

int nvswitch_policy_assume(const struct topo *t, const char *text, uint8_t *states, char *err)
{
	const struct what_scope scope = { .topo = t };
	const char *word = strrchr(text, '=');
	char *name = mem_printf("%.*s", word ? (int)(word - text) : 0, text);
	char why[WHAT_ERROR_SIZE];
	struct what what;
	bool found = what_find(&scope, name, WHAT_HOST, &what, why, sizeof(why));

	free(name);
	if (!word)
		return nvswitch_refuse(err, "%.80s: HOST=STATE is expected", text);
	if (!nvlink_is_state(word + 1, false))
		return nvswitch_refuse(err, NVSWITCH_NO_STATE, word + 1);
	if (!found)
		return nvswitch_refuse(err, "the fabric has no host %.*s, or several",
				       (int)(word - text), text);
	states[what.host] = nvswitch_state_parse(word + 1);
	return 0;
}

/* ---- What comes of it ------------------------------------------------------------------------ */

static double rounded(double rate)
{
	return round(rate * 1000) / 1000;
}

json_t *nvswitch_rates_json(const struct nvswitch_trial *trial, const struct nvswitch_scene *scene,
			    uint32_t host)
{
	struct rates r;

	rates_measure(scene->topo, trial->lids, scene->tables, trial->classes, host, false, &r);
	return json_pack("{si si si si sf si sf si sf sf}", "flows", r.own_flows, "worst_uplink",
			 r.worst_uplink, "uplinks", r.uplinks, "unreachable", r.unreachable, "rate",
			 rounded(r.own), "rate_of", r.adapters, "others_rate", rounded(r.others),
			 "others_flows", r.flows, "others_least", rounded(r.least), "others_alone",
			 rounded(r.others_alone));
}

json_t *nvswitch_trial_json(const struct nvswitch_trial *trial)
{
	json_t *rows = json_array();

	for (uint32_t h = 0; h < trial->now.topo->nhosts; h++) {
		uint8_t was = trial->now.states ? trial->now.states[h] : NVSWITCH_HEALTHY;
		uint8_t state = trial->then.states ? trial->then.states[h] : NVSWITCH_HEALTHY;

		/* Class and weight are those of all hosts. */
		if (state != was)
			json_add(rows, "{ss ss ss ss si so so}", "host",
				 trial->now.topo->hosts[h].name, "state", nvswitch_states[state],
				 "was", nvswitch_states[was], "class", "unchanged", "weight", 1,
				 "cross_rail_before", nvswitch_rates_json(trial, &trial->now, h),
				 "cross_rail", nvswitch_rates_json(trial, &trial->then, h));
	}
	return rows;
}
