/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * partition: reads OpenSM's partitions.conf, as people have it, into a set:
 *
 *   NAME = P_KEY , FLAG , FLAG = VALUE ..  :
 *       MEMBER = MEMBERSHIP , ..   mgid = MGID , FLAG = VALUE ..  ;
 *
 * A definition begins on one line, up to its colon; members may go on over many lines, to the
 * semicolon, and an mgid takes the rest of its line. Words may be cut short ("=limi"), as OpenSM
 * takes them. Definitions of one P_Key add up. A definition without a P_Key belongs to the
 * partition of its name, else gets the lowest number that none before it has.
 *
 * OpenSM passes over what it does not understand, or falls back to one open partition for all. Here
 * every such place is an error with its line: a tenant that lands in the wrong partition by a
 * typing error is found by the wrong people. Two more cases are refused for that reason: a P_Key
 * that was given out by number and is defined by hand later (OpenSM joins the two partitions), and
 * a number that does not fit 16 bits (OpenSM cuts it).
 *
 * On a snapshot the set comes to a map. Resolving goes partition by partition, in the order of
 * their P_Keys: the rules mark ports one after the other, so the last one holds, and what is marked
 * in the end is appended to one list of (port, key). A stable counting sort by port makes the map
 * of it, each port's keys in ascending order. That is linear in the memberships, whatever the
 * mixture of ALL and single GUIDs.
 *
 * Where two partitions want index 0 of a port's table, the one that the file names last has it.
 */
#include <errno.h>
#include <arpa/inet.h>
#include <sys/stat.h>
#include "fm/conf/partition.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"

#define BASES 0x8000

/* ---- Membership: one sorted row of P_Keys a port (IBA 10.9) ---------------------------------- */

static const uint16_t default_keys[] = { PKEY_DEFAULT };

void pkey_map_free(struct pkey_map *map)
{
	if (!map)
		return;
	free(map->first);
	free(map->keys);
	free(map->index0);
	free(map);
}

unsigned pkey_map_keys(const struct pkey_map *map, uint32_t port, const uint16_t **keys)
{
	*keys = map ? map->keys + map->first[port] : default_keys;
	return map ? map->first[port + 1] - map->first[port] : 1;
}

uint16_t pkey_map_member(const struct pkey_map *map, uint32_t port, uint16_t pkey)
{
	const uint16_t *keys;
	unsigned n = pkey_map_keys(map, port, &keys);

	for (unsigned i = 0; i < n; i++)
		if (PKEY_BASE(keys[i]) == PKEY_BASE(pkey))
			return keys[i];
	return 0;
}

bool pkey_map_talk(const struct pkey_map *map, uint32_t a, uint32_t b, uint16_t pkey)
{
	uint16_t of_a = pkey_map_member(map, a, pkey), of_b = pkey_map_member(map, b, pkey);

	return of_a && of_b && (of_a | of_b) & PKEY_FULL;
}

uint16_t pkey_map_shared(const struct pkey_map *map, uint32_t a, uint32_t b)
{
	const uint16_t *keys;
	unsigned n = pkey_map_keys(map, a, &keys);

	if (pkey_map_talk(map, a, b, PKEY_DEFAULT))
		return pkey_map_member(map, a, PKEY_DEFAULT);
	for (unsigned i = 0; i < n; i++)
		if (pkey_map_talk(map, a, b, keys[i]))
			return keys[i];
	return 0;
}

/* ---- The set --------------------------------------------------------------------------------- */

/* An empty partition that belongs to the set. Its base must be new; the name is copied. */
static struct partition *partition_add(struct partition_set *set, const char *name, uint16_t base)
{
	set->list = mem_grow(set->list, set->count);

	struct partition *part = &set->list[set->count++];

	*part = (struct partition){ .name = mem_strdup(name), .base = base };
	set->place[base] = set->count;
	return part;
}

/* Copies the rule. */
static void rule_add(struct partition_set *set, struct partition *part,
		     const struct partition_rule *rule)
{
	part->rules = mem_grow(part->rules, part->nrules);
	part->rules[part->nrules++] = *rule;
}

/*
 * The caller's, freed by partition_free(); never NULL. The default partition is in it: all ports
 * are full members (built_in), or limited ones but for the subnet manager.
 */
static struct partition_set *set_new(bool built_in)
{
	struct partition_set *set = mem_new(set);

	set->place = mem_array(set->place, BASES);
	set->built_in = built_in;

	struct partition *part = partition_add(set, "Default", PKEY_BASE(PKEY_DEFAULT));

