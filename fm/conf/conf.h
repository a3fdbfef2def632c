/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * conf: the configuration file (libconfig), as one plain struct. Every key is one row of the table
 * in conf_table.c: name, field, kind, bounds, default; a test compares etc/fmd.conf with that
 * table. A file is read into a struct of its own, which counts only when all of it is valid.
 */
#ifndef FMD_CONF_CONF_H
#define FMD_CONF_CONF_H

#include <stddef.h>
#include "fm/conf/conf_keys.h"
#include "fm/conf/partition.h"
#include "fm/conf/qos.h"

struct conf {
	struct conf_port port;
	char state_dir[256], socket[108];
	char node_name_map[256]; /* empty = none */
	char cabling_plan[256];	 /* likewise: links are compared with each other */
	struct conf_http http;
	int retry_interval_ms; /* of opening what could not be opened; 0 = never */
	struct conf_sm sm;
	struct conf_mirror mirror;
	struct conf_sa sa;
	struct conf_sweep sweep;
	struct conf_routing routing;
	struct conf_rebalance rebalance;
	struct conf_quarantine quarantine;
	struct conf_partition partition;
	struct qos_keys qos;
	struct conf_nvswitch nvswitch;
	struct conf_hosts hosts;
	struct conf_perf perf;
	struct conf_ber ber;
	struct conf_audit audit;
	struct conf_mad mad;
	struct conf_ports ports; /* what ports are set to */
	int sandbox;		 /* enum sandbox_mode */
	int log_level;		 /* enum log_level */
};

void conf_default(struct conf *conf); /* writes the default of every key */
/* The keys of partitions and of M_Keys, in the form that these take; copies. */
struct partition_options conf_partition_options(const struct conf *conf);
struct m_key_conf conf_m_keys(const struct conf *conf);
/* 0; or -1 with `FILE:LINE: reason` in err, and *conf untouched. */
int conf_load(const char *path, struct conf *conf, char *err, size_t err_size);
/*
 * The same in steps, for a start that does without two files: that of the partitions, where an
 * earlier one can take its place (partitions_kept()), and node_name_map. 0 or -1 as conf_load();
 * the last two check these files and change nothing.
 */
int conf_load_but_partitions(const char *path, struct conf *conf, char *err, size_t err_size);
int conf_check_partitions(const struct conf *conf, char *err, size_t err_size);
int conf_check_names(const struct conf *conf, char *err, size_t err_size);
/*
 * Whether a running manager may take `next` in the place of `now`: 0; or -1 with the reason in err.
 * LMC can't change under a fabric in use: all LIDs would move. M_Keys can, where `next` names those
 * of `now` as the old ones: ports hold these and would reject Sets without them.
 */
int conf_check_reload(const struct conf *now, const struct conf *next, char *err, size_t err_size);
/* The name of the table's row, a literal; NULL past the last. */
const char *conf_key(size_t index);
/*
 * How the file writes that number of a key whose values are words, a literal; NULL: there is none.
 */
const char *conf_word(const char *key, int number);

#endif
