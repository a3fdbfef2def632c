/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Machines in the forms of exporters and kernels, and what fmd makes of them: tests/nvlink has the
 * scenarios, README.md there their form. Judged by members of the document and of the hook.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "fm/nvswitch/intake_sources.h"
#include "fm/nvswitch/module.h"
#include "tests/lib/nvlink_world.h"
#include "topology/base/mem.h"

#define FOLDER	  "tests/nvlink/"
#define TEXT_MAX  (512u << 10) /* of an exporter's answer */
#define SETTLE_US (90 * NVLINK_S)

struct machine {
	char name[32];
	unsigned gpus, switches, links, gpulinks; /* links: of a switch */
	char *lines;				  /* `KIND TEMPLATE`, with newlines */
};
static struct machine machines[32];
static unsigned nmachines;

struct scene {
	const char *file;
	unsigned number; /* of the line */
	char name[128];
	const struct machine *machine; /* NULL = there is no exporter */
	bool begun, failed, says;
	struct nvlink_world w;
	char *text;
	size_t used;
	unsigned mig;	  /* GPUs that are cut up, by bit */
	uint64_t done_us; /* when the latest step was taken */
};
static unsigned scenes, failures, wrong_lines;

__attribute__((format(printf, 2, 3))) static void complain(struct scene *s, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	print_message("%s:%u: %s: %s\n", s->file, s->number, s->name, text);
	failures += !s->failed;
	s->failed = true;
}

/* ---- What an exporter answers ---------------------------------------------------------------- */

static const char *const buses[] = { "1B", "43", "52", "61", "9D", "C3", "D1", "DF" };

/* A template of a line: @g GPU, @b its bus, @p its peers, @s NVSwitch, @l link. */
static void add_line(struct scene *s, const char *from, size_t len, const struct machine *m,
		     unsigned g, unsigned sw, unsigned link)
{
	for (size_t i = 0; i < len; i++) {
		char *to = s->text + s->used;
		size_t room = TEXT_MAX - s->used;

		assert_true(room > 64);
		if (from[i] != '@') {
			*to = from[i];
			s->used++;
			continue;
		}
		switch (from[++i]) {
		case 'g':
			s->used += (size_t)snprintf(to, room, "%u", g);
			break;
		case 'b':
			s->used += (size_t)snprintf(to, room, "%s", buses[g]);
			break;
		case 'p':
			s->used += (size_t)snprintf(to, room, "%u",
						    ((1u << m->gpus) - 1) & ~(1u << g));
			break;
		case 's':
			s->used += (size_t)snprintf(to, room, "%u", sw);
			break;
		default:
			s->used += (size_t)snprintf(to, room, "%u", link);
		}
	}
	s->text[s->used++] = '\n';
	s->text[s->used] = '\0';
}

static void build(struct scene *s, const struct machine *m)
{
	s->used = 0;
	for (const char *line = m->lines, *end; *line; line = end + 1) {
		size_t kind = strcspn(line, " ");
		bool of_switch = !strncmp(line, "link ", 5) || !strncmp(line, "switch ", 7);
		unsigned many = of_switch ? m->switches : m->gpus, links = 1;

		end = strchr(line, '\n');
		if (!strncmp(line, "once ", 5))
			many = 1;
		if (!strncmp(line, "link ", 5))
			links = m->links;
		if (!strncmp(line, "gpulink ", 8))
			links = m->gpulinks;
		for (unsigned i = 0; i < many; i++)
			for (unsigned l = 0; l < links; l++)
				add_line(s, line + kind + 1, (size_t)(end - line) - kind - 1, m, i,
					 i, l);
	}
}

/* Whether a series has that name (`*`: any) and all labels of a selector NAME{label="x",..}. */
static bool selects(const char *selector, const char *line, size_t len)
{
	size_t name = strcspn(selector, "{");
	char label[128], *copy = mem_printf("%.*s", (int)len, line);
	bool fits = (*selector == '*' && name == 1) ||
		    (!strncmp(copy, selector, name) && copy[name] == '{');
	int used;

	for (const char *at = selector + name + 1;
	     fits && selector[name] && sscanf(at, "%127[^,}]%n", label, &used) == 1;
	     at += used + 1) {
		const char *found = strstr(copy, label);

		while (found && !strchr("{, ", found[-1]))
			found = strstr(found + 1, label);
		fits = found;
		if (at[used] != ',')
			break;
	}
	free(copy);
	return fits;
}