	rule_add(set, part,
		 &(struct partition_rule){
			 .who = PARTITION_ALL,
			 .membership = built_in ? PARTITION_FULL : PARTITION_LIMITED,
		 });
	rule_add(set, part,
		 &(struct partition_rule){
			 .who = PARTITION_SELF,
			 .membership = PARTITION_FULL,
			 .order = 1,
		 });
	return set;
}

SORT_BY(compare_bases, struct partition, a->base - b->base)

/* Sorts the partitions. To be called last, and once. */
static void set_finish(struct partition_set *set, const struct partition_options *options)
{
	set->both = options->both;
	qsort(set->list, set->count, sizeof(*set->list), compare_bases);
	for (uint32_t i = 0; i < set->count; i++)
		set->place[set->list[i].base] = i + 1;
}

void partition_free(struct partition_set *set)
{
	if (!set)
		return;
	for (uint32_t i = 0; i < set->count; i++) {
		free((char *)set->list[i].name);
		free(set->list[i].rules);
	}
	free(set->list);
	free(set->groups);
	free(set->place);
	free(set);
}

const struct partition *partition_find(const struct partition_set *set, uint16_t pkey)
{
	uint16_t place = set->place[PKEY_BASE(pkey)];

	return place ? &set->list[place - 1] : NULL;
}

const struct partition *partition_find_name(const struct partition_set *set, const char *name)
{
	for (uint32_t i = 0; *name && i < set->count; i++)
		if (!strcmp(set->list[i].name, name))
			return &set->list[i];
	return NULL;
}

/* ---- Reading: its state, and errors with file and line --------------------------------------- */

enum flag { FLAG_MTU, FLAG_RATE, FLAG_SCOPE, FLAG_QKEY, FLAG_TCLASS, FLAG_SL, FLAG_FLOW, FLAGS };

struct flags {
	uint32_t value[FLAGS];
	uint16_t scopes; /* a bit each; 0 = the default one */
	bool sl_given;
};

struct definition { /* the one being read */
	bool open;
	struct partition *part;
	struct flags flags;
	enum partition_membership membership; /* of members that say nothing */
	bool ipoib, first;
};

struct reader {
	struct partition_set *set;
	struct partition_options options;
	struct definition now;
	uint32_t rules;	   /* so far, of all partitions */
	uint16_t numbered; /* the last P_Key given to a definition without one */
	const char *path;
	unsigned line;
	char *err;
	size_t err_size;
};

#define refuse(r, ...) text_refuse((r)->err, (r)->err_size, (r)->path, (r)->line, __VA_ARGS__)

/* ---- Multicast groups ------------------------------------------------------------------------ */

/*
 * Flags of a definition or an mgid become groups: one for each scope that was named. Groups of IP
 * over InfiniBand carry the P_Key of their partition in the MGID, and have the parameters of its
 * broadcast group (RFC 4391, 4).
 */

#define DEFAULT_SCOPE  2 /* link-local */
#define HOP_LIMIT_MAX  255
#define IPV4_SIGNATURE 0x401b
#define IPV6_SIGNATURE 0x601b
#define MGID_PREFIX    0xff
#define NSCOPES	       16

static const struct {
	const char *name;
	uint32_t min, max;
} flag_table[FLAGS] = {
	[FLAG_MTU] = { "mtu", 1, 5 },
	[FLAG_RATE] = { "rate", 2, 26 },
	[FLAG_SCOPE] = { "scope", 1, 15 },
	[FLAG_QKEY] = { "Q_Key", 0, UINT32_MAX },
	[FLAG_TCLASS] = { "TClass", 0, 255 },
	[FLAG_SL] = { "sl", 0, 15 },
	[FLAG_FLOW] = { "FlowLabel", 0, 0xfffff },
};

static const struct flags default_flags = {
	.value = { [FLAG_MTU] = 4 /* 2048 bytes */, [FLAG_RATE] = 3 /* 10 Gb/s */ },
};

/* Reads NAME=VALUE; *known: whether it is a flag of groups. False: refused, err has the reason. */
static bool group_flag(struct reader *r, struct flags *flags, const char *name, const char *value,
		       bool *known)
{
	*known = true;
	for (enum flag flag = 0; flag < FLAGS; flag++)
		if (words_abbreviate(name, flag_table[flag].name)) {
			uint64_t number;

			if (!words_number(value, flag_table[flag].max, &number) ||
			    number < flag_table[flag].min)
				return refuse(r, "%s=%s: a number of %u..%u is expected",
					      flag_table[flag].name, value ? value : "",
					      flag_table[flag].min, flag_table[flag].max);
			flags->value[flag] = number;
			if (flag == FLAG_SCOPE)
				flags->scopes |= (uint16_t)(1u << number);
			flags->sl_given |= flag == FLAG_SL;
			return true;
		}
	*known = false;
	return true;
}

