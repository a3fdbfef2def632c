/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * logs: kernel logs: their senders, the servers that receive them, and the intake that assigns them
 * to hosts.
 *
 * Of senders: their addresses, how many of their lines were of use, and
 * whether they are allowed.
 *
 * A configured list of addresses is exact. Without one, a sender with a known address is allowed:
 * this machine's own, one at which an exporter answered, one in a list of hosts, or one that the
 * system's resolver gives for the host whose log it claims to send.
 *
 * The table has room for SENDERS_MAX senders, so forged source addresses do not make it grow.
 */
#ifndef FMD_NVSWITCH_INTAKE_LOGS_H
#define FMD_NVSWITCH_INTAKE_LOGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include "fm/loop/loop.h"
#include "fm/nvswitch/evidence_sxid.h"

#define SENDERS_MAX 4096
#define SENDER_NAME 64

struct sender_address {
	uint8_t bytes[16]; /* IPv6; IPv4 as ::ffff:a.b.c.d */
};
struct sender_prefix {
	struct sender_address address;
	uint8_t bits; /* 0..128 */
};
/* Reads "10.0.0.5" or "fd00::5"; false = the text is neither. */
bool sender_address_parse(struct sender_address *to, const char *text);

enum sender_verdict {
	SENDER_NEW,	/* not decided */
	SENDER_ASKED,	/* the resolver was asked */
	SENDER_ALLOWED, /* its address is known */
	SENDER_LISTED,	/* its address is in the configured list */
	SENDER_REFUSED,
};
struct sender {
	bool used;
	uint8_t verdict;
	char name[SENDER_NAME]; /* its address, or its kind: "kmsg" */
	struct sender_address address;
	uint64_t heard_us, decided_us;
	uint64_t understood; /* lines about NVLinks */
	uint64_t ignored;    /* lines about something else */
	uint64_t malformed;  /* lines without a known header */
	uint64_t refused;    /* lines that were not read, as the sender is not allowed */
};

struct senders {
	struct sender *table;  /* [SENDERS_MAX], made with the first sender */
	struct sender devices; /* without an address: kmsg, the unix socket */
	bool listed;	       /* there is a configured list */
	struct sender_prefix *allow;
	unsigned nallow;
	struct sender_address *known;
	unsigned nknown;
	struct sender gone; /* the counts of senders whose rows were reused */
	uint64_t unknown;   /* lines about NVLinks of hosts that the fabric does not have */
};

/*
 * Sets the configured list: addresses and ADDRESS/BITS, blanks or commas between them; "any" for
 * all; "" = no list. Returns false, and the wrong word in err, with nothing changed.
 */
bool senders_allow(struct senders *s, const char *list, char *err, size_t err_size);
/*
 * Known addresses: forgets all but this machine's; adds one from a text, unless that is no address.
 */
void senders_know_text(struct senders *s, const char *text);
void senders_know_own(struct senders *s);
/* Frees what `s` holds. A zeroed struct has no senders. */
void senders_fini(struct senders *s);

/*
 * The row of an address, made if it is new and judged by the list and the known addresses; owned by
 * `s`, valid until the next call. now_us: the loop's time.
 */
struct sender *senders_find(struct senders *s, const struct sender_address *address,
			    uint64_t now_us);

/* Whether lines of a sender are read. */
static inline bool sender_may(const struct sender *sender)
{
	return sender->verdict == SENDER_ALLOWED || sender->verdict == SENDER_LISTED;
}

/*
 * New documents, which the caller owns: a row for each sender, those with the most unusable lines
 * first; the totals; up to `most` senders with malformed or refused lines, each with its name and
 * their number.
 */
json_t *senders_json(const struct senders *s, uint64_t now_us);
json_t *senders_totals(const struct senders *s);
json_t *senders_worst(const struct senders *s, unsigned most);

/* ---- Log server ------------------------------------------------------------------------------ */

/*
 * One socket or file from which kernel logs are read: syslog by UDP, by TCP, journald's
 * records or syslog by a unix socket, or a local kmsg. Lines that are not about NVLinks are dropped
 * at once, so nothing here grows with what is sent. Each line is counted for its sender
 * (struct senders); lines of senders that are not allowed are not read.
 */

struct log_server_ops {
	/*
	 * Takes a line about NVLinks. host: the name in the line, else the sender's address; "" =
	 * this machine.
	 */
	void (*event)(void *arg, const char *host, const struct sxid_event *event);
	/*
	 * Takes a line of a sender that is neither allowed nor refused yet; host as in event(),
	 * event NULL = the line is about something else. False: the line counts as refused.
	 */
	bool (*undecided)(void *arg, struct sender *sender, const char *host,
			  const struct sxid_event *event);
	/* A line came from a sender that is refused. */
	void (*refused)(void *arg, const struct sender *sender);
};

struct log_server;

enum log_server_kind {
	LOG_SERVER_UDP,
	LOG_SERVER_TCP,
	LOG_SERVER_KMSG,
	LOG_SERVER_UNIX,
	LOG_SERVER_KINDS
};

/*
 * Opens a server at `where`: "ADDRESS:PORT", or a path for kmsg and the unix socket. The caller
 * owns it; loop, senders and ops are borrowed until it is freed (NULL is fine). Returns NULL with
 * the reason in err.
 */
struct log_server *log_server_new(struct loop *loop, enum log_server_kind kind, const char *where,
				  struct senders *senders, const struct log_server_ops *ops,
				  void *arg, char *err, size_t err_size);
void log_server_free(struct log_server *server);

struct log_server_stats {
	uint64_t lines, events, bad; /* bad: without a known header */
	unsigned connections, refused;
};
/* What the server has counted since it was opened. */
struct log_server_stats log_server_stats(const struct log_server *server);

/* ---- Assigns lines of kernel logs to the hosts that they are about --------------------------- */

/*
 * All log servers share
 * one. It counts lines by sender, and asks the system's resolver whether a sender with an unknown
 * address may send for the host that its line names.
 */

struct source_home;
struct log_intake;

/* The caller owns it; `home` is borrowed until log_intake_free(), for which NULL is fine. */
struct log_intake *log_intake_new(struct source_home *home);
void log_intake_free(struct log_intake *intake);

extern const struct log_server_ops log_intake_ops; /* arg: the intake */

/* The table of senders, owned by the intake. */
struct senders *log_intake_senders(struct log_intake *intake);

#endif