/* Drops what is selected, or gives it another value; returns how many series that are. */
static unsigned change(struct scene *s, const char *selector, const char *value)
{
	char *before = mem_strdup(s->text), *line = before, *end;
	unsigned count = 0;

	s->used = 0;
	*s->text = '\0';
	for (; (end = strchr(line, '\n')); line = end + 1) {
		size_t len = (size_t)(end - line), labels = len;
		bool selected = selects(selector, line, len);

		count += selected;
		if (selected && !value)
			continue;
		while (selected && line[labels - 1] != '}')
			labels--;
		s->used += (size_t)snprintf(s->text + s->used, TEXT_MAX - s->used, "%.*s%s%s\n",
					    (int)labels, line, selected ? " " : "",
					    selected ? value : "");
		assert_true(s->used < TEXT_MAX);
	}
	free(before);
	return count;
}

/* A series that was not there, with all labels that others of its GPU or NVSwitch have. */
static void append(struct scene *s, const char *selector, const char *value)
{
	size_t name = strcspn(selector, "{"), len = strcspn(selector + name + 1, ",}");
	char *of = mem_printf("*{%.*s}", (int)len, selector + name + 1), *line = s->text, *end;
	char *labels = mem_strdup("");

	for (; (end = strchr(line, '\n')) && !*labels; line = end + 1) {
		size_t from = strcspn(line, "{") + 1, to = (size_t)(end - line);

		if (!selects(of, line, to) || !memmem(line, to, "UUID=", 5))
			continue;
		while (line[to] != '}')
			to--;
		free(labels);
		labels = mem_printf("%.*s", (int)(to - from), line + from);
	}
	end = (char *)selector + name + 1;
	if (*labels)
		end += len + (end[len] == ',');
	s->used += (size_t)snprintf(s->text + s->used, TEXT_MAX - s->used, "%.*s{%s%s%s %s\n",
				    (int)name, selector, labels, *labels && *end != '}' ? "," : "",
				    end, value);
	free(labels);
	free(of);
}

/* A GPU is cut up: a series an instance, 0 = as it is; it reaches no other by NVLink. */
static void cut_up(struct scene *s, unsigned gpu, unsigned instances)
{
	static const char *const bitmaps[] = { "DCGM_FI_DEV_P2P_NVLINK_STATUS{gpu=\"%u\"}",
					       "DCGM_FI_DEV_NVLINK_P2P_STATUS{gpu=\"%u\"}" };
	char *of = mem_printf("*{gpu=\"%u\"}", gpu), *before = mem_strdup(s->text), *line, *end;
	char selector[64], value[16];

	s->used = 0;
	*s->text = '\0';
	for (line = before; (end = strchr(line, '\n')); line = end + 1) {
		size_t len = (size_t)(end - line);
		char *model = memmem(line, len, "modelName=", 10);
		bool its = instances && model && selects(of, line, len);

		for (unsigned i = 0; i < (its ? instances : 1); i++) {
			int first = its ? (int)(model - line) : (int)len;

			s->used += (size_t)snprintf(s->text + s->used, TEXT_MAX - s->used, "%.*s",
						    first, line);
			if (its)
				s->used += (size_t)snprintf(
					s->text + s->used, TEXT_MAX - s->used,
					"GPU_I_PROFILE=\"1g.10gb\",GPU_I_ID=\"%u\",%.*s", 7 + i,
					(int)len - first, line + first);
			s->text[s->used++] = '\n';
			s->text[s->used] = '\0';
		}
	}
	s->mig |= 1u << gpu;
	for (unsigned g = 0; g < s->machine->gpus; g++) {
		unsigned peers = ((1u << s->machine->gpus) - 1) & ~(1u << g) & ~s->mig;

		snprintf(value, sizeof(value), "%u", s->mig >> g & 1 ? 0 : peers);
		for (unsigned i = 0; i < 2; i++) {
			snprintf(selector, sizeof(selector), bitmaps[i], g);
			change(s, selector, value);
		}
	}
	snprintf(selector, sizeof(selector), "DCGM_FI_DEV_MIG_MODE{gpu=\"%u\"}", gpu);
	change(s, selector, "1");
	free(before);
	free(of);
}

/* ---- What is expected ------------------------------------------------------------------------ */

static bool one_of(const char *is, const char *wanted)
{
	size_t len;

	for (; *wanted; wanted += len + (wanted[len] == '|')) {
		len = strcspn(wanted, "|");
		if (strlen(is) == len && !strncasecmp(is, wanted, len))
			return true;
	}
	return false;
}

/* A member as a word; blanks are dashes. */
static void word_of(const json_t *value, char *to, size_t size)
{
	if (json_is_integer(value))
		snprintf(to, size, "%lld", (long long)json_integer_value(value));
	else if (json_is_string(value))
		snprintf(to, size, "%s", json_string_value(value));
	else
		snprintf(to, size, "%s", json_is_true(value) ? "yes" : value ? "no" : "missing");
	if (json_is_null(value))
		snprintf(to, size, "none");
	for (char *p = to; (p = strchr(p, ' '));)
		*p = '-';
}

