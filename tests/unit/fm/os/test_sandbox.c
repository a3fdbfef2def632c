/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a process that has entered the sandbox can't do any more, and what it can still: each in a
 * child of its own, as there is no way back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fm/os/sandbox.h"

typedef int attempt_fn(void);

/* Skips a test where system calls can't be filtered, as under qemu-user. */
static void need_filter(void)
{
	uint32_t action = SECCOMP_RET_TRAP;

	if (!syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action))
		return;
	print_message("no seccomp here: %s\n", strerror(errno));
	skip();
}

/* 0 where it worked, else errno. */
static int in_sandbox(attempt_fn *attempt)
{
	char err[256];
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (sandbox_enter(SANDBOX_ON, err, sizeof(err))) {
			fprintf(stderr, "%s\n", err);
			_exit(255);
		}
		_exit(attempt());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status)); /* no signal ends it */
	return WEXITSTATUS(status);
}

static int outcome(long result)
{
	return result < 0 ? errno : 0;
}

/* ---- Refused --------------------------------------------------------------------------------- */

static int run_program(void)
{
	char *arguments[] = { "/bin/true", NULL }, *none[] = { NULL };

	execve("/bin/true", arguments, none);
	return errno;
}

static int run_by_descriptor(void)
{
	char *arguments[] = { "true", NULL }, *none[] = { NULL };
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);

	syscall(SYS_execveat, fd, "", arguments, none, AT_EMPTY_PATH);
	return errno;
}

static int attach(void)
{
	return outcome(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static int mount_some(void)
{
	return outcome(mount("none", "/mnt", "tmpfs", 0, NULL));
}

static int packet_socket(void)
{
	return outcome(socket(AF_PACKET, SOCK_DGRAM, 0));
}

static int raw_socket(void)
{
	return outcome(socket(AF_INET, SOCK_RAW, 1));
}

static int become_root(void)
{
	return outcome(syscall(SYS_setuid, 0));
}

static int own_namespace(void)
{
	return outcome(unshare(CLONE_NEWUSER));
}

static int clone_namespace(void)
{
	return outcome(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
}

static int end_parent(void)
{
	return outcome(kill(getppid(), SIGTERM));
}

static int raise_limit(void)
{
	const struct rlimit limit = { 10, 10 };

	return outcome(setrlimit(RLIMIT_NOFILE, &limit));
}

static int type_into_terminal(void)
{
	return outcome(ioctl(0, TIOCSTI, "x"));
}

static int load_bpf(void)
{
	return outcome(syscall(SYS_bpf, 0, NULL, 0));
}

static int make_io_ring(void)
{
	return outcome(syscall(SYS_io_uring_setup, 1, NULL));
}

static int read_memory(void)
{
	return outcome(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
}

static int writable_code(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	return at == MAP_FAILED ? errno : 0;
}

static int data_to_code(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return outcome(mprotect(at, 4096, PROT_READ | PROT_EXEC));
}

static int change_owner(void)
{
	return outcome(chown("/tmp", 0, 0));
}

static const struct row {
	const char *name;
	attempt_fn *attempt;
	bool sanitizers; /* its runtime does that itself, and may */
} attacks[] = {
	{ "run_program", run_program, false },
	{ "run_by_descriptor", run_by_descriptor, false },
	{ "mount_some", mount_some, false },
	{ "packet_socket", packet_socket, false },
	{ "raw_socket", raw_socket, false },
	{ "become_root", become_root, false },
	{ "own_namespace", own_namespace, false },
	{ "end_parent", end_parent, false },
	{ "type_into_terminal", type_into_terminal, false },
	{ "load_bpf", load_bpf, false },
	{ "make_io_ring", make_io_ring, false },
	{ "change_owner", change_owner, false },
	{ "attach", attach, true },
	{ "clone_namespace", clone_namespace, true },
	{ "raise_limit", raise_limit, true },
	{ "read_memory", read_memory, true },
	{ "writable_code", writable_code, true },
	{ "data_to_code", data_to_code, true },
};

static bool is_asked(const struct row *row)
{
#ifdef SANITIZED
	return !row->sanitizers;
#else
	return true;
#endif
}

static void test_what_an_intruder_would_do_is_refused(void **state)
{
	need_filter();
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		int error = is_asked(&attacks[i]) ? in_sandbox(attacks[i].attempt) : EPERM;

		if (error != EPERM)
			fail_msg("%s: %s", attacks[i].name, strerror(error));
	}
}

/* ---- Counted --------------------------------------------------------------------------------- */

static void *mount_cb(void *arg)
{
	mount_some();
	return NULL;
}

/* Its own call, a child's and a thread's: 3. */
static int count_refused(void)
{
	const char *latest;
	pthread_t thread;
	pid_t pid;

	if (sandbox_refused(&latest) || *latest)
		return 100;
	load_bpf();
	pid = fork();
	if (!pid)
		_exit(load_bpf() == EPERM ? 0 : 1);
	waitpid(pid, NULL, 0);
	if (pthread_create(&thread, NULL, mount_cb, NULL))
		return 101;
	pthread_join(thread, NULL);
	if (sandbox_refused(&latest) != 3)
		return 102;
	return strcmp(latest, "mount") ? 103 : 0;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static pid_t other; /* a process of this user, without capabilities, as a hook is */

static int open_memory(const char *whose)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/mem", whose);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return outcome(fd);
}

static int open_others_memory(void)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)other);
	return open_memory(pid);
}

