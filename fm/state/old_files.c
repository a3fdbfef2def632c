/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * old_files: the state_dir of a version before state.db. Its forms are known to import-state alone,
 * a program in Python (etc/import-state): installed in ../lib/fmd of fmd's directory, after a build
 * beside fmd. It is run ahead of the sandbox, and makes the database.
 */
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fm/loop/log.h"
#include "fm/state/state_own.h"
#include "topology/base/mem.h"

/* Without it all that was kept would be lost: the process ends. */
static void run_import(const char *folder)
{
	char self[PATH_MAX] = "", program[PATH_MAX + 32];
	char *words[] = { program, (char *)folder, NULL };
	int status;
	pid_t child;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		abort();
	strrchr(self, '/')[1] = '\0';
	array_printf(program, "%s../lib/fmd/import-state", self);
	if (access(program, F_OK))
		array_printf(program, "%simport-state", self);
	errno = posix_spawn(&child, program, NULL, NULL, words, environ);
	if (errno || waitpid(child, &status, 0) < 0 || status) {
		log_line(LOG_CORE, LOG_ERR,
			 "%s has files of an earlier version, which %s could not take over: %s",
			 folder, program,
			 errno ? strerror(errno) : "its standard error has the reason");
		exit(EXIT_FAILURE);
	}
}

/* Files had the names of kinds. */
int old_files_take(const char *folder, const char **name)
{
	char path[PATH_MAX];
	struct stat st;
	int count = 0;

	for (const struct state_rule *rule = state_rules; rule->name; rule++) {
		array_printf(path, "%s/%s", folder, rule->name);
		if (access(path, F_OK))
			continue;
		*name = rule->name;
		count++;
	}
	array_printf(path, "%s/" DISK_NAME, folder);
	if (!count || (!stat(path, &st) && st.st_size))
		return 0;
	run_import(folder);
	return count;
}
