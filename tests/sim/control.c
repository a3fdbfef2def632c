/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Lines come apart into words, the first of them names a row of one of the tables of commands. What
 * is put off is a line and a timer; when it is due it is done as any other line.
 */
#include "tests/sim/control_own.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/fault.h"
#include "topology/base/mem.h"

struct later {
	struct later *next;
	struct sim_control *c;
	struct loop_timer *timer;
	char *line;
};

struct sim_control {
	struct double_fabric *d;
	struct later *later;
	struct sequence *sequence;
	FILE *log;
	uint64_t began_us;
};

/* ---- Commands -------------------------------------------------------------------------------- */

static const struct command *const tables[] = { commands_link,	   commands_node,    commands_load,
						commands_power,	   commands_judge,   commands_look,
						commands_adaptive, commands_sequence };

void sim_control_each(command_each_fn *fn, void *arg)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct command *row = tables[i]; row->name; row++)
			if (!fn(arg, row))
				return;
}

struct wanted {
	const char *name;
	const struct command *found;
};

static bool is_wanted(void *arg, const struct command *command)
{
	struct wanted *wanted = arg;

	if (strcmp(command->name, wanted->name) != 0)
		return true;
	wanted->found = command;
	return false;
}

const struct command *sim_control_find(const char *name)
{
	struct wanted wanted = { .name = name };

	sim_control_each(is_wanted, &wanted);
	return wanted.found;
}

