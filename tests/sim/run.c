/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "tests/sim/run.h"

#define LOOK_US	     100000
#define UP_LOOKS     600 /* a minute */
#define PATH_BYTES   4096
#define TMPDIR_BYTES 40

/* ---- Files ----------------------------------------------------------------------------------- */

static bool write_file(const char *folder, const char *name, mode_t mode, const char *text)
{
	char path[PATH_BYTES];
	FILE *out;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return false;
	out = fopen(path, "w");
	if (!out)
		return false;
	fputs(text, out);
	return !fclose(out) && !chmod(path, mode);
}

int run_prepare(struct run *run)
{
	const char *tmp = getenv("TMPDIR");

	if (!tmp || !*tmp || strlen(tmp) > TMPDIR_BYTES) /* a socket's path is short */
		tmp = "/tmp";
	snprintf(run->folder, sizeof(run->folder), "%s/fmsim-XXXXXX", tmp);
	if (!mkdtemp(run->folder))
		return -errno;
	snprintf(run->socket, sizeof(run->socket), "%s/fmsim.sock", run->folder);
	return 0;
}

void run_clean(const struct run *run)
{
	pid_t pid = fork();

	if (!pid) {
		execlp("rm", "rm", "-rf", "--", run->folder, NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* The program beside this one if there is one, else the name. */
static void program_path(const char *name, char path[PATH_BYTES])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_BYTES - 64);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash) {
		strcpy(slash + 1, name);
		if (!access(path, R_OK))
			return;
	}
	strcpy(path, name);
}

/* Where `make install` puts them, if they are not beside the program. */
static void library_path(char path[PATH_BYTES])
{
	program_path("libfmsim-umad.so", path);
	if (!strchr(path, '/'))
		program_path("../lib/fmd/libfmsim-umad.so", path);
}

static void fmd_path(char path[PATH_BYTES])
{
	program_path("fmd", path);
	if (!strchr(path, '/'))
		program_path("../sbin/fmd", path);
	if (path[0] == '.')
		strcpy(path, "fmd"); /* as PATH has it */
}

/* ---- The folder's own fmctl and configuration ------------------------------------------------ */

static bool files_make(const struct run *run)
{
	char text[3 * PATH_BYTES], path[PATH_BYTES];

	snprintf(text, sizeof(text), "state_dir = \"%s/state\";\nsocket = \"%s/fmd.sock\";\n",
		 run->folder, run->folder);
	if (!write_file(run->folder, "fmd.conf", 0600, text))
		return false;
	program_path("fmctl", path);
	if (!strchr(path, '/'))
		snprintf(path, sizeof(path), "/usr/bin/env fmctl");
	snprintf(text, sizeof(text), "#!/bin/sh\nLD_PRELOAD= exec %s -s %s/fmd.sock \"$@\"\n", path,
		 run->folder);
	snprintf(path, sizeof(path), "%s/bin", run->folder);
	return !mkdir(path, 0700) && write_file(path, "fmctl", 0700, text);
}

static void environment_set(const struct run *run, const char *socket)
{
	char text[2 * PATH_BYTES];
	const char *path = getenv("PATH");

	snprintf(text, sizeof(text), "%s/bin:%s", run->folder, path ? path : "/usr/bin:/bin");
	setenv("PATH", text, 1);
	setenv("FMSIM", socket, 1);
	library_path(text);
	setenv("LD_PRELOAD", text, 1);
}

/* ---- Processes ------------------------------------------------------------------------------- */

static pid_t spawn(const char *const argv[], const char *log)
{
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (!log)
		signal(SIGINT, SIG_DFL);
	else {
		fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
		if (fd >= 0) {
			dup2(fd, STDOUT_FILENO);
			dup2(fd, STDERR_FILENO);
		}
	}
	execvp(argv[0], (char *const *)argv);
	fprintf(stderr, "fmsim: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static bool fabric_is_up(void)
{
	FILE *in = popen("fmctl --json status 2>/dev/null", "r");
	char text[65536];
	size_t n;

	if (!in)
		return false;
	n = fread(text, 1, sizeof(text) - 1, in);
	text[n] = '\0';
	return !pclose(in) && strstr(text, "\"state\": \"up\"");
}

static bool wait_until_up(pid_t fmd)
{
	for (unsigned i = 0; i < UP_LOOKS; i++) {
		if (waitpid(fmd, NULL, WNOHANG))
			return false;
		if (fabric_is_up())
			return true;
		usleep(LOOK_US);
	}
	return true; /* there is something to look at in that, too */
}

static int run_command(char *const argv[])
{
	const char *shell[] = { getenv("SHELL") ? getenv("SHELL") : "/bin/sh", NULL };
	pid_t pid = spawn(argv[0] ? (const char *const *)argv : shell, NULL);
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_all(const struct run *run, const char *socket, char *const argv[])
{
	char conf[PATH_BYTES], log[PATH_BYTES], program[PATH_BYTES];
	const char *const fmd_argv[] = { program, "-c", conf, NULL };
	int status = 1;
	pid_t fmd;

	if (!files_make(run)) {
		fprintf(stderr, "fmsim: %s: %s\n", run->folder, strerror(errno));
		return 1;
	}
	environment_set(run, socket);
	snprintf(conf, sizeof(conf), "%s/fmd.conf", run->folder);
	snprintf(log, sizeof(log), "%s/fmd.log", run->folder);
	fmd_path(program);
	fmd = spawn(fmd_argv, log);
	if (wait_until_up(fmd)) {
		status = run_command(argv);
		kill(fmd, SIGTERM);
		waitpid(fmd, NULL, 0);
	} else {
		fprintf(stderr, "fmsim: fmd ended; its last words:\n");
		snprintf(conf, sizeof(conf), "tail -n 5 %s/fmd.log >&2", run->folder);
		if (system(conf))
			status = 1;
	}
	return status;
}

/*
 * The command's own process group is the terminal's: what is typed there (^C) is for it, not for
 * those who serve it.
 */
pid_t run_start(const struct run *run, const char *socket, char *const argv[])
{
	pid_t pid = fork();

	if (pid)
		return pid < 0 ? -errno : pid;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGINT, SIG_IGN);
	_exit(run_all(run, socket, argv));
}
