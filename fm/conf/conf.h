/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * conf: the configuration file (libconfig), as one plain struct. Every key is one row of the table
 * in conf_table.c: name, field, kind, bounds, default; a test compares etc/fmd.conf with that
 * table. A file is read into a struct of its own, which counts only when all of it is valid.
 *
 * Each part of the daemon has a struct of its own here, and takes that alone: the table lies below
 * all rooms, so their keys do too. Texts end with 0; "" = not set. A key that is one of several
 * words is kept as the word's number in its table row.
 */
#pragma once

#include "fm/conf/m_keys.h"
#include "fm/conf/partition.h"
#include "fm/conf/qos.h"

/* ---- Keys, by the part that goes by them ----------------------------------------------------- */

struct conf_port {
	/* By blanks, the first is preferred. guids "": by device and port, or the first active */
	char guids[512];
	char devices[256];
	int num;
};

enum conf_port_metrics { CONF_PORTS_OFF, CONF_PORTS_SWITCHES, CONF_PORTS_ALL };

struct conf_http {
	char listen[80];      /* ADDRESS:PORT, an IPv6 address in brackets; "" = no HTTP */
	char hosts[512];      /* names it accepts in Host; "" = the default, fm/http/http.h */
	char token_file[256]; /* its first line is the bearer token (RFC 6750) */
	char cert_file[256], key_file[256]; /* PEM: HTTP over TLS */
	int port_metrics_counters;	    /* 0 = essential, 1 = all */
	int port_metrics;		    /* enum conf_port_metrics: the ports that have series */
};

enum conf_sm_action { CONF_SM_ALERT, CONF_SM_ISOLATE };
enum conf_idle_action { CONF_IDLE_ALERT, CONF_IDLE_TAKEOVER };

struct conf_sm {
	int priority;
	int master_priority;
	int polling_timeout_ms, polling_retries; /* of the master, as standby */
	uint64_t key;
	uint64_t mkey;
	uint64_t subnet_prefix;
	uint64_t old_key;  /* what other managers may still say; 0 = nothing */
	uint64_t old_mkey; /* what ports may hold from before; 0 = nothing */
	uint64_t vs_key;   /* what requests to NVIDIA's agents carry */
	/* what M_Keys are derived from, now and before; files are read with the configuration */
	char mkey_secret_file[256];
	char old_mkey_secret_file[256];
	struct m_key_secret mkey_secret;
	struct m_key_secret old_mkey_secret;
	bool mkey_per_port;
	int mkey_protect;    /* M_KeyProtectBits */
	int mkey_lease_s;    /* M_KeyLeasePeriod; 0 = never ends */
	char allowed[1024];  /* port GUIDs of managers, by blanks; "" = all are */
	int foreign_action;  /* enum conf_sm_action: what is done about others */
	int idle_action;     /* enum conf_idle_action: about a master that does nothing */
	bool observe;	     /* only look: never a Set */
	char open_keys[256]; /* a file with keys that every user can read; "" = none */
};

struct conf_sa {
	uint64_t key;	  /* 0 = not set, see fm/sa/module.c */
	uint64_t old_key; /* accepted beside it; 0 = none */
	int rate_limit;	  /* requests a second of one port; 0 = no limit */
	/* of one port; 0 = its share alone counts */
	int max_mcgs;
	int max_srvcs;
	int max_event_subs;
	int takeover_grace_ms;	  /* multicast trees of a manager of before are kept so long */
	int consolidate_ipv6_snm; /* groups of IPv6 solicited nodes share a MLID */
	bool proxy_join;	  /* ports may join others to groups */
	bool pkey_host_order;	  /* P_KeyTableRecords as OpenSM sends them */
};

struct conf_sweep {
	int interval_ms; /* 0 = off */
	int hold_down_ms;
	int hold_down_max_ms;
};

enum conf_engine { CONF_FTREE, CONF_UPDN, CONF_UPDN_ROOT }; /* as route_engine_name() */
enum { CONF_CALIBRATE = 2 }; /* adaptive: it is on, and learns packings */
struct conf_routing {
	int engine; /* enum conf_engine */
	int lmc;
	char lid_range[32];    /* FIRST-LAST; "" = all */
	int transit_min_share; /* percent */
	int adaptive;	       /* 0 = off */
	int adaptive_sl;       /* SLs that use it, a bit each */
	/* patterns of nodes, by blanks: fm/conf/lists.h */
	char storage_nodes[4096];
	char management_nodes[256];
};

struct conf_rebalance {
	int entries; /* that may move, 0 = none */
	int gain;    /* percent */
	int hold_ms; /* 0 = off */
};

enum conf_enforce { CONF_ENFORCE_IN = 1, CONF_ENFORCE_OUT = 2 };
struct conf_partition {
	char file[256]; /* empty: all ports are in the default partition */
	int enforce;	/* bits of enum conf_enforce */
	bool allow_both;
};

/* Bytes of an entry of `peers`: HOST:PORT, or HOST:PORT=NAME with more names behind commas. */
#define CONF_PEER      640
#define CONF_PEER_SCAN "%639s"
struct conf_mirror { /* of the other managers: fm/mirror, fm/registrations */
	char listen[80];
	char peers[2048];
	char cert[256];
	char key[256];
	char ca[256];
	char psk_file[256];
	int interval_ms; /* 0 = off */
	int synchronous; /* state_dir: fsync() in each transaction */
};

