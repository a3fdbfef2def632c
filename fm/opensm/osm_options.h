/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osm_options: the counterpart in fmd of each option of OpenSM's opensm.conf: one table, used by
 * `fmctl import-opensm` and printed in the manual.
 */
#ifndef FMD_OPENSM_OSM_OPTIONS_H
#define FMD_OPENSM_OSM_OPTIONS_H

#include "topology/snapshot/topo.h"

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

/* ---- OpenSM's configuration and state files, for sites that migrate from it ------------------ */

/*
 *   opensm.conf     NAME VALUE, '#' behind a blank begins a remark, "(null)" is none
 *   guid2lid        PORT_GUID FIRST_LID LAST_LID
 *   guid2mkey       PORT_GUID M_KEY
 *   GUID files      a GUID a line, what follows it does not count
 *   qos-policy.conf of it the levels: qos-levels / qos-level / name, sl / end-qos-level
 *
 * Readers take what they understand and count the other lines: files of a running site contain
 * things that no manual has. The caller owns what is read: a list it frees by free(), a conf by
 * osm_conf_fini(), for which an all-zero struct is fine.
 */

struct osm_setting {
	char *name, *value; /* value: "" = none; without quotes and blanks around it */
	unsigned line;
};
struct osm_conf {
	struct osm_setting *settings; /* in the file's order */
	uint32_t count;
};

struct osm_lid {
	guid_t port;
	uint32_t first, last;
	unsigned line;
};
struct osm_lids {
	struct osm_lid *list; /* by GUID; no two share a LID */
	uint32_t count;
	uint32_t left_out;	/* ports with invalid LIDs, or LIDs of another port */
	unsigned left_out_line; /* the first such line */
};

struct osm_guid {
	guid_t guid;
	uint64_t key; /* guid2mkey */
};
struct osm_guids {
	struct osm_guid *list; /* in the file's order */
	uint32_t count;
	unsigned bad_line; /* the first that is not a GUID; 0 = all are */
};

struct osm_level {
	char name[64];
	int sl; /* -1 = it has none */
};
struct osm_levels {
	struct osm_level *list;
	uint32_t count;
};

/* Each returns 0, or -errno of the file with nothing in *out. */
int osm_conf_read(const char *path, struct osm_conf *out);
int osm_lids_read(const char *path, struct osm_lids *out);
int osm_guids_read(const char *path, bool with_key, struct osm_guids *out);
int osm_levels_read(const char *path, struct osm_levels *out);
void osm_conf_fini(struct osm_conf *conf);

/* The last value of that name, owned by conf; NULL = the file does not have the name. */
const char *osm_conf_value(const struct osm_conf *conf, const char *name);

#endif
