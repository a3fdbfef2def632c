/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * conf: the configuration file (libconfig), as one plain struct. Every key is one row of a table in conf.c: name, kind, bounds, default;
 * etc/fmd.conf is held against that table by a test. Loading builds aside and validates whole.
 */
#ifndef FMD_CORE_CONF_H
#define FMD_CORE_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "fm/core/partition.h"
#include "fm/core/qos.h"
#include "topology/topo.h"

struct conf {
	/* port */
	guid_t guid; /* SM port; 0 = by device and port, or the first active */
	char device[32];
	int port;
	/* paths */
	char state_dir[256], socket[108];
	char http_listen[80]; /* ADDRESS:PORT; empty = no HTTP */
	char http_hosts[512]; /* names that it answers to; empty = the default */
	char http_token_file[256], http_cert_file[256], http_key_file[256];
	int retry_interval_ms; /* of opening what could not be opened; 0 = never */
	/* fabric manager */
	int sm_priority, master_sm_priority;
	int sminfo_polling_timeout_ms, polling_retry_number; /* of the master, as standby */
	uint64_t sm_key, mkey, subnet_prefix;
	uint64_t old_mkey;     /* what ports may hold from before; 0 = nothing */
	uint64_t sa_key;       /* 0 = not set, see sa_key.c */
	int sweep_interval_ms; /* key sweep_interval, seconds as float; 0 = off */
	char routing_engine[16];
	int lmc;
	int hold_down_ms, hold_down_max_ms;
	int flap_count, flap_window_ms; /* falls within: quarantine; 0 = never */
	int quarantine_time_ms, quarantine_time_max_ms;
	int quarantine_min_uplinks; /* percent that a leaf keeps */
	int rebalance;		    /* entries that may move, 0 = none */
	int rebalance_gain;	    /* percent */
	int rebalance_hold_ms;	    /* key rebalance_hold, seconds as float; 0 = off */
	char storage_nodes[256],
		management_nodes[256]; /* node description patterns (glob), by blanks */
	/* partitions and service levels */
	char partition_config_file[256]; /* empty: all ports are in the default partition */
	char part_enforce[8];
	bool allow_both_pkeys;
	struct qos_keys qos;
	/* NVSwitches and NVLinks of hosts */
	char nvswitch_url[256], nvswitch_hosts_file[256], nvswitch_alias_file[256],
		nvswitch_ca_file[256], nvswitch_system[16], syslog_listen[64], syslog_allow[1024],
		log_socket[108], kmsg[256], nvswitch_hook[256], nvswitch_fm_in_progress[16],
		nvswitch_second_source[16];
	int nvswitch_poll_interval_ms, nvswitch_timeout_ms, nvswitch_hook_timeout_ms,
		nvswitch_link_window_ms;
	int nvswitch_body_limit; /* KiB; 0 = none */
	int nvswitch_worsen_hold_ms, nvswitch_recover_hold_ms, nvswitch_reroute_interval_ms,
		nvswitch_log_hold_ms; /* SECONDS keys; 0 = none */
	int nvswitch_guard;	      /* percent of the hosts; 100 = none */
	char nvswitch_degraded_class[16], nvswitch_no_p2p_class[16], nvswitch_fatal_class[16];
	int nvswitch_degraded_weight, nvswitch_no_p2p_weight, nvswitch_fatal_weight;
	/* MADs */
	int perf_interval_ms; /* of a pass over all ports' counters; 0 = none */
	int health_symbol_errors, health_rcv_errors, health_integrity_errors; /* a minute */
	int health_link_recoveries, health_link_losses;			      /* an hour */
	int health_fec_uncorrected, health_fec_corrected;		      /* blocks a minute */
	int health_fec_symbols;			  /* wrong ones in a billion */
	int health_discards, health_wait_percent; /* a minute; of the time */
	char health_action[16];
	int audit_rate;	    /* LFT blocks read back a second while idle; 0 = off */
	int audit_after_ms; /* of idleness */
	int max_wire_smps, max_wire_smps_per_device, transaction_timeout_ms, transaction_retries;
	int consolidate_ipv6_snm;  /* groups of IPv6 solicited nodes share a MLID */
	int mcast_groups_per_port; /* 0 = no limit */
	bool sa_proxy_join;	   /* ports may join others to groups */
	bool sa_pkey_host_order;   /* P_KeyTableRecords as OpenSM sends them */
	int sa_rate_limit;	   /* requests a second of one port; 0 = no limit */
	/* ports */
	int subnet_timeout, max_op_vls, packet_life_time, hoq_life, leaf_hoq_life, vl_stall,
		leaf_vl_stall, sm_sl;
	char log_level[16];
};

void conf_default(struct conf *conf);
struct partition_options conf_partition_options(const struct conf *conf);
/* 0; or -1 with `FILE:LINE: reason` in err, and *conf untouched. */
int conf_load(const char *path, struct conf *conf, char *err, size_t err_size);
/* The same in two steps: the partitions' file may be bad where another can take its place (partitions_kept()). */
int conf_load_but_partitions(const char *path, struct conf *conf, char *err, size_t err_size);
int conf_check_partitions(const struct conf *conf, char *err, size_t err_size);
/*
 * Whether a running manager may take `next` in the place of `now`: 0; or -1 with the reason in err. LMC and M_Key can't change
 * under a fabric in use: all LIDs would move, ports would refuse what they are told.
 */
int conf_check_reload(const struct conf *now, const struct conf *next, char *err, size_t err_size);
const char *conf_key(size_t index); /* name of the table's row; NULL past the last */

#endif
