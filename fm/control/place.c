/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* place: what an operator names, for lists. */
#include <string.h>
#include "fm/control/answer.h"
#include "fm/control/place.h"

uint32_t place_host(const struct topo *t, const char *name)
{
	for (uint32_t h = 0; h < t->nhosts; h++)
		if (!strcmp(t->hosts[h].name, name))
			return h;
	return TOPO_NONE;
}

bool place_read(const struct topo *t, const char *text, struct place *place, char *err)
{
	*place = (struct place){ TOPO_NONE, TOPO_NONE, 0 };
	place->host = place_host(t, text);
	if (place->host == TOPO_NONE)
		place->node = topo_resolve(t, text, &place->port, err, COMMAND_ERROR_SIZE);
	return place->host != TOPO_NONE || place->node != TOPO_NONE;
}