static void begin_other(void)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	other = fork();
	if (!other) {
		capabilities_drop(false);
		close(ready[1]);
		pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 0);
	close(ready[0]);
}

static int open_without_capabilities(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		capabilities_drop(false);
		_exit(open_others_memory());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

/* No filter of system calls sees what is written into another process by a file. */
static void test_the_memory_of_other_processes_is_closed(void **state)
{
	int outside, within;

	need_filter();
	begin_other();
	outside = open_without_capabilities();
	within = in_sandbox(open_others_memory);
	kill(other, SIGKILL);
	assert_int_equal(waitpid(other, NULL, 0), other);
	if (outside)
		print_message("it is closed by this machine to all but parents (Yama)\n");
	assert_int_equal(within, EACCES);
}

/* Its own code as well, where it is not root's. 0, errno, or 255 = it was closed before. */
static int open_own_memory(void)
{
	char err[256];

	if (!geteuid() && (setgid(65534) || setuid(65534)))
		return 255;
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* as of a program that a user has started */
	if (open_memory("self") || sandbox_enter(SANDBOX_ON, err, sizeof(err)))
		return 255;
	return open_memory("self");
}

static void test_its_own_memory_is_closed(void **state)
{
	pid_t pid = fork();
	int status;

	need_filter();
	if (!pid)
		_exit(open_own_memory());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), EACCES);
}

static void test_what_was_refused_is_counted_in_children_and_threads_too(void **state)
{
	need_filter();
	assert_int_equal(in_sandbox(count_refused), 0);
}

/* ---- Given up -------------------------------------------------------------------------------- */

static int holds_nothing(void)
{
	static const char *const wanted[] = { "CapInh:\t0000000000000000",
					      "CapPrm:\t0000000000000000",
					      "CapEff:\t0000000000000000",
					      "CapAmb:\t0000000000000000",
					      "NoNewPrivs:\t1",
					      "Seccomp:\t2" };
	FILE *in = fopen("/proc/self/status", "re");
	unsigned found = 0;
	char line[256];

	while (in && fgets(line, sizeof(line), in))
		for (unsigned i = 0; i < 6; i++)
			if (!strncmp(line, wanted[i], strlen(wanted[i])))
				found |= 1u << i;
	return found == 63 ? 0 : (int)(63 ^ found);
}

static void test_no_capability_is_left(void **state)
{
	need_filter();
	assert_int_equal(in_sandbox(holds_nothing), 0);
}

static int manages(void)
{
	char *path = strdup("/tmp/fmd-sandbox-XXXXXX");
	int fd = mkstemp(path), status = 0;

	if (fd < 0 || write(fd, "x", 1) != 1 || fsync(fd) || chmod(path, 0600))
		return 1;
	close(fd);
	status |= rename(path, path) || unlink(path);
	fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		status |= socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0;
	free(path);
	return status ? 2 : 0;
}

static void test_what_a_manager_does_works(void **state)
{
	need_filter();
	assert_int_equal(in_sandbox(manages), 0);
}

/* ---- State of another user ------------------------------------------------------------------- */

static char folder[64];

static int look_at_folder(void)
{
	char err[512] = "", name[128];

	if (!sandbox_check_folder(folder, err, sizeof(err)))
		return 0;
	snprintf(name, sizeof(name), "%s/theirs: ", folder);
	return strncmp(err, name, strlen(name)) ? 2 : 1;
}

static void test_a_file_of_another_user_is_named_before_it_is_lost(void **state)
{
	char path[128];
	int fd;

	need_filter();
	if (geteuid())
		skip(); /* only root can have such a file */
	strcpy(folder, "/tmp/fmd-sandbox-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/theirs", folder);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(in_sandbox(look_at_folder), 0);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(in_sandbox(look_at_folder), 1);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_an_intruder_would_do_is_refused),
		cmocka_unit_test(test_the_memory_of_other_processes_is_closed),
		cmocka_unit_test(test_its_own_memory_is_closed),
		cmocka_unit_test(test_what_was_refused_is_counted_in_children_and_threads_too),
		cmocka_unit_test(test_no_capability_is_left),
		cmocka_unit_test(test_what_a_manager_does_works),
		cmocka_unit_test(test_a_file_of_another_user_is_named_before_it_is_lost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
