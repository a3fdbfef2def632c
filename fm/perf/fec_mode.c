/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/perf/fec_mode.h"
#include <stdio.h>

struct fec_name fec_mode_name(unsigned mode)
{
	const char *text = wire_fec_mode_name(mode);
	struct fec_name name;

	if (text)
		snprintf(name.text, sizeof(name.text), "%s", text);
	else
		snprintf(name.text, sizeof(name.text), "mode-%u", mode);
	return name;
}
