/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sandbox: the filter by libseccomp. What is not allowed raises SIGSYS, whose handler makes the
 * call fail with EPERM, counts it and says its name on standard error: neither the signal's default
 * (the end of the fabric manager) nor a silent error.
 *
 * The handler may call nothing of libc that takes a lock, so it has the names of all calls ready.
 * They and the counter are file-scope, as a signal handler has no other way to them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <ucontext.h>
#include <unistd.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include "fm/os/sandbox.h"
#include "topology/base/mem.h"

/* ---- Capabilities ---------------------------------------------------------------------------- */

#define WORDS _LINUX_CAPABILITY_U32S_3

/*
 * See capabilities(7). The bounding set goes first: that takes CAP_SETPCAP, which root has; a
 * service's own user has neither it nor much of a set, and no_new_privs keeps the rest out of
 * reach.
 */
int capabilities_drop(bool keeps_ports)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct had[WORDS] = { 0 }, sets[WORDS] = { 0 };
	unsigned kept = keeps_ports ? 1u << CAP_NET_BIND_SERVICE : 0;
	int status = 0;

	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
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

int sandbox_check_folder(const char *folder, char *err, size_t err_size)
{
	DIR *dir = is_usable(folder, R_OK | W_OK | X_OK) ? opendir(folder) : NULL;
	struct dirent *entry;
	int status = 0;

	if (!dir)
		return refuse(err, err_size, folder, strlen(folder));
	while (!status && (entry = readdir(dir))) {
		char *path = mem_printf("%s/%s", folder, entry->d_name);

		if (*entry->d_name != '.' && !is_usable(path, R_OK | W_OK) && errno == EACCES)
			status = refuse(err, err_size, path, strlen(folder));
		free(path);
	}
	closedir(dir);
	return status;
}

/* ---- Calls that are refused ------------------------------------------------------------------ */

#define NAMES	   512
#define NAME_BYTES 32
#define LINES_MAX  20	  /* about refused calls: who tries in a loop does not fill the log */
#define UMAD_IOCTL 0x1b00 /* <rdma/ib_user_mad.h>: the type of all of its */
#define IOCTL_TYPE 0xff00
#define NEW_SPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME)

struct refused { /* in memory that children share */
	_Atomic unsigned count;
	_Atomic int latest;
};

static struct refused *refused;
static char (*call_names)[NAME_BYTES];

static const char *name_of(int number)
{
	return number >= 0 && number < NAMES && *call_names[number] ? call_names[number]
								    : "unknown";
}

static size_t add(char *line, size_t at, const char *text)
{
	while (*text)
		line[at++] = *text++;
	return at;
}

static size_t add_number(char *line, size_t at, unsigned number)
{
	char digits[12];
	size_t len = 0;

	do
		digits[len++] = '0' + number % 10;
	while (number /= 10);
	while (len)
		line[at++] = digits[--len];
	return at;
}

static void refuse_cb(int signum, siginfo_t *info, void *context)
{
	mcontext_t *registers = &((ucontext_t *)context)->uc_mcontext;
	unsigned count = atomic_fetch_add(&refused->count, 1);
	int number = info->si_syscall;
	char line[160];
	size_t len = 0;

	atomic_store(&refused->latest, number);
	if (count < LINES_MAX) {
		len = add(line, len, "<3>core: sandbox: the system call ");
		len = add(line, len, name_of(number));
		len = add(line, len, " (");
		len = add_number(line, len, number);
		len = add(line, len, ") was refused to process ");
		len = add_number(line, len, getpid());
		len = add(line, len,
			  count + 1 < LINES_MAX ? "\n" : "; further ones are not logged\n");
		if (write(STDERR_FILENO, line, len) < 0)
			len = 0; /* nowhere left to say so */
	}
#if defined(__x86_64__)
	registers->gregs[REG_RAX] = -EPERM;
#elif defined(__aarch64__)
	registers->regs[0] = (unsigned long long)-EPERM;
#elif defined(__powerpc64__)
	registers->gp_regs[3] = EPERM;
	registers->gp_regs[38] |= 0x10000000; /* an error */
#else
#error "which register holds the result of a system call?"
#endif
}

unsigned sandbox_refused(const char **latest)
{
	unsigned count = refused ? atomic_load(&refused->count) : 0;

	*latest = count ? name_of(atomic_load(&refused->latest)) : "";
	return count;
}

/* ---- The filter ------------------------------------------------------------------------------ */

/* Names that this architecture does not have are passed over. */
static int add_all(scmp_filter_ctx filter, uint32_t action, const char *const *names)
{
	int status = 0;

	for (; *names && !status; names++) {
		int number = seccomp_syscall_resolve_name(*names);

		if (number != __NR_SCMP_ERROR)
			status = seccomp_rule_add(filter, action, number, 0);
	}
	return status;
}

static struct scmp_arg_cmp is(unsigned argument, uint64_t value)
{
	return (struct scmp_arg_cmp){ argument, SCMP_CMP_EQ, value, 0 };
}

static struct scmp_arg_cmp masked(unsigned argument, uint64_t mask, uint64_t value)
{
	return (struct scmp_arg_cmp){ argument, SCMP_CMP_MASKED_EQ, mask, value };
}

#define ALLOW(call, ...)                                                                           \
	(status = status ? status                                                                  \
			 : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(call), __VA_ARGS__))
#define ANSWER(call, error, ...)                                                                   \
	(status = status ? status                                                                  \
			 : seccomp_rule_add(filter, SCMP_ACT_ERRNO(error), SCMP_SYS(call),         \
					    __VA_ARGS__))