static void mgid_set_word(uint8_t mgid[16], unsigned at, uint16_t value)
{
	mgid[at] = value >> 8;
	mgid[at + 1] = value;
}

static void group_add_scope(struct reader *r, const uint8_t mgid[16], const struct flags *flags,
			    uint8_t scope)
{
	struct partition_set *set = r->set;
	struct partition_group group = {
		.pkey = r->now.part->base | PKEY_FULL,
		.rate = flags->value[FLAG_RATE],
		.mtu = flags->value[FLAG_MTU],
		.sl = flags->value[FLAG_SL],
		.scope = scope,
		.tclass = flags->value[FLAG_TCLASS],
		.hop_limit = scope == DEFAULT_SCOPE ? 0 : HOP_LIMIT_MAX,
		.qkey = flags->value[FLAG_QKEY],
		.flow_label = flags->value[FLAG_FLOW],
	};

	memcpy(group.mgid, mgid, sizeof(group.mgid));
	group.mgid[1] = (mgid[1] & 0xf0) | scope;
	for (uint32_t i = 0; i < set->ngroups; i++)
		if (!memcmp(set->groups[i].mgid, group.mgid, sizeof(group.mgid)))
			return;
	set->groups = mem_grow(set->groups, set->ngroups);
	set->groups[set->ngroups++] = group;
}

static void group_add(struct reader *r, const uint8_t mgid[16], const struct flags *flags)
{
	uint16_t scopes = flags->scopes ? flags->scopes : 1u << DEFAULT_SCOPE;

	for (uint8_t scope = 0; scope < NSCOPES; scope++)
		if (scopes & 1u << scope)
			group_add_scope(r, mgid, flags, scope);
}

/* Adds the IPv4 broadcast groups of the partition, one for each of its scopes. */
static void group_broadcast(struct reader *r)
{
	uint8_t mgid[16] = { MGID_PREFIX, 0x12, 0x40, 0x1b, [12] = 0xff, 0xff, 0xff, 0xff };
	struct flags flags = r->now.flags;

	mgid_set_word(mgid, 4, r->now.part->base | PKEY_FULL);
	if (!flags.value[FLAG_QKEY])
		flags.value[FLAG_QKEY] = PARTITION_IPOIB_QKEY;
	group_add(r, mgid, &flags);
}

/*
 * A group of IP over InfiniBand carries its P_Key, and is like the partition's broadcast group (RFC
 * 4391, 4).
 */
static bool ip_group(struct reader *r, const char *text, uint8_t mgid[16], struct flags *flags)
{
	static const uint8_t broadcast[16] = { MGID_PREFIX, 0x12,	 0x40, 0x1b, 0xff,
					       0xff,	    [12] = 0xff, 0xff, 0xff, 0xff };
	uint16_t pkey = r->now.part->base | PKEY_FULL, has = mgid[4] << 8 | mgid[5];

	if (has && has != pkey && memcmp(mgid, broadcast, sizeof(broadcast)))
		return refuse(r, "mgid=%s: its P_Key 0x%04x is not the partition's, 0x%04x", text,
			      has, pkey);
	if (flags->value[FLAG_RATE] != r->now.flags.value[FLAG_RATE] ||
	    flags->value[FLAG_MTU] != r->now.flags.value[FLAG_MTU])
		return refuse(r,
			      "mgid=%s: rate and mtu of an IP group are the partition's, %u and %u",
			      text, r->now.flags.value[FLAG_RATE], r->now.flags.value[FLAG_MTU]);
	mgid_set_word(mgid, 4, pkey);
	if (!flags->value[FLAG_QKEY])
		flags->value[FLAG_QKEY] = PARTITION_IPOIB_QKEY;
	return true;
}

/* ---- Members --------------------------------------------------------------------------------- */

/* The number of the word that `text` is, whole or cut short; -1 = of none. */
static int word_number(const char *text, const char *const *words, int count)
{
	for (int i = 0; text && i < count; i++)
		if (words_abbreviate(text, words[i]))
			return i;
	return -1;
}

