/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fmctl: the operators' program. It speaks to fmd by the control socket, or works on files alone.
 */
#ifndef FMD_FMCTL_H
#define FMD_FMCTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum fmctl_exit { FMCTL_DONE = 0, FMCTL_FAILED = 1, FMCTL_USAGE = 2, FMCTL_NO_DAEMON = 3 };

struct fmctl {
	const char *socket;
	unsigned timeout_s; /* without any answer or sign of progress; 0 = none */
	bool json;	    /* one document instead of tables */
	bool colour;	    /* stdout is a terminal */
};

/* ask.c: one question, one answer. */
struct fmctl_answer {
	enum fmctl_exit status; /* when not DONE, the reason was said on stderr */
	json_t *result;		/* DONE: the caller owns it */
};
struct fmctl_answer fmctl_ask(const struct fmctl *ctl, const char *cmd,
			      json_t *args); /* takes args */
/* Shows the answer and then each event as it comes, until fmd goes or the output ends. */
typedef void fmctl_show_fn(const struct fmctl *ctl, const json_t *result);
enum fmctl_exit fmctl_ask_events(const struct fmctl *ctl, json_t *args, fmctl_show_fn *show);
/* The text that follows an answer, into a file that is made or replaced. */
enum fmctl_exit fmctl_ask_text(const struct fmctl *ctl, const char *cmd, json_t *args,
			       const char *path);

/* live.c: the commands that ask fmd. FMCTL_USAGE was not said anything about yet. */
typedef enum fmctl_exit fmctl_command_fn(const struct fmctl *ctl, int argc, char **argv);
fmctl_command_fn fmctl_status, fmctl_topology, fmctl_nodes, fmctl_switches, fmctl_links,
	fmctl_health, fmctl_hosts, fmctl_lft, fmctl_dump, fmctl_groups, fmctl_partitions;
fmctl_command_fn fmctl_path, fmctl_check, fmctl_events, fmctl_reroute, fmctl_sweep, fmctl_reload,
	fmctl_loglevel, fmctl_cordon, fmctl_uncordon, fmctl_release, fmctl_forget;
fmctl_command_fn fmctl_whatif;	 /* whatif.c */
fmctl_command_fn fmctl_cabling;	 /* cabling.c */
fmctl_command_fn fmctl_nvswitch; /* nvswitch.c */
enum fmctl_exit fmctl_nvswitch_blocks(const struct fmctl *ctl,
				      const json_t *result); /* nvswitch_blocks.c */

/* show.c: documents as people read them, to stdout. */
fmctl_show_fn show_json, show_text, show_status, show_nodes, show_links, show_sick, show_health,
	show_hosts, show_lft, show_path, show_check;
fmctl_show_fn show_groups, show_members, show_partitions, show_partition, show_readback,
	show_events, show_settled, show_cordon, show_act, show_proof;
void show_trial(const json_t *rows);  /* hosts whose NVLinks were assumed to be otherwise */
void show_payers(const json_t *pays); /* and who shares links with them by that; NULL = nothing */

/* Whether what an act changed outlives a restart; said when it does not. */
enum fmctl_exit fmctl_was_saved(const char *cmd, const json_t *result);

/* Offline. argv[0] is the command's name; getopt starts anew. They say their own usage. */
fmctl_command_fn fmctl_plan;	 /* plan.c */
fmctl_command_fn fmctl_generate; /* generate.c */

#endif
