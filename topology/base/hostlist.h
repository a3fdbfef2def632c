/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* hostlist: names in Slurm's short form: "dgx-su01-[01-32],login1". */
#ifndef FMD_TOPOLOGY_BASE_HOSTLIST_H
#define FMD_TOPOLOGY_BASE_HOSTLIST_H

#include <stdint.h>

/* The short form of names, which are best in natural order. The caller frees the text. */
char *hostlist_format(const char *const *names, uint32_t count);

#endif