static bool membership_read(struct reader *r, const char *text,
			    enum partition_membership *membership)
{
	static const char *const words[] = { [PARTITION_LIMITED] = "limited",
					     [PARTITION_FULL] = "full",
					     [PARTITION_BOTH] = "both" };
	int found = word_number(text, words, ARRAY_SIZE(words));

	if (found < 0)
		return refuse(r, "membership \"%s\" is not one of full, limited, both",
			      text ? text : "");
	*membership = found;
	return true;
}

static bool member_read(struct reader *r, const char *name, const char *membership)
{
	static const char *const words[] = { [PARTITION_ALL] = "ALL",
					     [PARTITION_CAS] = "ALL_CAS",
					     [PARTITION_SWITCHES] = "ALL_SWITCHES",
					     [PARTITION_ROUTERS] = "ALL_ROUTERS",
					     [PARTITION_SELF] = "SELF" };
	struct partition_rule rule = { .membership = r->now.membership, .first = r->now.first };
	int who = word_number(name, words, ARRAY_SIZE(words));

	if (!*name && !membership)
		return true;
	/* Virtual ports are not known here: their P_Keys are their port's. */
	if (words_abbreviate(name, "NONE") || !strcmp(name, "ALL_VCAS"))
		return !membership || membership_read(r, membership, &rule.membership);
	rule.who = who < 0 ? PARTITION_PORT : (enum partition_who)who;
	if (who < 0 && (!words_number(name, UINT64_MAX, &rule.guid) || !rule.guid))
		return refuse(r,
			      "member \"%s\" is neither a port GUID nor one of ALL, ALL_CAS, "
			      "ALL_SWITCHES, ALL_ROUTERS, SELF "
			      "(is a ; missing before it?)",
			      name);
	if (membership && !membership_read(r, membership, &rule.membership))
		return false;
	rule.order = r->rules++;
	rule_add(r->set, r->now.part, &rule);
	return true;
}

/* ---- Definitions ----------------------------------------------------------------------------- */

/* The partition that NAME=ID is about. */
static struct partition *part_read(struct reader *r, const char *name, const char *id)
{
	const struct partition *found;
	struct partition *part;
	uint64_t pkey = 0;

	if (!id && *name >= '0' && *name <= '9') {
		id = name;
		name = "";
	}
	if (id && !words_number(id, UINT16_MAX, &pkey)) {
		refuse(r, "P_Key \"%s\" is not a number of 16 bits", id);
		return NULL;
	}
	if (!PKEY_BASE(pkey)) {
		found = partition_find_name(r->set, name);
		if (found)
			return &r->set->list[found - r->set->list];
		while (++r->numbered < PKEY_BASE(PKEY_DEFAULT))
			if (!partition_find(r->set, r->numbered)) {
				part = partition_add(r->set, name, r->numbered);
				part->numbered = true;
				return part;
			}
		refuse(r, "no P_Key is left for \"%s\"", name);
		return NULL;
	}
	found = partition_find(r->set, pkey);
	if (!found)
		return partition_add(r->set, name, PKEY_BASE(pkey));
	part = &r->set->list[found - r->set->list];
	if (!part->numbered)
		return part;
	refuse(r,
	       "P_Key 0x%04x was assigned to partition \"%s\", which has no number in "
	       "the file: give it one",
	       part->base, part->name);
	return NULL;
}

static bool flag_read(struct reader *r, char *text)
{
	struct definition *d = &r->now;
	char *value, *name = words_split(text, &value);
	bool known;

	if (!*name && !value)
		return true; /* a comma too many */
	if (!group_flag(r, &d->flags, name, value, &known))
		return false;
	if (known)
		return true;
	if (words_abbreviate(name, "ipoib"))
		d->ipoib = true;
	else if (!strcmp(name, "indx0"))
		d->first = true;
	else if (words_abbreviate(name, "defmember"))
		return membership_read(r, value, &d->membership);
	else
		return refuse(r, "unknown partition flag \"%s\"", name);
	return true;
}

static bool definition_begin(struct reader *r, char *text)
{
	struct definition *d = &r->now;
	char *flag = words_cut(text, ','), *id, *name = words_split(text, &id);

	*d = (struct definition){ .open = true,
				  .flags = default_flags,
				  .membership = PARTITION_LIMITED };
	while (flag) {
		char *next = words_cut(flag, ',');

		if (!flag_read(r, flag))
			return false;
		flag = next;
	}
	d->part = part_read(r, name, id);
	if (!d->part)
		return false;
	if (!r->options.qos)
		d->flags.value[FLAG_SL] = 0;
	if (d->flags.sl_given)
		d->part->sl = d->flags.value[FLAG_SL];
	d->part->ipoib |= d->ipoib;
	if (d->ipoib)
		group_broadcast(r);
	return true;
}

