/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sweep_jobs: kinds of sweeps, of their requests, and what is known of a probe. Private to
 * fm/sweep.
 */
#ifndef FMD_SWEEP_SWEEP_JOBS_H
#define FMD_SWEEP_SWEEP_JOBS_H

enum sweep_kind { SWEEP_NONE, SWEEP_DISCOVER, SWEEP_REFRESH, SWEEP_POLL };

enum sweep_job {	    /* object = node, arg = port or block */
		 JOB_LOCAL, /* NodeInfo of the SM's own port */
		 JOB_PROBE, /* NodeInfo over a port of the node: who is there? */
		 JOB_DESC,
		 JOB_GENERAL,	  /* GeneralInfo's capabilities, of a CA */
		 JOB_SWITCH,	  /* SwitchInfo */
		 JOB_CLEAR,	  /* its PortStateChange */
		 JOB_PORT,	  /* PortInfo */
		 JOB_PORT_EXT,	  /* the same with the extended speeds asked for */
		 JOB_STATES,	  /* SwitchPortStateTable, a block of 128 ports */
		 JOB_POLL,	  /* SwitchInfo, to compare only */
		 JOB_POLL_PORT,	  /* a probe whose answer only says that there is one */
		 JOB_VERIFY_LINK, /* a probe, to compare only */
		 JOB_VERIFY_PORT, /* PortInfo, to compare only */
};

#endif
