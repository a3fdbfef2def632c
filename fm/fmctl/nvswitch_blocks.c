/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmctl nvswitch blocks: hosts of one NVLink domain as a block of Slurm's topology/block, in
 * topology.conf's form, so that a job is placed within one domain where it fits.
 *
 * A block is named after the domain's UUID and clique. The size that Slurm plans with is that of
 * the smallest block: each must have so many hosts at least.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/fmctl/fmctl.h"
#include "fm/fmctl/table.h"
#include "topology/hostlist.h"
#include "topology/mem.h"
#include "topology/text.h"

#define UUID_SHOWN 8 /* digits in a block's name */

static int compare_names(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names that Slurm would read otherwise are left out, and said to be. */
static uint32_t take_names(const json_t *hosts, const char **names)
{
	const json_t *host;
	uint32_t count = 0;
	size_t i;

	json_array_foreach (hosts, i, host) {
		const char *name = json_string_value(host);

		if (name && text_is_host_name(name))
			names[count++] = name;
		else
			puts("# a host is left out: its name is not valid in Slurm");
	}
	qsort(names, count, sizeof(*names), compare_names);
	return count;
}

/* Its number of hosts. */
static uint32_t print_block(const json_t *domain)
{
	const json_t *hosts = json_object_get(domain, "hosts");
	const char *uuid = json_string_value(json_object_get(domain, "cluster_uuid"));
	const char **names = mem_alloc(json_array_size(hosts) + 1, sizeof(*names));
	uint32_t count = take_names(hosts, names);
	char *list = hostlist_format(names, count);

	if (count)
		printf("BlockName=nvl-%.*s-%lld Nodes=%s\n", UUID_SHOWN, uuid ? uuid : "",
		       (long long)json_integer_value(json_object_get(domain, "clique")), list);
	free(list);
	free(names);
	return count;
}

enum fmctl_exit fmctl_nvswitch_blocks(const struct fmctl *ctl, const json_t *result)
{
	const json_t *domains = json_object_get(result, "domains"), *domain;
	uint32_t smallest = 0;
	size_t i;

	if (ctl->json) {
		show_json(ctl, domains);
		return FMCTL_DONE;
	}
	if (!json_array_size(domains)) {
		fputs("fmctl: nvswitch blocks: no exporter reports an NVLink domain "
		      "(DCGM_FI_DEV_FABRIC_CLUSTER_UUID)\n",
		      stderr);
		return FMCTL_FAILED;
	}
	json_array_foreach (domains, i, domain) {
		uint32_t count = print_block(domain);

		if (count && (!smallest || count < smallest))
			smallest = count;
	}
	printf("BlockSizes=%u\n", smallest);
	return FMCTL_DONE;
}
