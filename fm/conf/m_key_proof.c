/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/conf/m_key_proof.h"
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST 32

static void add(struct m_key_proofs *proofs, const char *form, const char *kind, const void *secret,
		size_t length, const uint8_t session[M_KEY_SESSION])
{
	char *text = proofs->text[proofs->count++];
	uint8_t said[8 + M_KEY_SESSION] = { 0 }, digest[DIGEST];
	unsigned size = sizeof(digest);
	int at;

	memcpy(said, kind, strnlen(kind, 8));
	memcpy(said + 8, session, M_KEY_SESSION);
	if (!HMAC(EVP_sha256(), secret, (int)length, said, sizeof(said), digest, &size))
		abort(); /* no libcrypto lacks it */
	at = snprintf(text, sizeof(proofs->text[0]), "%s:", form);
	for (unsigned i = 0; i < DIGEST; i++)
		at += snprintf(text + at, sizeof(proofs->text[0]) - (size_t)at, "%02x", digest[i]);
}

static void add_secret(struct m_key_proofs *proofs, const char *form,
		       const struct m_key_secret *secret, const uint8_t session[M_KEY_SESSION])
{
	if (secret->set)
		add(proofs, form, "secret", secret->bytes, secret->length, session);
}

static void add_key(struct m_key_proofs *proofs, const char *form, uint64_t key,
		    const uint8_t session[M_KEY_SESSION])
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(key >> (56 - 8 * i));
	if (key)
		add(proofs, form, "key", bytes, sizeof(bytes), session);
}

void m_key_prove(const struct m_key_conf *conf, const uint8_t session[M_KEY_SESSION],
		 struct m_key_proofs *proofs)
{
	*proofs = (struct m_key_proofs){ .gives = m_key_conf_any(conf) };
	if (conf->secret.set)
		add_secret(proofs, conf->per_port ? "port" : "all", &conf->secret, session);
	else
		add_key(proofs, "all", conf->key, session);
	add_secret(proofs, "any", &conf->old_secret, session);
	add_key(proofs, "any", conf->old_key, session);
}

/* FORM is the same, or one is of before: that is known in both. */
static bool is_same(const char *a, const char *b)
{
	const char *end_a = strchr(a, ':'), *end_b = strchr(b, ':');

	if (!end_a || !end_b || strcmp(end_a, end_b) != 0)
		return false;
	return !strcmp(a, b) || !strncmp(a, "any:", 4) || !strncmp(b, "any:", 4);
}

/* What `a` gives to ports is known to `b`. */
static bool knows(const struct m_key_proofs *b, const struct m_key_proofs *a)
{
	for (unsigned i = 0; a->gives && i < b->count; i++)
		if (is_same(a->text[0], b->text[i]))
			return true;
	return !a->gives;
}

bool m_key_proofs_agree(const struct m_key_proofs *a, const struct m_key_proofs *b)
{
	return knows(a, b) && knows(b, a);
}
