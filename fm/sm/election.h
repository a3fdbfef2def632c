/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * election: who is master (IBA 14.4.1). Decides only: no I/O, no clock; what was heard goes in,
 * what is to be done comes out.
 */
#pragma once

#include "fm/mad/wire.h"

enum sm_state { SM_NOT_ACTIVE = 0, SM_DISCOVERING = 1, SM_STANDBY = 2, SM_MASTER = 3, SM_STATES };
const char *sm_state_name(enum sm_state state); /* a literal; "unknown" for none of these */

enum election_event {
	/* A sweep has ended, and all other managers that it met were asked. */
	ELECTION_NONE_BETTER,  /* nobody to give way to */
	ELECTION_MASTER_MET,   /* another is master */
	ELECTION_BETTER_MET,   /* nobody else is master, and another outranks us */
	ELECTION_BETTER_WAITS, /* one that outranks us is standby or master: it can take over now */
	ELECTION_WORSE_MASTER, /* one that we outrank is master as well */
	/* Another is master and has another SM_Key: its rank says nothing. */
	ELECTION_FOREIGN_MET,	 /* in DISCOVERING */
	ELECTION_FOREIGN_MASTER, /* as master */
	ELECTION_GIVE,		 /* an operator's wish: to a standby, whatever its rank */
	/* STANDBY's polls */
	ELECTION_ALIVE,
	ELECTION_LOST, /* silent for too long, or no master any more */
	ELECTION_TAKE, /* it does nothing, and an operator wants this manager to */
	/* What came of our HANDOVER. */
	ELECTION_GIVEN,
	ELECTION_KEPT,	    /* refused, or not answered */
	ELECTION_PORT_LOST, /* our port is in no fabric */
	/* As master, or no device answered it, for so long that another may be master now. */
	ELECTION_STOOD_STILL,
	/* Control packets, by their modifier behind ELECTION_CONTROL. */
	ELECTION_CONTROL,
	ELECTION_HANDOVER,
	ELECTION_ACKNOWLEDGE,
	ELECTION_DISABLE,
	ELECTION_STANDBY,
	ELECTION_DISCOVER,
	ELECTION_EVENTS
};

enum election_action {
	ELECTION_STAY,
	ELECTION_REFUSE,	/* a control packet that is not valid in this state */
	ELECTION_BECOME_MASTER, /* manage the fabric as it was just swept */
	ELECTION_TAKE_OVER,	/* a heavy sweep, then manage the fabric: another did until now */
	ELECTION_BEGIN_ANEW,	/* a heavy sweep, by Gets only, then ask all others */
	ELECTION_STAND_BY,	/* change nothing; poll the master */
	ELECTION_GO_INACTIVE,	/* change nothing */
	ELECTION_HAND_OVER,	/* stop writing, send HANDOVER */
	ELECTION_RESUME,	/* go on writing: it was not taken */
	ELECTION_WARN,		/* two masters: wait for the other's HANDOVER */
};

struct election_step {
	enum sm_state next;
	enum election_action act;
};

#define ELECTION_STUCK_US 60000000ull /* an ActCount that does not move for so long: it is dead */

/* The SM_Key of who has set none, OpenSM's too. */
#define ELECTION_PUBLIC_KEY 1

struct election {
	enum sm_state state;
	guid_t guid; /* our port's */
	uint8_t priority;
	/* Shown while master, if it is higher (OpenSM's master_sm_priority); 0 = off. */
	uint8_t master_priority;
	uint64_t sm_key;
	uint64_t old_sm_key; /* as good where another says it; 0 = none */
	bool lowered; /* our priority was lowered while we were master: nothing else is shown */
	/* Handed over by an operator's wish, or another ruled meanwhile: shows 0 until the new
	 * master is gone, or a reload changes sm_priority or master_sm_priority. */
	bool gave;
	/*
	 * HANDING: as master, our HANDOVER is out. READING: as standby, what hosts registered with
	 * the master is read, and 0 is shown.
	 */
	enum { ELECTION_NOT_WAITING, ELECTION_HANDING, ELECTION_READING } waits;
	bool doubted; /* was master; another that is by now stays it, whatever its rank */
	struct wire_sm_info master; /* whom STANDBY polls, as last heard of; guid 0 = nobody */
	unsigned missed;	    /* polls in a row without an answer */
	uint64_t moved_us;	    /* when its ActCount last did */
	struct wire_sm_info stuck;  /* answers, and does nothing; guid 0 = nobody */
	/*
	 * A master from which an operator had this manager take over: as if it had another SM_Key,
	 * until it answers that it is none any more. 0 = nobody.
	 */
	guid_t passed_over;
	uint64_t obeyed_us; /* when a control packet last made us restart; 0 = never */
};

