/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * conf_keys: the values of fmd.conf's keys, a struct for each part of the daemon that goes by them.
 * Names and bounds are conf_table.c's. Texts end with 0; "" = not set. A key that is one of several
 * words is kept as the word's number in its table row.
 */
#ifndef FMD_CONF_CONF_KEYS_H
#define FMD_CONF_CONF_KEYS_H

#include <stdbool.h>
#include <stdint.h>
#include "fm/conf/conf_health.h"
#include "fm/conf/m_keys.h"
#include "topology/snapshot/topo.h"

/*
 * By the key `sandbox`. Off: nothing is given up. Log: a call that is not in the list is made, and
 * the kernel writes it into its audit log.
 */
enum sandbox_mode { SANDBOX_OFF, SANDBOX_LOG, SANDBOX_ON };

struct conf_port {
	guid_t guid; /* SM port; 0 = by device and port, or the first active */
	char device[32];
	int num;
};

enum conf_port_metrics { CONF_PORTS_OFF, CONF_PORTS_SWITCHES, CONF_PORTS_ALL };

struct conf_http {
	char listen[80]; /* ADDRESS:PORT; empty = no HTTP */
	char hosts[512]; /* names that it answers to; empty = the default */
	char token_file[256], cert_file[256], key_file[256];
	int port_metrics; /* enum conf_port_metrics */
};

enum conf_sm_action { CONF_SM_ALERT, CONF_SM_ISOLATE };

struct conf_sm {
	int priority, master_priority;
	int polling_timeout_ms, polling_retries; /* of the master, as standby */
	uint64_t key, mkey, subnet_prefix;
	uint64_t old_key;  /* what other managers may still say; 0 = nothing */
	uint64_t old_mkey; /* what ports may hold from before; 0 = nothing */
	/* what M_Keys are derived from, now and before; files are read with the configuration */
	char mkey_secret_file[256], old_mkey_secret_file[256];
	struct m_key_secret mkey_secret, old_mkey_secret;
	bool mkey_per_port;
	int mkey_protect;   /* M_KeyProtectBits */
	int mkey_lease_s;   /* M_KeyLeasePeriod; 0 = never ends */
	char allowed[1024]; /* port GUIDs of managers, by blanks; "" = all are */
	int foreign_action; /* enum conf_sm_action: what is done about others */
};

struct conf_sa {
	uint64_t key;		  /* 0 = not set, see fm/sa/module.c */
	uint64_t old_key;	  /* accepted beside it; 0 = none */
	int rate_limit;		  /* requests a second of one port; 0 = no limit */
	int groups_per_port;	  /* 0 = no limit */
	int takeover_grace_ms;	  /* multicast trees of a manager of before are kept so long */
	int consolidate_ipv6_snm; /* groups of IPv6 solicited nodes share a MLID */
	bool proxy_join;	  /* ports may join others to groups */
	bool pkey_host_order;	  /* P_KeyTableRecords as OpenSM sends them */
};

struct conf_sweep {
	int interval_ms; /* 0 = off */
	int hold_down_ms, hold_down_max_ms;
};

enum conf_engine { CONF_FTREE, CONF_UPDN, CONF_UPDN_ROOT }; /* as route_engine_name() */
struct conf_routing {
	int engine; /* enum conf_engine */
	int lmc;
	/* patterns of nodes, by blanks: fm/conf/node_patterns.h */
	char storage_nodes[4096], management_nodes[256];
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

struct conf_mirror { /* of the other managers: fm/mirror, fm/registrations */
	char listen[80], peers[512], cert[256], key[256], ca[256], psk_file[256];
	int interval_ms; /* 0 = off */
};

enum conf_class { CONF_CLASS_UNCHANGED, CONF_CLASS_CROSSRAIL, CONF_CLASS_IDLE };
struct conf_nvswitch {
	char url[256], hosts_file[256], alias_file[256], ca_file[256];
	char syslog_listen[64], syslog_allow[1024], log_socket[108], kmsg[256], hook[256];
	int system;	    /* enum nvswitch_system */
	int fm_in_progress; /* enum fm_progress */
	int second_source;  /* enum nvswitch_trust that makes one superfluous */
	int poll_interval_ms, timeout_ms, hook_timeout_ms, link_window_ms;
	int body_limit;							       /* KiB; 0 = none */
	int worsen_hold_ms, recover_hold_ms, reroute_interval_ms, log_hold_ms; /* 0 = none */
	int guard;				       /* percent of the hosts; 100 = none */
	int degraded_class, no_p2p_class, fatal_class; /* enum conf_class */
	int degraded_weight, no_p2p_weight, fatal_weight;
};

struct conf_audit {
	int rate;     /* LFT blocks read back a second while idle; 0 = off */
	int after_ms; /* of idleness */
};

struct conf_mad {
	int max_wire_smps, max_wire_smps_per_device, timeout_ms, retries;
};

struct conf_ports {
	int subnet_timeout, max_op_vls, packet_life_time, hoq_life, leaf_hoq_life, vl_stall,
		leaf_vl_stall, sm_sl;
};

#endif