/* What one line has of one definition. */
static bool piece_read(struct reader *r, char *text)
{
	if (!r->now.open) {
		if (!*words_trim(text))
			return true;

		char *members = words_cut(text, ':');

		if (!members)
			return refuse(r,
				      "\"%s\": a partition's definition ends in a colon, on its "
				      "first line",
				      words_trim(text));
		if (!definition_begin(r, text))
			return false;
		text = members;
	}
	while (text) {
		char *next = words_cut(text, ','), *value, *name = words_split(text, &value);

		if (!strcmp(name, "mgid")) {
			/*
			 * Adds a group by its MGID; rest: its flags, or NULL. False: refused, and
			 * err has the reason.
			 */
			struct flags flags = r->now.flags;
			uint8_t mgid[16];

			if (!value || inet_pton(AF_INET6, value, mgid) != 1 ||
			    mgid[0] != MGID_PREFIX)
				return refuse(r, "mgid=%s is not a multicast GID",
					      value ? value : "");
			while (next) {
				char *after = words_cut(next, ','), *read_value,
				     *read_name = words_split(next, &read_value);
				bool known = true;

				if ((*read_name || read_value) &&
				    !group_flag(r, &flags, read_name, read_value, &known))
					return false;
				if (!known)
					return refuse(r, "unknown group flag \"%s\"", read_name);
				next = after;
			}

			uint16_t word = mgid[2] << 8 | mgid[3];

			if ((word == IPV4_SIGNATURE || word == IPV6_SIGNATURE) &&
			    !ip_group(r, value, mgid, &flags))
				return false;
			group_add(r, mgid, &flags);
			return true;
		}
		if (!member_read(r, name, value))
			return false;
		text = next;
	}
	return true;
}

static bool line_read(struct reader *r, char *line)
{
	char *rest;

	words_cut(line, '#');
	for (; line; line = rest) {
		rest = words_cut(line, ';');
		if (!piece_read(r, line))
			return false;
		if (rest)
			r->now.open = false;
	}
	return true;
}

struct partition_set *partition_parse(const char *path, char *text,
				      const struct partition_options *options, char *err,
				      size_t err_size)
{
	struct reader r = { .set = set_new(false),
			    .options = *options,
			    .path = path,
			    .err = err,
			    .err_size = err_size };

	r.rules = 2; /* those of the default partition */
	for (char *next; text; text = next) {
		next = words_cut(text, '\n');
		r.line++;
		if (!line_read(&r, text)) {
			partition_free(r.set);
			return NULL;
		}
	}
	set_finish(r.set, options);
	return r.set;
}

/* ---- Where it comes from --------------------------------------------------------------------- */

struct partition_set *partition_default(void)
{
	const struct partition_options options = { .both = false };
	struct reader r = { .set = set_new(true) };

	r.now.part = &r.set->list[0];
	r.now.part->ipoib = true;
	r.now.flags = default_flags;
	group_broadcast(&r);
	set_finish(r.set, &options);
	return r.set;
}

static char *file_read(const char *path, char *err, size_t err_size)
{
	struct stat st;
	size_t len;

	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		snprintf(err, err_size, "%s:0: is not a file", path);
		return NULL;
	}

	FILE *in = fopen(path, "r");

	if (!in) {
		snprintf(err, err_size, "%s:0: cannot be opened: %s", path, strerror(errno));
		return NULL;
	}

	char *text = mem_read_all(in, &len);

	if (ferror(in) || strlen(text) != len) {
		snprintf(err, err_size, "%s:0: cannot be read as text", path);
		free(text);
		text = NULL;
	}
	fclose(in);
	return text;
}

struct partition_set *partition_load(const char *path, const struct partition_options *options,
				     char *err, size_t err_size)
{
	if (!*path)
		return partition_default();

	char *text = file_read(path, err, err_size);

	if (!text)
		return NULL;

	struct partition_set *set = partition_parse(path, text, options, err, err_size);

	free(text);
	return set;
}

/* ---- On a snapshot --------------------------------------------------------------------------- */

struct member {
	uint32_t port;
	uint16_t key;
};