uint8_t election_priority(const struct election *e); /* as others see it */
/* Has another SM_Key, and shows it: 0 is none that is shown (IBA 14.2.5.13). */
bool election_is_foreign(const struct election *e, const struct wire_sm_info *other);
bool election_outranks(const struct wire_sm_info *a, const struct wire_sm_info *b);
bool election_outranks_us(const struct election *e, const struct wire_sm_info *other);
/* True: its rank says nothing: it has another SM_Key, is stuck, or was passed over. */
bool election_ignores(const struct election *e, const struct wire_sm_info *other);

/*
 * What the answers of all others come to in DISCOVERING or MASTER; *whom is the one that it is
 * about, or -1.
 */
enum election_event election_judge(const struct election *e, const struct wire_sm_info *others,
				   unsigned count, int *whom);
/* STANDBY begins: whom it polls. */
void election_follow(struct election *e, const struct wire_sm_info *master, uint64_t now_us);
/* A poll is over; info NULL = no answer. */
enum election_event election_polled(struct election *e, const struct wire_sm_info *info,
				    unsigned retries, uint64_t now_us);
/* What the table has for an event in the present state; takes no step. */
struct election_step election_step(const struct election *e, enum election_event event);
/* Takes the step. */
enum election_action election_take(struct election *e, enum election_event event);
/* The configuration was read again. */
void election_configure(struct election *e, uint8_t priority, uint8_t master_priority,
			uint64_t sm_key, uint64_t old_sm_key);
/* That is ours, or the one of before. */
bool election_key_is_ours(const struct election *e, uint64_t sm_key);
/* Whom an operator's wish would make master: that standby, or the highest (whom 0); -1 = nobody. */
int election_handover_peer(const struct election *e, const struct wire_sm_info *others,
			   unsigned count, guid_t whom);

/* ---- Which control packets of other subnet managers are obeyed: Set(SMInfo), IBA 14.4.1 ------ */

/*
 * Decides only: no I/O, no clock.
 *
 * The standard's only protection is the SM_Key, and the usual one is public: the root user of any
 * host can send these. So a packet is obeyed only where the managers' own answers to Get(SMInfo)
 * bear it out, and one that makes a MASTER, or one that does not know who is, restart no more
 * than once in CONTROL_PAUSE_US:
 *
 *   HANDOVER  MASTER       of one whose latest answer reports that it is master, too
 *             STANDBY      of the master that is polled, when it shows a lower rank than ours, or
 *                          priority 0. A lower rank is why any master hands over (IBA 14.4.1.5);
 *                          one that does so by an operator's wish shows priority 0
 *             DISCOVERING  of anyone
 *   DISABLE   STANDBY      of the master that is polled
 *   DISCOVER  STANDBY      of the master that is polled
 */

#define CONTROL_PAUSE_US 10000000ull

struct control {
	uint32_t number;		   /* the attribute's modifier */
	const struct wire_sm_info *sender; /* as the packet has it */
	/* What the manager of that GUID last answered to a Get; NULL = it never did. */
	const struct wire_sm_info *known;
	uint64_t now_us;
};

enum control_verdict {
	CONTROL_OBEYED,
	CONTROL_REFUSED,
	/*
	 * Not borne out, but what is known may be old: the other managers are asked, and then it is
	 * judged again. One that is doubted still is not answered.
	 */
	CONTROL_DOUBTED,
};

/* Takes no step. *event: of one that is obeyed; *why: a literal, for the others. */
enum control_verdict control_judge(const struct election *e, const struct control *control,
				   enum election_event *event, const char **why);
/* It was obeyed: the step that it leads to is about to be taken. */
void control_obeyed(struct election *e, enum election_event event, uint64_t now_us);
