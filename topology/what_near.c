/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* what_near: names of switches and hosts that look like a text that names nothing. */
#include "topology/near_names.h"
#include "topology/what_own.h"

void what_say_near(const struct topo *t, const char *text, char *err, size_t size)
{
	struct near_names near = { 0 };

	for (uint32_t n = 0; n < t->nswitches; n++)
		near_names_add(&near, text, t->nodes[n].name);
	for (uint32_t h = 0; h < t->nhosts; h++)
		near_names_add(&near, text, t->hosts[h].name);
	near_names_say(&near, err, size);
}
