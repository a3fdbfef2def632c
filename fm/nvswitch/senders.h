/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * senders: the senders of kernel logs: their addresses, how many of their lines were of use, and
 * whether they are allowed.
 *
 * A configured list of addresses is exact. Without one, a sender with a known address is allowed:
 * this machine's own, one at which an exporter answered, one in a list of hosts, or one that the
 * system's resolver gives for the host whose log it claims to send.
 *
 * The table has room for SENDERS_MAX senders, so forged source addresses do not make it grow.
 */
#ifndef FMD_NVSWITCH_SENDERS_H
#define FMD_NVSWITCH_SENDERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define SENDERS_MAX 4096
#define SENDER_NAME 64

struct sender_address {
	uint8_t bytes[16]; /* IPv6; IPv4 as ::ffff:a.b.c.d */
};
struct sender_prefix {
	struct sender_address address;
	uint8_t bits; /* 0..128 */
};
/* Copies the address of an AF_INET or AF_INET6 socket address; all zero for other families. */
void sender_address_of(struct sender_address *to, const struct sockaddr *from);
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
};

/*
 * Sets the configured list: addresses and ADDRESS/BITS, blanks or commas between them; "any" for
 * all; "" = no list. Returns false, and the wrong word in err, with nothing changed.
 */
bool senders_allow(struct senders *s, const char *list, char *err, size_t err_size);
/*
 * Known addresses: forgets all; adds one, if it is new; adds one from a text, unless that is no
 * address; adds this machine's.
 */
void senders_forget_known(struct senders *s);
void senders_know(struct senders *s, const struct sender_address *address);
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

#endif