struct conf_nvswitch {
	char url[256];
	char prometheus_url[256];
	char prometheus_label[64];
	char hosts_file[256];
	char alias_file[256];
	char ca_file[256];
	char credentials_file[256];
	char catalogue[256];
	char log_socket[108];
	char log_journal[256];
	char hook[256];
	int system;	    /* enum nvswitch_system */
	int fm_in_progress; /* enum fm_progress */
	int second_source;  /* enum nvswitch_trust that makes one superfluous */
	int poll_interval_ms;
	int timeout_ms;
	int hook_timeout_ms;
	int link_window_ms;
	int body_limit;			     /* KiB; 0 = none */
	int worsen_hold_ms, recover_hold_ms; /* 0 = none */
	int guard;			     /* percent of the hosts; 100 = none */
	bool guard_hooks;		     /* the guard holds hooks, too */
	bool short_node_names;		     /* for schedulers and all hooks */
};

struct conf_audit {
	int rate;     /* LFT blocks read back a second while idle; 0 = off */
	int after_ms; /* of idleness */
};

struct conf_mad {
	int max_wire_smps;
	int max_wire_smps_per_device;
	int timeout_ms;
	int retries;
};

struct conf_ports {
	int subnet_timeout, max_op_vls, packet_life_time, hoq_life, leaf_hoq_life, vl_stall,
		leaf_vl_stall, sm_sl;
};

/* fm/links_out: which links that were not known before become part of the fabric. */
enum conf_admission_mode { CONF_ADMIT_GUARD, CONF_ADMIT_OPEN, CONF_ADMIT_STRICT };

struct conf_admission {
	int mode, max_hosts; /* mode: enum conf_admission_mode */
};

struct conf_quarantine {
	int flap_count, flap_window_ms; /* falls within: quarantine; 0 = never */
	int time_ms;
	int time_max_ms;
	int min_uplinks; /* percent that a leaf keeps */
};

struct conf_hosts {
	char hook[256], event_hook[256], job_command[256];
	int hook_timeout_ms, event_hook_timeout_ms, job_command_timeout_ms;
	int worsen_hold_ms, recover_hold_ms; /* how long a verdict must last; 0 = not at all */
	int guard;			     /* percent of the hosts; 100 = none */
};

enum conf_action { CONF_WARN, CONF_QUARANTINE };
struct conf_perf {
	int interval_ms; /* of a pass over all counters; 0 = none */
	/* a minute */
	int symbol_errors;
	int rcv_errors;
	int integrity_errors;
	int link_recoveries, link_losses;   /* an hour */
	int fec_uncorrected, fec_corrected; /* blocks a minute */
	int fec_symbols;		    /* wrong ones in a billion */
	int discards, wait_percent;	    /* a minute; of the time */
	int action;			    /* enum conf_action */
	int fec_action;			    /* enum conf_action, for what error correction counts */
};

struct conf_ber { /* error rates of links over time */
	int window_ms;
	int long_window_ms;
	double limit, long_limit; /* share of the bits; 0 = not judged */
	int clean_ms;		  /* until a link returns */
	int max_links;		  /* at once, or 0.5 % of them */
	char exclude[1024];	  /* patterns of names, by blanks */
	bool dry_run;
};

/*
 * By the key `sandbox`. Off: nothing is given up. Log: a call that is not in the list is made, and
 * the kernel writes it into its audit log.
 */
enum sandbox_mode { SANDBOX_OFF, SANDBOX_LOG, SANDBOX_ON };

/* ---- The file -------------------------------------------------------------------------------- */

struct conf {
	struct conf_port port;
	char state_dir[256];
	char socket[108];
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
	struct conf_admission admission;
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
	uint64_t gone;		 /* keys of before that a file has, by bit: conf_gone[] */
};

void conf_default(struct conf *conf); /* writes the default of every key */
/* The keys of partitions and of M_Keys, in the form that these take; copies. */
struct partition_options conf_partition_options(const struct conf *conf);
struct m_key_conf conf_m_keys(const struct conf *conf);
#define CONF_ERROR_SIZE 4096
/*
 * From `path` and, in the order of their names, the files *.conf in conf.d beside fmd.conf (in
 * FILE.d, where FILE has another name): the later counts. 0; or -1 with a line `FILE:LINE: reason`
 * in err for each thing wrong in any of them, as far as they have space, and *conf untouched.
 */
int conf_load(const char *path, struct conf *conf, char *err, size_t err_size);
/*
 * The same in steps, for a start that does without two files: that of the partitions, where an
 * earlier one can take its place (partitions_kept()), and node_name_map. 0 or -1 as conf_load();
 * the last two check these files and change nothing.
 */
int conf_load_but_partitions(const char *path, struct conf *conf, char *err, size_t err_size);
int conf_check_partitions(const struct conf *conf, char *err, size_t err_size);
/*
 * Whether a running manager may take `next` in the place of `now`: 0; or -1 with the reason in err.
 * LMC can't change under a fabric in use: all LIDs would move. M_Keys can, where `next` names those
 * of `now` as the old ones: ports hold these and would reject Sets without them.
 */
int conf_check_reload(const struct conf *now, const struct conf *next, char *err, size_t err_size);

/*
 * Files with keys that every user of this machine can read, and a state_dir that every user can
 * write to: fmd works with them, and says so. Files that are refused instead when they are open
 * (m_key_secret_file, peer_key, peer_psk_file) are not among them. Calls fn for each of them.
 * key: of the configuration, or "configuration". why: NULL = it is as it should be. Keys that this
 * version has no more are reported as well, with what takes their place.
 */
typedef void conf_secret_fn(void *arg, const char *key, const char *why);
void conf_judge_secrets(const struct conf *conf, conf_secret_fn *fn, void *arg);
