/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * aliases: the file is read as a whole or not at all. Whether its hosts are in the fabric is not
 * asked: they may come later.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/aliases.h"
#include "fm/nvswitch/lines.h"
#include "fm/nvswitch/targets.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

size_t name_fold(const char *name, char to[NAME_MAX_LEN + 1])
{
	size_t len = 0;

	for (; name[len] && len < NAME_MAX_LEN; len++)
		to[len] = (char)tolower((unsigned char)name[len]);
	to[len] = '\0';
	return len;
}

size_t name_first_part(const char *name, size_t len)
{
	const char *dot = memchr(name, '.', len);

	return dot ? (size_t)(dot - name) : len;
}

static const char *add(struct aliases *a, const char *host, const char *name)
{
	char text[NAME_MAX_LEN + 1];
	size_t len = name_fold(name, text);
	uint32_t id = names_find(&a->names, text, len);

	if (id != NAMES_NONE)
		return strcmp(a->hosts[id], host) ? "a name of two hosts" : NULL;
	id = a->names.count;
	a->texts = mem_resize(a->texts, id + 1, sizeof(*a->texts));
	a->hosts = mem_resize(a->hosts, id + 1, sizeof(*a->hosts));
	a->texts[id] = mem_strdup(text);
	a->hosts[id] = mem_strdup(host);
	names_id(&a->names, a->texts[id], len);
	return NULL;
}

static const char *read_line(void *arg, char *line)
{
	struct aliases *a = arg;
	char *rest = line, *host, *name;
	const char *wrong = NULL;

	host = strtok_r(rest, " \t", &rest);
	if (!host)
		return NULL;
	name = strtok_r(rest, " \t", &rest);
	if (!text_is_host_name(host) || !name)
		return "`HOST NAME..` is expected";
	for (; name && !wrong; name = strtok_r(rest, " \t", &rest))
		wrong = strlen(name) > NAME_MAX_LEN ? "the name is too long" : add(a, host, name);
	return wrong;
}

int aliases_read(struct aliases *a, const char *path, char *err, size_t err_size)
{
	return lines_read(path, read_line, a, err, err_size);
}

const char *aliases_find(const struct aliases *a, const char *name)
{
	char text[NAME_MAX_LEN + 1];
	size_t len = name_fold(name, text);
	uint32_t id = names_find(&a->names, text, len);

	if (id == NAMES_NONE)
		id = names_find(&a->names, text, name_first_part(text, len));
	return id == NAMES_NONE ? NULL : a->hosts[id];
}

void aliases_fini(struct aliases *a)
{
	for (uint32_t i = 0; i < a->names.count; i++) {
		free(a->texts[i]);
		free(a->hosts[i]);
	}
	free(a->texts);
	free(a->hosts);
	names_fini(&a->names);
	*a = (struct aliases){ 0 };
}
