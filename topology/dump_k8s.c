/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dump_k8s: labels of Kubernetes nodes that say how near they are, as a stream of Node objects for
 * `kubectl apply --server-side --field-manager fmd -f -`. Keys are those that NVIDIA's topograph
 * sets (github.com/NVIDIA/topograph, docs/reference/node-labels.md): network.topology.nvidia.com/
 * leaf, spine and core for the groups of the tree from the lowest up, and accelerator for the
 * NVLink domain, where it is known. So are values: as they are up to 63 characters, longer ones by
 * their FNV-1a hash behind an x.
 *
 * Kubernetes' node names are in lower case (RFC 1123), as kubelet makes them of a host's name.
 */
#include "topology/dump.h"
#include "topology/nearness.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define PREFIX	  "network.topology.nvidia.com/"
#define VALUE_MAX 63 /* of a label */

static uint64_t fnv1a(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash;
}

/* Letters, digits, '-', '_' and '.', of which the last three neither begin nor end it. */
static bool is_label_value(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) &&
		    (!strchr("-_.", text[i]) || !i || i + 1 == len))
			return false;
	return len && len <= VALUE_MAX;
}

static void write_label(FILE *out, const char *key, const char *value)
{
	if (is_label_value(value))
		fprintf(out, "    " PREFIX "%s: \"%s\"\n", key, value);
	else
		fprintf(out, "    " PREFIX "%s: \"x%" PRIx64 "\"\n", key, fnv1a(value));
}

/* What RFC 1123 has no letter for, or names only a GUID, is no node's name. */
static bool is_node_name(const char *name)
{
	for (const char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '-' && *at != '.')
			return false;
	return strncmp(name, "0x", 2) != 0;
}

static void write_node(const struct nearness *near, uint32_t h, const char *domain, FILE *out)
{
	static const char *const keys[] = { "leaf", "spine", "core" };
	uint32_t group = near->group[h];

	fputs("---\napiVersion: v1\nkind: Node\nmetadata:\n  name: \"", out);
	for (const char *at = near->t->hosts[h].name; *at; at++)
		fputc(tolower((unsigned char)*at), out);
	fputs("\"\n  labels:\n", out);
	if (domain)
		write_label(out, "accelerator", domain);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && group != TOPO_NONE; i++) {
		write_label(out, keys[i], near->groups[group].name);
		group = near->groups[group].parent;
	}
}

int dump_k8s(const struct topo *t, const char *const *domains, FILE *out)
{
	struct nearness *near = nearness_new(t);

	fprintf(out, "# labels of %" PRIu32 " nodes, the nearest group first\n", near->nhosts);
	for (uint32_t h = 0; h < t->nhosts; h++)
		if (near->group[h] != TOPO_NONE && is_node_name(t->hosts[h].name))
			write_node(near, h, domains ? domains[h] : NULL, out);
	nearness_free(near);
	return ferror(out) || fflush(out) ? -(errno ? errno : EIO) : 0;
}
