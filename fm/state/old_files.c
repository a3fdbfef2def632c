/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * old_files: the state_dir of a version before state.db. Its forms are known to import-state alone,
 * a program in Python (etc/import-state): installed in ../lib/fmd of fmd's directory, after a build
 * beside fmd. It is run ahead of the sandbox.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fm/loop/log.h"
#include "fm/state/state_own.h"
#include "topology/base/mem.h"

/* What it prints goes to *rows. Without it all that was kept would be lost: the process ends. */
static void run_import(const char *folder, const char *option, struct row_bytes *rows)
{
	char self[PATH_MAX] = "", program[PATH_MAX + 32];
	char *words[] = { program, (char *)(option ? option : folder),
			  option ? (char *)folder : NULL, NULL };
	posix_spawn_file_actions_t actions;
	int status, out[2];
	ssize_t got = 0;
	pid_t child;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || pipe2(out, O_CLOEXEC))
		abort();
	array_printf(program, "%.*s../lib/fmd/import-state", (int)(strrchr(self, '/') + 1 - self),
		     self);
	if (access(program, F_OK))
		array_printf(program, "%.*simport-state", (int)(strrchr(self, '/') + 1 - self),
			     self);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	status = posix_spawn(&child, program, &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(out[1]);
	do {
		rows->length += got;
		if (rows->length == rows->room) {
			rows->room = 2 * rows->room + PIPE_BUF;
			rows->bytes = mem_resize(rows->bytes, rows->room, 1);
		}
		got = read(out[0], rows->bytes + rows->length, rows->room - rows->length);
	} while (got > 0 || (got < 0 && errno == EINTR && !(got = 0)));
	close(out[0]);
	errno = status;
	if (status || waitpid(child, &status, 0) < 0 || status) {
		log_line(LOG_CORE, LOG_ERR,
			 "%s has files of an earlier version, which %s could not read: %s", folder,
			 program, errno ? strerror(errno) : "its standard error has the reason");
		exit(EXIT_FAILURE);
	}
}

/* Files had the names of kinds. */
const char *old_files_first(const char *folder)
{
	const struct state_rule *rule = state_rules;
	bool there = false;

	for (; !there && rule->name; rule++) {
		char *path = mem_printf("%s/%s", folder, rule->name);

		there = !access(path, F_OK);
		free(path);
	}
	return there ? rule[-1].name : NULL;
}

bool old_files_read(const char *folder, struct row_bytes *rows)
{
	char *path = mem_printf("%s/" DISK_NAME, folder);
	struct stat st;
	bool made = stat(path, &st) || !st.st_size;

	free(path);
	if (made)
		run_import(folder, NULL, rows);
	return made;
}

void old_files_put_away(const char *folder)
{
	struct row_bytes nothing = { NULL, 0, 0 };

	run_import(folder, "--away", &nothing);
	free(nothing.bytes);
}