static int allow_daemon(scmp_filter_ctx filter)
{
	const int protections[] = { 0, PROT_WRITE, PROT_EXEC };
	const int families[] = { AF_UNIX, AF_INET, AF_INET6 };
	const int kinds[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	const unsigned long plain[] = { TCGETS, FIONREAD, FIONBIO };
	const int options[] = { PR_SET_NAME, PR_SET_PDEATHSIG, PR_SET_TIMERSLACK };
	int status = add_all(filter, SCMP_ACT_ALLOW, sandbox_calls);

	for (unsigned i = 0; i < 3; i++)
		ALLOW(mmap, 1, masked(2, PROT_WRITE | PROT_EXEC, protections[i]));
	ALLOW(mprotect, 1, masked(2, PROT_EXEC, 0));
	for (unsigned i = 0; i < 3; i++)
		for (unsigned j = 0; j < 3; j++)
			ALLOW(socket, 2, is(0, families[i]), masked(1, 0xf, kinds[j]));
	/* No netlink either. libc asks for addresses by it and goes on: not counted as refused. */
	ANSWER(socket, EAFNOSUPPORT, 1, is(0, AF_NETLINK));
	ALLOW(socketpair, 1, is(0, AF_UNIX));
	ALLOW(ioctl, 1, masked(1, IOCTL_TYPE, UMAD_IOCTL));
	for (unsigned i = 0; i < 3; i++)
		ALLOW(ioctl, 1, is(1, plain[i]));
	ALLOW(clone, 1, masked(0, NEW_SPACES, 0));
	/* It has its flags in memory, where no filter sees them: libc goes on with clone(2). */
	ANSWER(clone3, ENOSYS, 0);
	ALLOW(kill, 1, is(1, SIGKILL));
	ALLOW(prlimit64, 1, is(2, 0));
	ALLOW(setpriority, 2, is(0, PRIO_PROCESS), is(1, 0));
	for (unsigned i = 0; i < 3; i++)
		ALLOW(prctl, 1, is(0, options[i]));
#ifdef SANITIZED
	ALLOW(ptrace, 0);
	ALLOW(personality, 0);
	ALLOW(process_vm_readv, 0);
	ALLOW(mmap, 0);
	ALLOW(mprotect, 0);
	ALLOW(prctl, 0);
	ALLOW(clone, 0);
	ALLOW(mlock, 0);
	ALLOW(munlock, 0);
	ALLOW(prlimit64, 0);
#endif
	return status;
}

/* What is not in the list, or for `helper`, what is in its own, meets the action. 0, or -errno. */
static int install(uint32_t action, bool helper)
{
	scmp_filter_ctx filter = seccomp_init(helper ? SCMP_ACT_ALLOW : action);
	int status = filter ? seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) : -ENOMEM;

	if (!status)
		status = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a binary tree */
	if (!status)
		status = helper ? add_all(filter, action, sandbox_helper_calls)
				: allow_daemon(filter);
	if (!status)
		status = seccomp_load(filter);
	seccomp_release(filter);
	return status;
}

/* ---- Other processes' memory ----------------------------------------------------------------- */

/* ---- Entering -------------------------------------------------------------------------------- */

/* Only the first failure goes into err. */
static int note(int status, const char *what, char *err, size_t err_size)
{
	if (status && !*err)
		snprintf(err, err_size, "%s: %s", what, strerror(-status));
	return status ? -1 : 0;
}

int sandbox_enter(enum sandbox_mode mode, char *err, size_t err_size)
{
	*err = '\0';
	if (mode == SANDBOX_OFF)
		return 0;

	int failed = note(capabilities_drop(false), "cannot drop capabilities", err, err_size);

	/*
	 * A process of the same user can write code into another by /proc/PID/mem, which no filter
	 * of system calls sees: into a hook, say, which may execute programs. Who is in a Landlock
	 * domain can not do that to processes outside it. A domain has to forbid something: here,
	 * to make block devices, which takes a capability anyway. 0, or -errno.
	 */
	const struct landlock_ruleset_attr rules = { .handled_access_fs =
							     LANDLOCK_ACCESS_FS_MAKE_BLOCK };
	int fd = syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules.handled_access_fs), 0);
	int status = fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	failed |= note(status, "cannot enter a Landlock domain", err, err_size);

	failed |= note(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? -errno : 0, "cannot hide its memory",
		       err, err_size);

	struct sigaction action = { .sa_sigaction = refuse_cb,
				    .sa_flags = SA_SIGINFO | SA_NODEFER };

	refused = mmap(NULL, sizeof(*refused), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (refused == MAP_FAILED)
		refused = NULL;
	call_names = refused ? calloc(NAMES, sizeof(*call_names)) : NULL;
	for (int i = 0; call_names && i < NAMES; i++) {
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, i);

		if (name)
			snprintf(call_names[i], NAME_BYTES, "%s", name);
		free(name);
	}
	sigemptyset(&action.sa_mask);
	failed |= note(!call_names || sigaction(SIGSYS, &action, NULL) ? -ENOMEM : 0,
		       "cannot install a handler of refused calls", err, err_size);

	if (refused)
		failed |= note(install(mode == SANDBOX_ON ? SCMP_ACT_TRAP : SCMP_ACT_LOG, false),
			       "cannot load the seccomp filter", err, err_size);
	return failed;
}

int sandbox_enter_helper(char *err, size_t err_size)
{
	*err = '\0';

	int failed = note(capabilities_drop(true), "cannot drop capabilities", err, err_size);

	failed |= note(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? -errno : 0, "cannot hide its memory",
		       err, err_size);
	return failed | note(install(SCMP_ACT_ERRNO(EPERM), true), "cannot load the seccomp filter",
			     err, err_size);
}
