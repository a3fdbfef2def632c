/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * metrics: metrics.def has one row for each metric: its name and help, the path of its figure in
 * the status document, and the factor to the base unit (seconds, bytes). Names and units follow
 * Prometheus' conventions: counters end in _total, times are seconds. A path to an object gives a
 * sample for each member, with the member's name as the label; a path to a list gives its length,
 * or the number of its objects with the same text in a member; a path to a word gives a sample for
 * each word that it may be.
 */
#include "fm/control/option.h"
#include "fm/http/metrics.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

struct metric {
	const char *name, *help;
	const char *path;	  /* of the figure, members joined by dots */
	double scale;		  /* 0 = 1 */
	const char *label;	  /* several samples: the label's name */
	const char *by;		  /* the path leads to a list: a member of its objects */
	const char *const *words; /* the path leads to one of these, NULL behind the last */
};

static const char *const states[] = {
	"starting",	 "bringup",   "up",	   "changing", "refused",
	"standby",	 "no-device", "port-busy", "no-link",  "neighbour-silent",
	"foreign-m-key", "asking",    "observing", NULL
};
static const char *const roles[] = { "master",	    "standby", "disabled", "observer",
				     "discovering", "none",    NULL };

static const struct metric metrics[] = {
#define METRIC(n, h, p, ...) { .name = n, .help = h, .path = p, ##__VA_ARGS__ },
#include "fm/http/metrics.def"
#undef METRIC
};

static double figure(const json_t *value)
{
	if (json_is_array(value))
		return (double)json_array_size(value);
	return json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
}

static void write_labelled(const struct metric *m, const char *label, double value, FILE *out)
{
	fprintf(out, "%s{%s=\"", m->name, m->label);
	for (; *label; label++)
		if (*label == '\n')
			fputs("\\n", out);
		else
			fprintf(out, "%s%c", *label == '\\' || *label == '"' ? "\\" : "", *label);
	fprintf(out, "\"} %.15g\n", value * (m->scale ? m->scale : 1));
}

static void write_members(const struct metric *m, const json_t *object, FILE *out)
{
	const char *member;
	json_t *each;

	json_object_foreach ((json_t *)object, member, each)
		if (json_is_number(each) || json_is_boolean(each) || json_is_array(each))
			write_labelled(m, member, figure(each), out);
}

void metrics_write(const json_t *status, FILE *out)
{
	const char *engine = json_text(status, "engine");
	const char *state = json_text(status, "state");

	fprintf(out,
		"# HELP fmd_info Version, routing engine and state of fmd\n# TYPE fmd_info gauge\n"
		"fmd_info{version=\"%s\",engine=\"%s\",state=\"%s\"} 1\n",
		FMD_VERSION, engine ? engine : "", state ? state : "");
	ARRAY_EACH (m, metrics, ARRAY_SIZE(metrics)) {
		const json_t *at = table_value(status, m->path);
		bool figures = json_is_number(at) || json_is_boolean(at) || json_is_array(at);

		if (!(m->words	 ? json_is_string(at)
		      : m->by	 ? json_is_array(at)
		      : m->label ? json_is_object(at)
				 : figures))
			continue;
		fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name,
			strstr(m->name, "_total") ? "counter" : "gauge");
		if (m->words) {
			const char *word = json_string_value(at);
			bool known = false;

			for (const char *const *it = m->words; *it; it++) {
				known |= !strcmp(*it, word);
				write_labelled(m, *it, !strcmp(*it, word), out);
			}
			if (!known)
				write_labelled(m, word, 1, out);
		} else if (m->by) {
			json_t *counts = json_object();

			JSON_EACH (each, at) {
				const char *text = json_text(each, m->by);
				json_int_t count = json_number(counts, text ? text : "");

				json_object_set_new(counts, text ? text : "",
						    json_integer(count + 1));
			}
			write_members(m, counts, out);
			json_decref(counts);
		} else if (m->label)
			write_members(m, at, out);
		else
			fprintf(out, "%s %.15g\n", m->name, figure(at) * (m->scale ? m->scale : 1));
	}
}
