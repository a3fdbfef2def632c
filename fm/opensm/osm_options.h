/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osm_options: the counterpart in fmd of each option of OpenSM's opensm.conf: one table, used by
 * `fmctl import-opensm` and printed in the manual.
 */
#ifndef FMD_OPENSM_OSM_OPTIONS_H
#define FMD_OPENSM_OSM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum osm_fate {
	OSM_TAKEN,	 /* its value becomes that of a key of fmd */
	OSM_FILE,	 /* it names a file whose content is taken */
	OSM_BY_ITSELF,	 /* fmd always does so */
	OSM_NOT_NEEDED,	 /* its purpose has no counterpart in fmd */
	OSM_NOT_OFFERED, /* fmd cannot do that */
};

enum osm_form { OSM_NUMBER, OSM_HEX, OSM_TEXT, OSM_FLAG }; /* of the value in fmd.conf */

struct osm_option {
	const char *name;     /* a '*' at its end: all options with that prefix */
	const char *standard; /* as `opensm -c` writes it; NULL = in NVIDIA's OpenSM only */
	enum osm_fate fate;
	const char *key;    /* TAKEN, FILE: fmd's key; NULL = the file's reader says it */
	enum osm_form form; /* TAKEN */
	const char *note;   /* why not, or what fmd does; "" = nothing to say */
};

/* The rows of the table, static; NULL past the last, and for a name that is not in the table. */
const struct osm_option *osm_option(size_t index);
const struct osm_option *osm_option_find(const char *name);
/* The static name of a fate: "taken". */
const char *osm_fate_name(enum osm_fate fate);
/* Whether the value is OpenSM's default, however it is written. */
bool osm_option_is_standard(const struct osm_option *option, const char *value);
/* Whether a value is "" or "(null)"; and whether it is one of OpenSM's words for true. */
bool osm_is_null(const char *value);
bool osm_is_true(const char *value);

#endif
