/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <string.h>
#include <strings.h>
#include "fm/nvswitch/module_own.h"

/* "MF0;gb-nvl-087-switch03:N5110_LD/U1", "MF0;sw06:N5400_LD/U1": whatever the generation. */
static bool is_nvlink_switch(const char *desc)
{
	for (const char *model = desc; (model = strstr(model, ":N")); model += 2) {
		size_t digits = strspn(model + 2, "0123456789");

		if (digits && !strncmp(model + 2 + digits, "_LD/", 4))
			return true;
	}
	return false;
}

/* "GB100 Nvidia Technologies": a GPU's own ports are nodes of that subnet. */
static bool is_gpu(const char *desc)
{
	size_t letters = strspn(desc, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	size_t digits = strspn(desc + letters, "0123456789");

	return *desc == 'G' && letters <= 3 && digits >= 2 && digits <= 4 &&
	       !strcasecmp(desc + letters + digits, " Nvidia Technologies");
}

const char *nvlink_find_node(const struct topo *t)
{
	for (uint32_t n = 0; n < t->nnodes; n++) {
		const char *desc = t->nodes[n].desc;

		if (n < t->nswitches ? is_nvlink_switch(desc) : is_gpu(desc))
			return desc;
	}
	return NULL;
}
