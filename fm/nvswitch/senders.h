/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * senders: who sends kernel logs: from where, how much of it was of use, and whether he may.
 *
 * A configured list of addresses is exact. Without one, a sender may whose address is known: this
 * machine's own, one at which an exporter answered or that a list of hosts has, or, asked of the
 * system's resolver when his first line comes, one of the host whose log he claims to send.
 *
 * The table has room for SENDERS_MAX and what is said in a thousand forged names is counted in it
 * and nowhere else.
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
void sender_address_of(struct sender_address *to, const struct sockaddr *from);
/* "10.0.0.5", "fd00::5": false = neither. */
bool sender_address_parse(struct sender_address *to, const char *text);

enum sender_verdict {
	SENDER_NEW,	/* not decided */
	SENDER_ASKED,	/* the resolver was asked */
	SENDER_ALLOWED, /* his address is known */
	SENDER_LISTED,	/* .. or configured */
	SENDER_REFUSED,
};
struct sender {
	bool used;
	uint8_t verdict;
	char name[SENDER_NAME]; /* his address, or what he is: "kmsg" */
	struct sender_address address;
	uint64_t heard_us, decided_us;
	uint64_t understood; /* lines about NVLinks */
	uint64_t ignored;    /* .. about something else */
	uint64_t malformed;  /* .. without a header that is known */
	uint64_t refused;    /* .. that were not read: he may not */
};

struct senders {
	struct sender *table;  /* [SENDERS_MAX], made with the first */
	struct sender devices; /* without an address: kmsg, the unix socket */
	bool listed;	       /* there is a configured list */
	struct sender_prefix *allow;
	unsigned nallow;
	struct sender_address *known;
	unsigned nknown;
	struct sender gone; /* the counts of those that made room */
};

/*
 * The configured list: addresses and ADDRESS/BITS, blanks or commas between them; "any" for all; ""
 * = no list. Returns false, and the wrong word in err, with nothing changed.
 */
bool senders_allow(struct senders *s, const char *list, char *err, size_t err_size);
void senders_forget_known(struct senders *s);
void senders_know(struct senders *s,
		  const struct sender_address *address);     /* once more is nothing */
void senders_know_text(struct senders *s, const char *text); /* that is no address: nothing */
void senders_know_own(struct senders *s);		     /* this machine's */
void senders_fini(struct senders *s);

/*
 * Whoever has this address, decided as far as lists and known addresses go; valid until the next
 * call. now_us: the loop's.
 */
struct sender *senders_find(struct senders *s, const struct sender_address *address,
			    uint64_t now_us);
static inline bool sender_may(const struct sender *sender)
{
	return sender->verdict == SENDER_ALLOWED || sender->verdict == SENDER_LISTED;
}

/* A row a sender, those with the most lines that could not be used first; totals. */
json_t *senders_json(const struct senders *s, uint64_t now_us);
json_t *senders_totals(const struct senders *s);
/* Up to `most` senders with malformed or refused lines: name, how many. */
json_t *senders_worst(const struct senders *s, unsigned most);

#endif
