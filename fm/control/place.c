/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* place: what an operator names, for lists. */
#include <string.h>
#include "fm/control/find.h"
#include "fm/control/place.h"

uint32_t place_host(const struct topo *t, const char *name)
{
	for (uint32_t h = 0; h < t->nhosts; h++)
		if (!strcmp(t->hosts[h].name, name))
			return h;
	return TOPO_NONE;
}

bool place_read(const struct command_env *env, const char *text, struct place *place, char *err)
{
	struct what what;

	*place = (struct place){ TOPO_NONE, TOPO_NONE, 0 };
	if (!command_find_what(env, text, WHAT_PLACE, &what, err))
		return false;
	*place = (struct place){ what.node, what.host, what.port };
	return true;
}