int bad(struct args *a, const char *format, ...)
{
	va_list list;

	fprintf(a->out, "error: %s: ", a->words[0]);
	va_start(list, format);
	vfprintf(a->out, format, list);
	va_end(list);
	fputc('\n', a->out);
	return -EINVAL;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static bool is_blank(char ch)
{
	return ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n';
}

/* Behind the word that begins at `p`; NULL where a quote is not closed. */
static const char *word_end(const char *p)
{
	while (*p && !is_blank(*p)) {
		if (*p++ != '"')
			continue;
		p = strchr(p, '"');
		if (!p)
			return NULL;
		p++;
	}
	return p;
}

/* Quotes go, but for those of "NODE"[PORT], which say where the name ends. */
static char *word_copy(const char *from, size_t len)
{
	char *word = mem_alloc(len + 1, 1), *to = word;
	bool brackets = from[0] == '"' && len && from[len - 1] == ']';

	for (size_t i = 0; i < len; i++)
		if (brackets || from[i] != '"')
			*to++ = from[i];
	return word;
}

/* 0, or -EINVAL. */
static int split(struct args *a)
{
	const char *p = a->line;

	for (;;) {
		const char *end;

		while (is_blank(*p))
			p++;
		if (!*p || *p == '#')
			return 0;
		end = word_end(p);
		if (!end) {
			fprintf(a->out, "error: a quote is not closed: %s\n", p);
			return -EINVAL;
		}
		if (a->count == CONTROL_WORDS) {
			fprintf(a->out, "error: more than %d words\n", CONTROL_WORDS);
			return -EINVAL;
		}
		a->starts[a->count] = (unsigned)(p - a->line);
		a->words[a->count++] = word_copy(p, (size_t)(end - p));
		p = end;
	}
}

static int run(struct args *a)
{
	const struct command *command = sim_control_find(a->words[0]);
	unsigned behind = a->count - 1;

	a->next = 1;
	if (!command && fault_find(a->words[0]))
		return sim_control_fault(a);
	if (!command) {
		fprintf(a->out, "error: no command is named '%s': see help\n", a->words[0]);
		return -EINVAL;
	}
	if (behind < command->least || behind > command->most)
		return bad(a, "%s; it goes: %s%s%s",
			   behind < command->least ? "something is missing" : "too many words",
			   command->name, *command->args ? " " : "", command->args);
	return command->fn(a);
}

int sim_control_line(struct sim_control *c, const char *line, FILE *out)
{
	struct args a = { .c = c, .d = c->d, .out = out, .line = line };
	int status = split(&a);

	if (!status && a.count)
		status = run(&a);
	for (unsigned i = 0; i < a.count; i++)
		free(a.words[i]);
	return status;
}

/* ---- Later ----------------------------------------------------------------------------------- */

static void later_free(struct later *later)
{
	struct later **link = &later->c->later;

	while (*link != later)
		link = &(*link)->next;
	*link = later->next;
	loop_timer_free(later->timer);
	free(later->line);
	free(later);
}

static void later_cb(void *arg)
{
	struct later *later = arg;
	struct sim_control *c = later->c;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	sim_control_line(c, later->line, out);
	fclose(out);
	if (c->log) {
		fprintf(c->log, "%.6f %s\n%s", sim_control_seconds(c, loop_now_us(c->d->loop)),
			later->line, text);
		fflush(c->log);
	}
	free(text);
	later_free(later);
}

void sim_control_put_off(struct sim_control *c, uint64_t us, const char *line)
{
	struct later *later = mem_alloc(1, sizeof(*later));

	*later = (struct later){ .next = c->later, .c = c, .line = mem_strdup(line) };
	later->line[strcspn(later->line, "\r\n")] = 0;
	later->timer = loop_timer_new(c->d->loop, later_cb, later);
	c->later = later;
	loop_timer_set(later->timer, us);
}

struct sequence **sim_control_sequence(struct sim_control *c)
{
	return &c->sequence;
}

unsigned sim_control_to_come(const struct sim_control *c)
{
	unsigned count = 0;

	for (const struct later *later = c->later; later; later = later->next)
		count++;
	return count;
}

double sim_control_seconds(const struct sim_control *c, uint64_t us)
{
	return us > c->began_us ? (double)(us - c->began_us) / 1e6 : 0;
}

/* ---- Scripts --------------------------------------------------------------------------------- */

static void first_line(const char *text, char *err, size_t err_size, const char *name, unsigned num)
{
	snprintf(err, err_size, "%s:%u: %.*s", name, num, (int)strcspn(text, "\n"), text);
}

/* One line of a script: what it prints goes to the log. */
static int script_line(struct sim_control *c, const char *line, char **said)
{
	size_t size = 0;
	FILE *out = open_memstream(said, &size);
	int status = sim_control_line(c, line, out);

	fclose(out);
	if (!status && c->log && size)
		fputs(*said, c->log);
	return status;
}

int sim_control_script_text(struct sim_control *c, const char *name, const char *text, char *err,
			    size_t err_size)
{
	int status = 0;

	for (unsigned num = 1; *text && !status; num++) {
		size_t len = strcspn(text, "\n");
		char *line = mem_alloc(len + 1, 1), *said = NULL;

		memcpy(line, text, len);
		status = script_line(c, line, &said);
		if (status)
			first_line(said, err, err_size, name, num);
		free(line);
		free(said);
		text += len + (text[len] == '\n');
	}
	return status;
}

int sim_control_script(struct sim_control *c, const char *path, char *err, size_t err_size)
{
	size_t len;
	char *text = mem_read_path(path, &len);
	int status = text ? 0 : -errno;

	if (status) {
		snprintf(err, err_size, "%s: %s", path, strerror(-status));
		return status;
	}
	if (strlen(text) != len) {
		snprintf(err, err_size, "%s: is no text", path);
		free(text);
		return -EINVAL;
	}
	status = sim_control_script_text(c, path, text, err, err_size);
	free(text);
	return status;
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct sim_control *sim_control_new(struct double_fabric *d)
{
	struct sim_control *c = mem_alloc(1, sizeof(*c));

	*c = (struct sim_control){ .d = d, .began_us = loop_now_us(d->loop) };
	return c;
}

void sim_control_free(struct sim_control *c)
{
	if (!c)
		return;
	while (c->later)
		later_free(c->later);
	sequence_free(c->sequence);
	free(c);
}

void sim_control_set_log(struct sim_control *c, FILE *log)
{
	c->log = log;
}
