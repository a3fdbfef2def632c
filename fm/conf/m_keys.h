/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * m_keys: which M_Key a port is to hold (IBA 14.2.4), and which others it may hold.
 *
 * The key is one of all ports, or derived from a secret: the first 8 bytes, big-endian, of
 * HMAC-SHA256 (RFC 2104) over the 8 bytes of a GUID, big-endian, under the secret. The GUID is that
 * of the port, a switch's that of the node; 0 where all ports are to have one key.
 */
#pragma once

#include "topology/snapshot/topo.h"

/* Bytes of a secret file, without white space at its end. */
#define M_KEY_SECRET_LEAST 16
#define M_KEY_SECRET_MOST  1024
#define M_KEYS_MOST	   5  /* that a port may hold */
#define M_KEY_LEASE_LEAST  30 /* seconds; a shorter lease could not be renewed in time */

struct m_key_secret {
	bool set;
	uint16_t length;
	uint8_t bytes[M_KEY_SECRET_MOST];
};

/* All zero: ports hold no key. */
struct m_key_conf {
	uint64_t key, old_key;			/* of all ports; 0 = none */
	struct m_key_secret secret, old_secret; /* if `secret` is set, `key` does not count */
	bool per_port;				/* of `secret`; old_secret counts in both forms */
	uint8_t protect;			/* M_KeyProtectBits, 0..3 */
	uint16_t lease_s;			/* M_KeyLeasePeriod; 0 = protection never ends */
};

/* NULL, or what is wrong with that file; a literal. Nobody but its owner may have access to it. */
const char *m_key_secret_read(const char *path, struct m_key_secret *secret);
/* True: ports are to hold a key. */
bool m_key_conf_any(const struct m_key_conf *conf);
/* Whether `next` names all keys that ports were given under `now`. */
bool m_key_conf_knows(const struct m_key_conf *next, const struct m_key_conf *now);

struct m_keys;
/* The caller's, without keys; never NULL. Free overwrites secrets and keys; NULL is fine. */
struct m_keys *m_keys_new(void);
void m_keys_free(struct m_keys *keys);
/* Copies conf, secrets included. */
void m_keys_configure(struct m_keys *keys, const struct m_key_conf *conf);
/* That copy, valid as long as keys; all zero before the first m_keys_configure(). */
const struct m_key_conf *m_keys_conf(const struct m_keys *keys);

/*
 * The key that a port is to hold, 0 = none. Here and in the next two `keys` may be NULL: ports hold
 * none.
 */
uint64_t m_keys_wanted(const struct m_keys *keys, guid_t guid);
/* All that the port may hold, each once, the wanted one first; their number. None: 1, a 0. */
unsigned m_keys_of(const struct m_keys *keys, guid_t guid, uint64_t list[M_KEYS_MOST]);
/* True: m_keys_of() lists that key. */
bool m_keys_may_be(const struct m_keys *keys, guid_t guid, uint64_t key);
/* True: an old key is configured, so ports may hold another than the wanted one. */
bool m_keys_change(const struct m_keys *keys);

/*
 * What a port was known to hold last (guid2mkey): it may hold that still, where ports are to hold a
 * key or are to lose one. key 0 = none. True: that is news.
 */
bool m_keys_remember(struct m_keys *keys, guid_t guid, uint64_t key);
uint64_t m_keys_remembered(const struct m_keys *keys, guid_t guid); /* 0 = none */
/*
 * Calls fn for ports with a key that is remembered, in no order: so many places of the table from
 * one on. Returns the next place; 0 = that was all.
 */
uint64_t m_keys_each(const struct m_keys *keys, uint64_t from, unsigned count,
		     void (*fn)(void *arg, guid_t guid, uint64_t key), void *arg);

/* ---- How two managers compare what M_Keys they give to ports, without saying it -------------- */

/*
 * A proof is FORM:DIGEST. FORM says which ports have keys of it: "port" each its own, "all" the
 * same one, "any" one of these, of before. DIGEST is HMAC-SHA256 (RFC 2104), in hexadecimal, under
 * the secret, or under the 8 bytes of an m_key, big-endian, over a kind and the bytes of a session
 * that both ends have and nobody else has (TLS exporter, RFC 8446 7.5): it is of no use in another
 * session, nor to who only listens. Who is at the other end can try m_keys by it: they are those of
 * each host's port anyway. A secret file has 16 bytes at least.
 */

#define M_KEY_SESSION 32 /* bytes */
#define M_KEY_PROOFS  3	 /* the wanted one, an old secret, an old key */

struct m_key_proofs {
	unsigned count; /* 0 = no keys are known */
	bool gives;	/* the first is of what ports are to hold; else they are to hold none */
	char text[M_KEY_PROOFS][5 + 64 + 1];
};

/* What a manager says that has these keys, in that session. */
void m_key_prove(const struct m_key_conf *conf, const uint8_t session[M_KEY_SESSION],
		 struct m_key_proofs *proofs);
/* True: each of the two could take over from the other, for it has the keys that ports hold. */
bool m_key_proofs_agree(const struct m_key_proofs *a, const struct m_key_proofs *b);
