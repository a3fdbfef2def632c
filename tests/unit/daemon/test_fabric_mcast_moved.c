/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A tenant of many hosts gives some of them to another one. As Linux does, a host forgets its
 * memberships without a Delete when its P_Key table is written, and joins in the new partition. One
 * second later no membership of the old one is left, neither in the SA nor in a switch, and each
 * host is in all its groups. HOSTS=1000 in the environment: with so many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_mcast_world.h"

#define A_LEAF	20
#define SPINES	10
#define TENANTS 2
#define STEP_US 5000
#define QKEY	0xb1b
#define IPV4	0xff12401b00000000ull
#define IPV6	0xff12601b00000000ull

enum group { EVERYBODY, BROADCAST, ALL_NODES, OWN, MEMBERSHIPS };

struct member_host {
	guid_t node, port;
	unsigned tenant, asked, answered, refused;
	uint16_t mlid[MEMBERSHIPS];
	uint64_t due_us; /* the next try of what is not answered */
};

struct site {
	struct world w;
	struct member_host *hosts;
	unsigned n, moves;
};

static const uint16_t pkeys[TENANTS] = { 0x8005, 0x8006 };

static void heard(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct member_host *h = arg;
	struct wire_mcmember rec;

	wire_mcmember_decode(mad + WIRE_SA_HEADER, &rec);
	if (mad[4] << 8 | mad[5]) {
		h->refused++;
		return;
	}
	h->answered |= 1u << (mad[15] & 3);
	h->mlid[mad[15] & 3] = rec.mlid;
}

static struct wire_gid mgid_of(const struct member_host *h, enum group group)
{
	const uint64_t pkey = (uint64_t)pkeys[h->tenant] << 16;

	switch (group) {
	case EVERYBODY:
		return (struct wire_gid){ IPV4 | 0xffffull << 16, 0xffffffff };
	case BROADCAST:
		return (struct wire_gid){ IPV4 | pkey, 0xffffffff };
	case ALL_NODES:
		return (struct wire_gid){ IPV6 | pkey, 1 };
	default: /* IPv6's solicited node */
		return (struct wire_gid){ IPV6 | pkey, 0x1ff000000 | (h->port >> 8 & 0xffffff) };
	}
}

static void ask_to_join(struct site *s, struct member_host *h, enum group group)
{
	const struct wire_mcmember rec = {
		.mgid = mgid_of(h, group),
		.port_gid = { s->w.conf.sm.subnet_prefix, h->port },
		.qkey = QKEY,
		.pkey = group == EVERYBODY ? 0xffff : pkeys[h->tenant],
		.join_state = WIRE_JOIN_FULL,
		.mtu_sel = WIRE_EXACT,
		.mtu = 4,
		.rate_sel = WIRE_EXACT,
		.rate = 3,
	};

	send_member(&s->w, h->node, 0x100 | group, WIRE_SET, &rec, heard, h);
}

static bool has_key(const struct site *s, const struct member_host *h)
{
	unsigned count;
	const uint16_t *table = double_pkeys(s->w.hw, h->node, 1, &count);

	for (unsigned i = 0; table && i < count; i++)
		if (table[i] == pkeys[h->tenant])
			return true;
	return false;
}

/* What is not answered is asked, and 100 ms later again, once the port has the P_Key. */
static void hosts_act(struct site *s, uint64_t us)
{
	for (uint64_t end = loop_now_us(s->w.loop) + us; loop_now_us(s->w.loop) < end;) {
		for (unsigned i = 0; i < s->n; i++) {
			struct member_host *h = &s->hosts[i];

			if (h->answered == (1u << MEMBERSHIPS) - 1 || !has_key(s, h) ||
			    loop_now_us(s->w.loop) < h->due_us)
				continue;
			h->due_us = loop_now_us(s->w.loop) + 100000;
			for (unsigned g = 0; g < MEMBERSHIPS; g++)
				if (!(h->answered >> g & 1))
					ask_to_join(s, h, g);
		}
		run_for(&s->w, STEP_US);
	}
}

static void tenants_are(struct site *s)
{
	FILE *out = fopen(s->w.conf.partition.file, "w");

	assert_non_null(out);
	fprintf(out, "Default=0x7fff, ipoib: ALL=full;\n");
	for (unsigned t = 0; t < TENANTS; t++) {
		fprintf(out, "tenant%u=0x%x, ipoib, defmember=full: SELF", t, pkeys[t] & 0x7fff);
		for (unsigned i = 0; i < s->n; i++)
			if (s->hosts[i].tenant == t)
				fprintf(out, ", 0x%llx", (unsigned long long)s->hosts[i].port);
		fprintf(out, ";\n");
	}
	fclose(out);
	fabric_configure(s->w.fabric, &s->w.conf);
}

