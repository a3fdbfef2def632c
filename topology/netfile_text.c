/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the readers of ibnetdiscover's files share: messages with their place, and names by number.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include "topology/mem.h"
#include "topology/netfile_own.h"

bool netfile_fail(struct netfile *nf, uint32_t line, const char *format, ...)
{
	char reason[256];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	snprintf(nf->err, nf->err_size, "%s:%" PRIu32 ": %s", nf->name, line, reason);
	return false;
}

/* Shows the line's beginning, whatever bytes it has. */
bool netfile_fail_line(struct netfile *nf, struct lex l)
{
	size_t len = (size_t)(l.end - l.p);
	char shown[49];
	size_t n = len < sizeof(shown) - 1 ? len : sizeof(shown) - 1;

	for (size_t i = 0; i < n; i++)
		shown[i] = l.p[i] < ' ' || l.p[i] == 0x7f ? '.' : l.p[i];
	shown[n] = '\0';
	return netfile_fail(nf, nf->line, "line not understood: '%s'%s", shown,
			    n < len ? ".." : "");
}

uint32_t netfile_name(struct netfile *nf, struct lex_text name)
{
	uint32_t id = names_id(&nf->names, name.p, name.len);

	if (id >= nf->names_room) {
		uint32_t room = nf->names.room > id ? nf->names.room : id + 1;

		nf->node_of_name = mem_resize(nf->node_of_name, room, sizeof(*nf->node_of_name));
		for (uint32_t i = nf->names_room; i < room; i++)
			nf->node_of_name[i] = -1;
		nf->names_room = room;
	}
	return id;
}