/* The finding that the reason speaks of. */
static const json_t *cause_of(const json_t *row)
{
	const json_t *list = json_object_get(row, "evidence"), *finding;
	const char *reason = json_string_value(json_object_get(row, "reason"));
	size_t i;

	json_array_foreach (list, i, finding)
		if (!strcmp(json_string_value(json_object_get(finding, "text")), reason))
			return finding;
	return NULL;
}

static void expect(struct scene *s, char *wanted)
{
	json_t *row;
	const json_t *cause;
	char state[32], is[128], *rest = wanted, *word = strtok_r(rest, " ", &rest);
	const struct nvlink_call *call;

	nvlink_world_pass(&s->w, SETTLE_US);
	row = nvlink_world_row(&s->w, 0);
	call = nvlink_world_call(&s->w, 0);
	cause = cause_of(row);
	word_of(json_object_get(row, "state"), state, sizeof(state));
	if (!one_of(state, word))
		complain(s, "%s, not %s: %s", state, word,
			 json_string_value(json_object_get(row, "reason")));
	if (call && strcmp(call->state, state))
		complain(s, "the hook was told %s of one that is %s", call->state, state);
	while ((word = strtok_r(rest, " ", &rest))) {
		char *value = strchr(word, '=');

		assert_non_null(value);
		*value++ = '\0';
		snprintf(is, sizeof(is), "none");
		if (!strcmp(word, "hook"))
			snprintf(is, sizeof(is), "%s", call ? call->state : "none");
		else if (!strcmp(word, "jobs") && call)
			snprintf(is, sizeof(is), "%s", call->jobs);
		else if (!strcmp(word, "hook_action") && call)
			snprintf(is, sizeof(is), "%s", call->action);
		else if (!strcmp(word, "within") && call)
			snprintf(is, sizeof(is), "%s",
				 call->at_us >= s->done_us &&
						 call->at_us - s->done_us <=
							 strtoull(value, NULL, 10) * NVLINK_S
					 ? value
					 : "late");
		else if (json_object_get(row, word))
			word_of(json_object_get(row, word), is, sizeof(is));
		else if (cause)
			word_of(json_object_get(cause, word), is, sizeof(is));
		for (char *p = is; (p = strchr(p, ' '));)
			*p = '-';
		if (!one_of(is, value))
			complain(s, "%s is %s, not %s", word, is, value);
	}
	json_decref(row);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static void end_scene(struct scene *s)
{
	if (!s->begun)
		return;
	if (!s->says)
		complain(s, "nobody says so");
	nvlink_world_fini(&s->w);
	free(s->text);
	s->text = NULL;
	s->begun = false;
}

static void begin_machine(struct scene *s, const char *name)
{
	s->text = mem_alloc(TEXT_MAX, 1);
	for (unsigned i = 0; i < nmachines; i++)
		if (!strcmp(machines[i].name, name))
			s->machine = &machines[i];
	if (s->machine)
		build(s, s->machine);
	else if (strcmp(name, "none"))
		fail_msg("%s:%u: no machine %s", s->file, s->number, name);
	nvlink_world_init(&s->w, 1, s->machine);
	s->w.texts[0] = s->machine ? s->text : NULL;
	s->begun = true;
}

static void report(struct scene *s, const char *rest)
{
	char source[33], state[32], reason[92] = "", err[128];
	struct health_report said = { source, s->w.names[0], state, reason, 0 };

	if (sscanf(rest, "%32s %31s %lf %91[^\n]", source, state, &said.ttl_s, reason) < 3 ||
	    source_report_hear(s->w.home, &said, err))
		complain(s, "not taken: %s", rest);
}

static void set_ports(struct scene *s, const char *how)
{
	nvswitch_note_ports(s->w.nv, s->w.names[0],
			    !strcmp(how, "up")	  ? PORTS_UP
			    : !strcmp(how, "off") ? PORTS_OFF
						  : PORTS_CUT_OFF);
	nvlink_world_pass(&s->w, NVLINK_S);
}

/* Its line of nvswitch_hosts_file: tray=, slot=, chassis= of the host in a rack. */
static void set_place(struct scene *s, const char *place)
{
	char *path = s->w.conf.hosts_file, err[256] = "";
	FILE *out;

	strcpy(path, "/tmp/nvlink-hosts-XXXXXX");
	out = fdopen(mkstemp(path), "w");
	assert_non_null(out);
	fprintf(out, "%s http://%s:9400/metrics nvl72 %s\n", s->w.names[0], s->w.names[0], place);
	fclose(out);
	if (nvswitch_configure(s->w.nv, &s->w.conf, 0, err))
		complain(s, "%s", err);
	unlink(path);
}

static void set_state(struct scene *s, const char *name)
{
	char err[512];

	if (nvswitch_set(s->w.nv, s->w.names[0], *name ? name : NULL, -1, err))
		complain(s, "%s", err);
}

static bool step(struct scene *s, const char *word, char *rest)
{
	size_t selector = strcspn(rest, "}") + 1;

	if (!strcmp(word, "put")) {
		const char *value = rest + selector + strspn(rest + selector, " ");

		rest[selector] = '\0';
		assert_true(*value);
		if (!change(s, rest, value))
			append(s, rest, value);
	} else if (!strcmp(word, "mig")) {
		cut_up(s, (unsigned)atoi(rest), (unsigned)atoi(rest + strcspn(rest, " ")));
	} else if (!strcmp(word, "whole")) {
		s->mig = 0;
		build(s, s->machine);
	} else if (!strcmp(word, "gpus")) {
		char err[512];

		if (nvswitch_set(s->w.nv, s->w.names[0], NULL, atoi(rest), err))
			complain(s, "%s", err);
	} else if (!strcmp(word, "raw")) {
		s->used += (size_t)snprintf(s->text + s->used, TEXT_MAX - s->used, "%s\n", rest);
	} else if (!strcmp(word, "drop")) {
		if (!change(s, rest, NULL))
			complain(s, "nothing to drop: %s", rest);
	} else if (!strcmp(word, "silent") || !strcmp(word, "answers")) {
		s->w.texts[0] = *word == 's' ? NULL : s->text;
	} else if (!strcmp(word, "log")) {
		nvlink_world_log(&s->w, 0, rest);
	} else if (!strcmp(word, "wait")) {
		nvlink_world_pass(&s->w, strtoull(rest, NULL, 10) * NVLINK_S);
	} else if (!strcmp(word, "ports")) {
		set_ports(s, rest);
	} else if (!strcmp(word, "place")) {
		set_place(s, rest);
	} else if (!strcmp(word, "restart")) {
		nvlink_world_restart(&s->w);
	} else if (!strcmp(word, "report")) {
		report(s, rest);
	} else if (!strcmp(word, "set") || !strcmp(word, "clear")) {
		set_state(s, rest);
	} else {
		return false;
	}
	s->done_us = loop_now_us(s->w.loop);
	return true;
}

static void play_line(struct scene *s, char *line)
{
	char *rest = line, *word = strtok_r(rest, " ", &rest);

	if (!word || *word == '#')
		return;
	rest = rest ? rest + strspn(rest, " ") : line + strlen(line);
	if (!strcmp(word, "scenario")) {
		end_scene(s);
		*s = (struct scene){ .file = s->file, .number = s->number };
		snprintf(s->name, sizeof(s->name), "%s", rest);
		scenes++;
	} else if (!strcmp(word, "says")) {
		s->says = true;
	} else if (!strcmp(word, "machine")) {
		begin_machine(s, rest);
	} else if (!strcmp(word, "expect")) {
		expect(s, rest);
	} else if (!step(s, word, rest)) {
		print_message("%s:%u: %s?\n", s->file, s->number, word);
		wrong_lines++;
	}
}

static void play_file(const char *path)
{
	static struct scene s;
	char *line = NULL;
	size_t size = 0;
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	s = (struct scene){ .file = path + strlen(FOLDER) };
	while (getline(&line, &size, in) > 0) {
		s.number++;
		line[strcspn(line, "\n")] = '\0';
		play_line(&s, line);
	}
	end_scene(&s);
	free(line);
	fclose(in);
}

static void read_machines(void)
{
	char *line = NULL;
	size_t size = 0, used = 0;
	FILE *in = fopen(FOLDER "machines", "r"), *out = NULL;

	assert_non_null(in);
	while (getline(&line, &size, in) > 0) {
		struct machine *m = &machines[nmachines];

		if (*line == '#' || *line == '\n')
			continue;
		if (sscanf(line, "machine %31s gpus=%u switches=%u links=%u gpulinks=%u", m->name,
			   &m->gpus, &m->switches, &m->links, &m->gpulinks) == 5) {
			if (out)
				fclose(out);
			assert_true(++nmachines < sizeof(machines) / sizeof(machines[0]));
			out = open_memstream(&m->lines, &used);
			continue;
		}
		fputs(line, out);
	}
	fclose(out);
	fclose(in);
	free(line);
}

static void machines_are_judged_as_their_makers_say(void **state)
{
	glob_t found;

	read_machines();
	assert_int_equal(glob(FOLDER "*.scenarios", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		play_file(found.gl_pathv[i]);
	globfree(&found);
	for (unsigned i = 0; i < nmachines; i++)
		free(machines[i].lines);
	print_message("%u scenarios, %u not as told\n", scenes, failures);
	assert_int_equal(wrong_lines, 0);
	assert_int_equal(failures, 0);
	assert_true(scenes >= 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machines_are_judged_as_their_makers_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
