/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osm_options: what becomes of each option of OpenSM's opensm.conf when fmd takes its place. One
 * table: `fmctl import-opensm` goes by it, and the manual prints it.
 */
#ifndef FMD_OPENSM_OSM_OPTIONS_H
#define FMD_OPENSM_OSM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum osm_fate {
	OSM_TAKEN,	 /* its value is that of fmd's key.. */
	OSM_FILE,	 /* it names a file whose content is taken */
	OSM_BY_ITSELF,	 /* fmd does so without being told */
	OSM_NOT_NEEDED,	 /* what it is for has no counterpart in fmd */
	OSM_NOT_OFFERED, /* fmd can't do that */
};

enum osm_form { OSM_NUMBER, OSM_HEX, OSM_TEXT, OSM_FLAG }; /* of the value in fmd.conf */

struct osm_option {
	const char *name;     /* a '*' at its end: all options that begin so */
	const char *standard; /* OpenSM's default, as `opensm -c` writes it; NULL = of NVIDIA's */
	enum osm_fate fate;
	const char *key;    /* TAKEN, FILE: fmd's; NULL = told by the file's reader */
	enum osm_form form; /* TAKEN */
	const char *note;   /* why not, or what fmd does; "" = nothing to say */
};

const struct osm_option *osm_option(size_t index);	    /* NULL past the last */
const struct osm_option *osm_option_find(const char *name); /* NULL = not in the table */
const char *osm_fate_name(enum osm_fate fate);		    /* "taken" .. */
/* The value is OpenSM's default, however it is written. */
bool osm_option_is_standard(const struct osm_option *option, const char *value);
bool osm_is_null(const char *value); /* "", "(null)" */
bool osm_is_true(const char *value);

#endif