struct resolver {
	const struct partition_set *set;
	const struct topo *t;
	uint32_t sm_port;
	/* by port: the one that holds, in the partition at hand */
	const struct partition_rule **rule;
	uint32_t *touched, ntouched;
	const struct partition_rule **first; /* by port: which rule has index 0 */
	uint16_t *index0;
	struct member *members;
	size_t count;
};

static void touch(struct resolver *r, uint32_t port, const struct partition_rule *rule)
{
	const struct topo_port *p = port == TOPO_NONE ? NULL : &r->t->ports[port];

	if (!p || !p->guid || (p->num == 0) != (r->t->nodes[p->node].type == TOPO_SWITCH))
		return; /* it is no end port */
	if (!r->rule[port])
		r->touched[r->ntouched++] = port;
	r->rule[port] = rule;
}

static void touch_all(struct resolver *r, const struct partition_rule *rule)
{
	static const uint8_t types[] = { [PARTITION_CAS] = TOPO_CA,
					 [PARTITION_SWITCHES] = TOPO_SWITCH,
					 [PARTITION_ROUTERS] = TOPO_ROUTER };
	const struct topo *t = r->t;

	for (uint32_t n = 0; n < t->nnodes; n++) {
		const struct topo_node *node = &t->nodes[n];
		bool is_switch = node->type == TOPO_SWITCH;

		if (rule->who != PARTITION_ALL && node->type != types[rule->who])
			continue;
		for (unsigned num = !is_switch; num <= (is_switch ? 0 : node->nports); num++)
			touch(r, node->port0 + num, rule);
	}
}

static void member_add(struct resolver *r, uint32_t port, uint16_t key)
{
	r->members = mem_grow(r->members, r->count);
	r->members[r->count++] = (struct member){ port, key };
}

static void emit(struct resolver *r, const struct partition *part, uint32_t port)
{
	const struct partition_rule *rule = r->rule[port];
	enum partition_membership m = rule->membership;

	/*
	 * Without the default partition nobody could ask the subnet administration anything: its
	 * port is in it as a full member.
	 */
	if ((m == PARTITION_BOTH && !r->set->both) ||
	    (m == PARTITION_LIMITED && port == r->sm_port && part->base == PKEY_BASE(PKEY_DEFAULT)))
		m = PARTITION_FULL;
	if (m != PARTITION_LIMITED)
		member_add(r, port, part->base | PKEY_FULL);
	if (m != PARTITION_FULL)
		member_add(r, port, part->base);
	if (rule->first && (!r->first[port] || rule->order > r->first[port]->order)) {
		r->first[port] = rule;
		r->index0[port] = part->base | (m == PARTITION_LIMITED ? 0 : PKEY_FULL);
	}
	r->rule[port] = NULL;
}

struct pkey_map *partition_resolve(const struct partition_set *set, const struct topo *t,
				   uint32_t sm_port)
{
	struct resolver r = { .set = set, .t = t, .sm_port = sm_port };
	uint32_t nports = t->nports, *next;

	if (set->built_in)
		return NULL;
	r.rule = mem_array(r.rule, t->nports);
	r.first = mem_array(r.first, t->nports);
	r.touched = mem_array(r.touched, t->nports);
	r.index0 = mem_array(r.index0, t->nports);
	for (uint32_t i = 0; i < set->count; i++) {
		const struct partition *part = &set->list[i];

		r.ntouched = 0;
		for (uint32_t k = 0; k < part->nrules; k++) {
			const struct partition_rule *rule = &part->rules[k];

			if (rule->who == PARTITION_SELF)
				touch(&r, sm_port, rule);
			else if (rule->who == PARTITION_PORT)
				touch(&r, topo_find_port(t, rule->guid), rule);
			else
				touch_all(&r, rule);
		}
		for (uint32_t k = 0; k < r.ntouched; k++)
			emit(&r, part, r.touched[k]);
	}

	struct pkey_map *map = mem_new(map);

	next = mem_array(next, nports + 1);
	map->nports = nports;
	map->first = mem_array(map->first, nports + 1);
	map->keys = mem_array(map->keys, r.count);
	map->index0 = r.index0;
	for (size_t i = 0; i < r.count; i++)
		map->first[r.members[i].port + 1]++;
	for (uint32_t p = 0; p < nports; p++)
		map->first[p + 1] += map->first[p];
	mem_copy(next, map->first, nports + 1);
	for (size_t i = 0; i < r.count; i++)
		map->keys[next[r.members[i].port]++] = r.members[i].key;
	free(next);
	free(r.members);
	free(r.touched);
	free(r.first);
	free(r.rule);
	return map;
}
