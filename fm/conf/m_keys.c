/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Keys that were derived are kept in a table that is direct-mapped by GUID: each SMP asks for one.
 */
#include <ctype.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/stat.h>
#include "fm/conf/m_keys.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define DERIVED	   65536 /* slots: four for each port of the largest fabric */
#define DIGEST	   32
#define ONE_OF_ALL 0 /* in place of a GUID */

struct derived {
	guid_t guid; /* 0 = not used */
	uint64_t key, old;
};

struct remembered {
	guid_t guid; /* 0 = not used */
	uint64_t key;
};

struct m_keys {
	struct m_key_conf conf;
	uint64_t of_all, old_of_all; /* derived with ONE_OF_ALL; 0 = there is no secret */
	struct derived *derived;     /* NULL = there is no secret */
	struct remembered *known;    /* open addressing, at most half full */
	uint32_t nknown, capacity;   /* used; a power of 2, or 0 */
};

/* ---- Secrets --------------------------------------------------------------------------------- */

static const char *take_secret(FILE *in, struct m_key_secret *secret)
{
	uint8_t bytes[M_KEY_SECRET_MOST + 1];
	size_t length = fread(bytes, 1, sizeof(bytes), in);

	if (length > M_KEY_SECRET_MOST)
		return "is longer than 1024 bytes";
	while (length && isspace(bytes[length - 1]))
		length--;
	if (length < M_KEY_SECRET_LEAST)
		return "has less than 16 bytes";
	*secret = (struct m_key_secret){ .set = true, .length = length };
	memcpy(secret->bytes, bytes, length);
	OPENSSL_cleanse(bytes, sizeof(bytes));
	return NULL;
}

const char *m_key_secret_read(const char *path, struct m_key_secret *secret)
{
	FILE *in = fopen(path, "re");
	const char *why;
	struct stat st;

	if (!in)
		return "cannot be read";
	if (fstat(fileno(in), &st) || !S_ISREG(st.st_mode))
		why = "is not a regular file";
	else if (st.st_mode & (S_IRWXG | S_IRWXO))
		why = "is accessible to others than its owner: chmod 0600";
	else
		why = take_secret(in, secret);
	fclose(in);
	return why;
}

static bool same_secret(const struct m_key_secret *a, const struct m_key_secret *b)
{
	return a->set && b->set && a->length == b->length && !memcmp(a->bytes, b->bytes, a->length);
}

static void hmac(const void *key, size_t length, const void *text, size_t size,
		 uint8_t digest[DIGEST])
{
	unsigned written = DIGEST;

	if (!HMAC(EVP_sha256(), key, length, text, size, digest, &written))
		abort(); /* no libcrypto lacks it */
}

static void put_be64(uint64_t value, uint8_t bytes[8])
{
	for (int i = 7; i >= 0; i--, value >>= 8)
		bytes[i] = value;
}

/* 0 means no key: where a hash gives 0, the key is 1. */
static uint64_t derive(const struct m_key_secret *secret, guid_t guid)
{
	uint8_t digest[DIGEST], text[8];
	uint64_t key = 0;

	put_be64(guid, text);
	hmac(secret->bytes, secret->length, text, sizeof(text), digest);
	for (int i = 0; i < 8; i++)
		key = key << 8 | digest[i];
	return key ? key : 1;
}

/* ---- Configurations -------------------------------------------------------------------------- */

bool m_key_conf_any(const struct m_key_conf *conf)
{
	return conf->key || conf->secret.set;
}

bool m_key_conf_knows(const struct m_key_conf *next, const struct m_key_conf *now)
{
	if (now->secret.set)
		return same_secret(&next->old_secret, &now->secret) ||
		       (same_secret(&next->secret, &now->secret) &&
			next->per_port == now->per_port);
	return !now->key || now->key == next->old_key ||
	       (now->key == next->key && !next->secret.set);
}

/* ---- Keys of ports --------------------------------------------------------------------------- */

static struct derived derived_of(const struct m_keys *k, guid_t guid)
{
	struct derived *slot = &k->derived[hash_word(guid) % DERIVED];

	if (slot->guid != guid)
		*slot = (struct derived){
			.guid = guid,
			.key = k->conf.secret.set ? derive(&k->conf.secret, guid) : 0,
			.old = k->conf.old_secret.set ? derive(&k->conf.old_secret, guid) : 0,
		};
	return *slot;
}

uint64_t m_keys_wanted(const struct m_keys *k, guid_t guid)
{
	if (!k || !k->conf.secret.set)
		return k ? k->conf.key : 0;
	return k->conf.per_port ? derived_of(k, guid).key : k->of_all;
}

static unsigned add(uint64_t list[M_KEYS_MOST], unsigned count, uint64_t key)
{
	for (unsigned i = 0; i < count; i++)
		if (list[i] == key)
			return count;
	if (key)
		list[count++] = key;
	return count;
}

unsigned m_keys_of(const struct m_keys *k, guid_t guid, uint64_t list[M_KEYS_MOST])
{
	unsigned count = 1;

	list[0] = m_keys_wanted(k, guid);
	if (!k)
		return 1;
	if (k->conf.old_secret.set) {
		count = add(list, count, derived_of(k, guid).old);
		count = add(list, count, k->old_of_all);
	}
	count = add(list, count, k->conf.old_key);
	/* Without any the fabric is to be left as it is. */
	return list[0] || m_keys_change(k) ? add(list, count, m_keys_remembered(k, guid)) : count;
}

bool m_keys_may_be(const struct m_keys *k, guid_t guid, uint64_t key)
{
	uint64_t list[M_KEYS_MOST];
	unsigned count = m_keys_of(k, guid, list);

	return any_of(i, 0, count, list[i] == key);
}

