/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * capabilities: see capabilities(7). The bounding set goes first: that takes CAP_SETPCAP, which
 * root has; a service's own user has neither it nor much of a set, and no_new_privs keeps the rest
 * out of reach.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "fm/os/sandbox.h"
#include "fm/os/sandbox_own.h"
#include "topology/base/mem.h"

#define WORDS _LINUX_CAPABILITY_U32S_3

static void drop_bounding(void)
{
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

int capabilities_drop(bool keeps_ports)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct had[WORDS] = { 0 }, sets[WORDS] = { 0 };
	unsigned kept = keeps_ports ? 1u << CAP_NET_BIND_SERVICE : 0;
	int status = 0;

	drop_bounding();
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) && errno != EINVAL)
		status = -errno;
	if (syscall(SYS_capget, &head, had))
		return -errno;
	sets[0].permitted = sets[0].effective = had[0].permitted & kept;
	if (syscall(SYS_capset, &head, sets))
		status = -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		status = -errno;
	return status;
}

/* path: the folder, so many bytes, or a file in it. */
static int refuse(char *err, size_t err_size, const char *path, int folder_length)
{
	snprintf(err, err_size,
		 "%s: %s for user %u without capabilities: chown -R %u %.*s, run fmd as its owner, "
		 "or set sandbox = \"off\"",
		 path, strerror(errno), geteuid(), geteuid(), folder_length, path);
	return -1;
}

/* Where nobody can write, who can read can do all there is to do. errno: why not. */
static bool is_usable(const char *path, int how)
{
	return !faccessat(AT_FDCWD, path, how, AT_EACCESS) ||
	       (errno == EROFS && !faccessat(AT_FDCWD, path, how & ~W_OK, AT_EACCESS));
}

static int check_file(const char *folder, const char *name, char *err, size_t err_size)
{
	char *path = mem_printf("%s/%s", folder, name);
	int status = 0;

	if (!is_usable(path, R_OK | W_OK) && errno == EACCES)
		status = refuse(err, err_size, path, (int)strlen(folder));
	free(path);
	return status;
}

int sandbox_check_folder(const char *folder, char *err, size_t err_size)
{
	struct dirent *entry;
	int status = 0;
	DIR *dir;

	if (!is_usable(folder, R_OK | W_OK | X_OK))
		return refuse(err, err_size, folder, (int)strlen(folder));
	dir = opendir(folder);
	if (!dir)
		return refuse(err, err_size, folder, (int)strlen(folder));
	while (!status && (entry = readdir(dir)))
		if (*entry->d_name != '.')
			status = check_file(folder, entry->d_name, err, err_size);
	closedir(dir);
	return status;
}
