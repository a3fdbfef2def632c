/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * targets: the list of exporters.
 *
 * Names of hosts in the fabric come from node descriptions, which anybody with a port may write:
 * what is no host's name (text_is_host_name) is given no URL, and neither is a GUID, which stands
 * for a machine that has no name so far.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/lines.h"
#include "fm/nvswitch/targets.h"
#include "topology/mem.h"
#include "topology/text.h"

/* A certificate vouches for who answers, and so does this machine for itself. */
static enum nvswitch_trust trust_of(const struct fetch_url *url)
{
	bool here = !strcmp(url->host, "localhost") || !strncmp(url->host, "127.", 4) ||
		    !strcmp(url->host, "::1");

	return url->tls || here ? NVSWITCH_PROVEN : NVSWITCH_ASKED;
}

static const struct nmx_place nowhere = { -1, -1, "" };

static int add(struct targets *targets, const char *host, const char *url,
	       enum nvswitch_system system, const struct nmx_place *place)
{
	struct target target = { .system = system, .place = *place };

	if (!text_is_host_name(host) || fetch_url_parse(url, &target.url))
		return -1;
	target.trust = trust_of(&target.url);
	target.host = mem_strdup(host);
	target.where = mem_strdup(url);
	targets->list = mem_resize(targets->list, targets->count + 1, sizeof(target));
	targets->list[targets->count++] = target;
	return 0;
}

int targets_add(struct targets *targets, const char *host, const char *pattern,
		enum nvswitch_system system)
{
	const char *place = strstr(pattern, "%h");
	char *url;
	int status;

	if (!place)
		return -1;
	url = mem_printf("%.*s%s%s", (int)(place - pattern), pattern, host, place + 2);
	status = add(targets, host, url, system, &nowhere);
	free(url);
	return status;
}

/* Words behind the URL. NULL, or what is wrong. */
static const char *read_more(char *rest, int *system, struct nmx_place *place)
{
	char *word;

	for (unsigned i = 0; (word = strtok_r(rest, " \t", &rest)); i++) {
		if (nmx_place_parse(place, word))
			continue;
		if (i > 0 || strchr(word, '='))
			return "more than `HOST URL [SYSTEM] [tray=N] [slot=N] [chassis=ID]`";
		*system = nvswitch_system_parse(word);
		if (*system < 0)
			return "unknown system: auto, a100, h100, h200, h20, b200, nvl72 or other";
	}
	if (*place->chassis && !nmx_place_is_set(place))
		return "a chassis has several hosts: tray=N or slot=N is needed too";
	return NULL;
}

static const char *read_line(void *arg, char *line)
{
	struct targets *targets = arg;
	struct nmx_place place = nowhere;
	char *rest = line, *host, *url;
	int system = NVSWITCH_SYSTEM_AUTO;
	const char *wrong;

	host = strtok_r(rest, " \t", &rest);
	if (!host)
		return NULL;
	url = strtok_r(rest, " \t", &rest);
	if (!url)
		return "`HOST URL [SYSTEM]` is expected";
	wrong = read_more(rest, &system, &place);
	if (wrong)
		return wrong;
	return add(targets, host, url, (enum nvswitch_system)system, &place)
		       ? "invalid host name or URL"
		       : NULL;
}

int targets_read(struct targets *targets, const char *path, char *err, size_t err_size)
{
	struct targets read = { 0 };

	if (lines_read(path, read_line, &read, err, err_size)) {
		targets_fini(&read);
		return -1;
	}
	targets->list =
		mem_resize(targets->list, targets->count + read.count + 1, sizeof(*targets->list));
	if (read.count)
		memcpy(targets->list + targets->count, read.list, read.count * sizeof(*read.list));
	targets->count += read.count;
	free(read.list);
	return 0;
}

void targets_fini(struct targets *targets)
{
	for (unsigned i = 0; i < targets->count; i++) {
		free(targets->list[i].host);
		free(targets->list[i].where);
	}
	free(targets->list);
	*targets = (struct targets){ 0 };
}