bool m_keys_change(const struct m_keys *k)
{
	return k->conf.old_secret.set || k->conf.old_key;
}

/* ---- Keys that were seen --------------------------------------------------------------------- */

/* Its slot, or the free one where it belongs. */
static struct remembered *slot_of(const struct m_keys *k, guid_t guid)
{
	uint32_t i = hash_word(guid) & (k->capacity - 1);

	while (k->known[i].guid && k->known[i].guid != guid)
		i = (i + 1) & (k->capacity - 1);
	return &k->known[i];
}

static void clear_known(struct remembered *known, uint32_t capacity)
{
	if (known)
		OPENSSL_cleanse(known, capacity * sizeof(*known));
	free(known);
}

bool m_keys_remember(struct m_keys *k, guid_t guid, uint64_t key)
{
	struct remembered *before = k->known, *slot;
	uint32_t capacity = k->capacity;

	if (!guid || m_keys_remembered(k, guid) == key)
		return false;
	if (2 * (k->nknown + 1) > capacity) {
		k->capacity = capacity ? 2 * capacity : 64;
		k->known = mem_array(k->known, k->capacity);
		for (uint32_t i = 0; i < capacity; i++)
			if (before[i].guid)
				*slot_of(k, before[i].guid) = before[i];
		clear_known(before, capacity);
	}
	slot = slot_of(k, guid);
	k->nknown += !slot->guid;
	*slot = (struct remembered){ guid, key };
	return true;
}

uint64_t m_keys_remembered(const struct m_keys *k, guid_t guid)
{
	return k->capacity && guid ? slot_of(k, guid)->key : 0;
}

uint64_t m_keys_each(const struct m_keys *k, uint64_t from, unsigned count,
		     void (*fn)(void *arg, guid_t guid, uint64_t key), void *arg)
{
	for (; from < k->capacity && count--; from++)
		if (k->known[from].key)
			fn(arg, k->known[from].guid, k->known[from].key);
	return from < k->capacity ? from : 0;
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct m_keys *m_keys_new(void)
{
	return mem_alloc(1, sizeof(struct m_keys));
}

/* No key stays in memory that is given back. */
static void clear_derived(struct m_keys *k)
{
	if (k->derived)
		OPENSSL_cleanse(k->derived, DERIVED * sizeof(*k->derived));
	free(k->derived);
}

void m_keys_free(struct m_keys *k)
{
	if (!k)
		return;
	clear_derived(k);
	clear_known(k->known, k->capacity);
	OPENSSL_cleanse(k, sizeof(*k));
	free(k);
}

void m_keys_configure(struct m_keys *k, const struct m_key_conf *conf)
{
	k->conf = *conf;
	clear_derived(k);
	k->derived =
		conf->secret.set || conf->old_secret.set ? mem_array(k->derived, DERIVED) : NULL;
	k->of_all = conf->secret.set ? derive(&conf->secret, ONE_OF_ALL) : 0;
	k->old_of_all = conf->old_secret.set ? derive(&conf->old_secret, ONE_OF_ALL) : 0;
}

const struct m_key_conf *m_keys_conf(const struct m_keys *k)
{
	return &k->conf;
}

/* ---- Proofs ---------------------------------------------------------------------------------- */

static void prove(struct m_key_proofs *proofs, const char *form, const char *kind,
		  const void *secret, size_t length, const uint8_t session[M_KEY_SESSION])
{
	char *text = proofs->text[proofs->count++];
	uint8_t message[8 + M_KEY_SESSION] = { 0 }, digest[DIGEST];

	memcpy(message, kind, strnlen(kind, 8));
	memcpy(message + 8, session, M_KEY_SESSION);
	hmac(secret, length, message, sizeof(message), digest);

	int at = snprintf(text, sizeof(proofs->text[0]), "%s:", form);

	for (unsigned i = 0; i < DIGEST; i++)
		at += snprintf(text + at, sizeof(proofs->text[0]) - at, "%02x", digest[i]);
}

static void prove_key(struct m_key_proofs *proofs, const char *form, uint64_t key,
		      const uint8_t session[M_KEY_SESSION])
{
	uint8_t bytes[8];

	put_be64(key, bytes);
	if (key)
		prove(proofs, form, "key", bytes, sizeof(bytes), session);
}

void m_key_prove(const struct m_key_conf *conf, const uint8_t session[M_KEY_SESSION],
		 struct m_key_proofs *proofs)
{
	*proofs = (struct m_key_proofs){ .gives = m_key_conf_any(conf) };
	if (conf->secret.set)
		prove(proofs, conf->per_port ? "port" : "all", "secret", conf->secret.bytes,
		      conf->secret.length, session);
	else
		prove_key(proofs, "all", conf->key, session);
	if (conf->old_secret.set)
		prove(proofs, "any", "secret", conf->old_secret.bytes, conf->old_secret.length,
		      session);
	prove_key(proofs, "any", conf->old_key, session);
}

/*
 * What `a` gives to ports is known to `b`: a digest is the same, and so is FORM, or one of the two
 * is of before, for that is known in both forms.
 */
static bool knows(const struct m_key_proofs *b, const struct m_key_proofs *a)
{
	const char *mine = a->text[0], *digest = strchr(mine, ':');

	for (unsigned i = 0; a->gives && digest && i < b->count; i++) {
		const char *theirs = b->text[i], *at = strchr(theirs, ':');

		if (at && !strcmp(digest, at) &&
		    (!strcmp(mine, theirs) || !strncmp(mine, "any:", 4) ||
		     !strncmp(theirs, "any:", 4)))
			return true;
	}
	return !a->gives;
}

bool m_key_proofs_agree(const struct m_key_proofs *a, const struct m_key_proofs *b)
{
	return knows(a, b) && knows(b, a);
}