static void site_init(struct site *s)
{
	const unsigned hosts = getenv("HOSTS") ? (unsigned)atoi(getenv("HOSTS")) : 200;
	const unsigned m[] = { A_LEAF, hosts / A_LEAF }, w[] = { 1, SPINES }, p[] = { 1, 1 };
	struct topo *design;
	char err[256];

	*s = (struct site){ .n = hosts - 1, .moves = hosts * 6 / 100 };
	design = generate_pgft(2, m, w, p, err, sizeof(err));
	for (uint32_t sw = 0; sw < design->nswitches; sw++) /* room as for 1,024 at 1,000 hosts */
		((struct topo_node *)design->nodes)[sw].mft_cap = (uint16_t)(hosts / 32 * 32 + 32);
	world_init(&s->w, design);
	snprintf(s->w.conf.partition.file, sizeof(s->w.conf.partition.file), "%s/partitions.conf",
		 s->w.state_dir);
	s->hosts = mem_alloc(s->n, sizeof(*s->hosts));
	for (unsigned i = 0; i < s->n; i++) /* the first host is where fmd runs */
		s->hosts[i] = (struct member_host){ .node = node_of(&s->w, i + 1),
						    .port = port_of(&s->w, i + 1),
						    .tenant = i % TENANTS };
	tenants_are(s);
}

/* Entries of leaves for hosts, beside what hosts believe: [0] too many, [1] missing. */
static void compare_leaves(const struct site *s, unsigned differ[2])
{
	const unsigned room = (unsigned)status_number(&s->w, "multicast", "mlids_room");

	for (unsigned i = 0; i < s->n; i++) {
		const struct member_host *h = &s->hosts[i];
		const struct topo_port *port =
			topo_port(s->w.design, topo_find(s->w.design, h->node), 1);
		const struct topo_port *leaf = topo_peer(s->w.design, port);

		for (unsigned mlid = MCAST_FIRST_MLID; mlid < MCAST_FIRST_MLID + room; mlid++) {
			bool held = double_mft(s->w.hw, s->w.design->nodes[leaf->node].guid,
					       (uint16_t)mlid, leaf->num);
			bool joined = false;

			for (unsigned g = 0; g < MEMBERSHIPS; g++)
				joined |= h->mlid[g] == mlid;
			if (held != joined)
				differ[joined]++;
		}
	}
}

struct found {
	unsigned members, partial, refused, too_many, missing;
};

static struct found look(const struct site *s)
{
	struct found f = { .members = (unsigned)status_number(&s->w, "multicast", "members") };
	unsigned differ[2] = { 0 };

	compare_leaves(s, differ);
	f.too_many = differ[0];
	f.missing = differ[1];
	for (unsigned i = 0; i < s->n; i++) {
		f.partial += s->hosts[i].answered != (1u << MEMBERSHIPS) - 1;
		f.refused += s->hosts[i].refused;
	}
	return f;
}

static bool is_whole(const struct site *s, const struct found *f)
{
	return f->members == s->n * MEMBERSHIPS && !f->partial && !f->too_many && !f->missing;
}

/* For a second, or some more; what is there then has to be whole. */
static void live_on(struct site *s, const char *when, unsigned seconds)
{
	const uint64_t begun_us = loop_now_us(s->w.loop);
	uint64_t whole_us = 0;
	struct found f;

	for (unsigned i = 0; i < seconds * 20; i++) {
		hosts_act(s, SECOND_US / 20);
		f = look(s);
		if (!is_whole(s, &f))
			whole_us = 0;
		else if (!whole_us)
			whole_us = loop_now_us(s->w.loop) - begun_us;
	}
	print_message(
		"%s, %u hosts: whole within %u ms; then %u members for %u, %u MLIDs of %u, %u "
		"hosts not whole, %u joins refused, leaves' entries: %u too many, %u missing\n",
		when, s->n + 1, (unsigned)(whole_us / 1000), f.members, s->n * MEMBERSHIPS,
		(unsigned)status_number(&s->w, "multicast", "mlids"),
		(unsigned)status_number(&s->w, "multicast", "mlids_room"), f.partial, f.refused,
		f.too_many, f.missing);
	assert_int_equal(f.members, s->n * MEMBERSHIPS);
	assert_int_equal(f.partial, 0);
	assert_int_equal(f.too_many, 0);
	assert_int_equal(f.missing, 0);
}

static void hosts_that_change_their_tenant_leave_no_ghost(void **state)
{
	struct site s;

	site_init(&s);
	log_set_level(LOG_SA, LOG_ERR - 1);
	live_on(&s, "joined", 3);
	for (unsigned i = 0; i < s.moves; i++) {
		struct member_host *h = &s.hosts[i * s.n / s.moves / TENANTS * TENANTS];

		h->tenant = 1;
		h->answered = 1u << EVERYBODY;
	}
	tenants_are(&s);
	live_on(&s, "moved", 1);
	unlink(s.w.conf.partition.file);
	free(s.hosts);
	world_fini(&s.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_that_change_their_tenant_leave_no_ghost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
