/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The key that makes a request to the SA a trusted one (SM_Key of the SA header, IBA 15.2.1.1).
 *
 * This key is not `sm_key`, which subnet managers show one another. Its default is 1, as OpenSM's,
 * so everybody knows it. Where the site protects its fabric by keys of its own (m_key, or another
 * sm_key) and sets no `sa_key`, fmd makes a random key and keeps it in state_dir, because the
 * default must not make a request trusted there. Several managers need the same key: the site then
 * sets it on all of them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>
#include "fm/core/log.h"
#include "fm/sa/module_own.h"

#define KNOWN_TO_ALL 1ull

static unsigned read_key(void *arg, FILE *in)
{
	struct sa_key *k = arg;
	uint64_t key;
	int first = fgetc(in);
	char end;

	if (first == EOF)
		return 0; /* as the copy of a master has it that made none */
	ungetc(first, in);
	if (fscanf(in, "0x%" SCNx64 "%c", &key, &end) != 2 || end != '\n' || key <= KNOWN_TO_ALL)
		return 1;
	k->made = key;
	return 0;
}

static void forget_key(void *arg)
{
	struct sa_key *k = arg;

	k->made = 0;
}

static void write_key(const void *arg, FILE *out)
{
	const struct sa_key *k = arg;

	fprintf(out, "0x%016" PRIx64 "\n", k->made);
}

static const struct state_file key_file = {
	.name = "sa_key",
	.small = true,
	.form = "a key",
	.read = read_key,
	.forget = forget_key,
	.write = write_key,
};

static void make_key(struct sa_key *k, const struct fabric_services *services)
{
	do
		if (getentropy(&k->made, sizeof(k->made)))
			abort(); /* no kernel that runs this lacks it */
	while (k->made <= KNOWN_TO_ALL);
	log_line(LOG_SA, LOG_NOTICE,
		 "sa_key is not set, but m_key or sm_key is: generated an sa_key in %s/sa_key; "
		 "with several managers, set the same sa_key in all",
		 services->conf->state_dir);
	state_store_changed(services->state, &key_file, k);
}

uint64_t sa_key_get(struct sa_key *k, const struct fabric_services *services)
{
	const struct conf *conf = services->conf;

	if (conf->sa.key)
		return conf->sa.key;
	if (!conf->sm.mkey && !conf->sm.mkey_secret.set && conf->sm.key == KNOWN_TO_ALL)
		return KNOWN_TO_ALL;
	if (!k->made)
		state_store_read(services->state, &key_file, k);
	if (!k->made)
		make_key(k, services);
	return k->made;
}
