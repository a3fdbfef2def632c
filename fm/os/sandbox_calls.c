/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The system calls of a running fmd. A name that this machine's architecture does not have is left
 * out. fmd(8) lists them by the same groups; a test holds the two together.
 */
#include "fm/os/sandbox.h"

const char *const sandbox_calls[] = {
	/* files: state_dir, the configuration, /sys, /dev/infiniband, logs that are followed */
	"access", "chmod", "close", "close_range", "dup", "dup2", "dup3", "faccessat", "faccessat2",
	"fadvise64", "fallocate", "fchmod", "fchmodat", "fchown", "fcntl", "fdatasync", "flock",
	"fstat", "fstatfs", "fsync", "ftruncate", "getcwd", "getdents64", "inotify_add_watch",
	"inotify_init1", "inotify_rm_watch", "lseek", "lstat", "mkdir", "mkdirat", "newfstatat",
	"open", "openat", "pread64", "pwrite64", "read", "readlink", "readlinkat", "readv",
	"rename", "renameat", "renameat2", "rmdir", "stat", "statfs", "statx", "umask", "unlink",
	"unlinkat", "write", "writev",
	/* sockets */
	"accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt",
	"listen", "recvfrom", "recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt",
	"shutdown",
	/* the loop */
	"epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait",
	"eventfd2", "pipe", "pipe2", "poll", "ppoll", "pselect6", "select", "timerfd_create",
	"timerfd_settime",
	/* memory */
	"brk", "madvise", "mremap", "munmap",
	/* threads, children and signals */
	"exit", "exit_group", "fork", "futex", "getpid", "getppid", "gettid", "restart_syscall",
	"rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn",
	"rt_sigtimedwait", "sched_getaffinity", "sched_yield", "set_robust_list", "set_tid_address",
	"sigaltstack", "tgkill", "wait4", "waitid",
	/* what is asked of the system */
	"clock_getres", "clock_gettime", "clock_nanosleep", "getcpu", "getegid", "geteuid",
	"getgid", "getgroups", "getrandom", "getrlimit", "getrusage", "getuid", "gettimeofday",
	"nanosleep", "sysinfo", "time", "times", "uname", NULL
};

const char *const sandbox_bounded_calls[] = {
	"clone",       /* threads and children, no namespaces */
	"ioctl",       /* of umad devices, FIONREAD, FIONBIO, TCGETS */
	"kill",	       /* SIGKILL */
	"mmap",	       /* memory is not writable and executable at a time */
	"mprotect",    /* nothing becomes executable */
	"prctl",       /* PR_SET_NAME, PR_SET_PDEATHSIG, PR_SET_TIMERSLACK */
	"prlimit64",   /* asks, sets nothing */
	"setpriority", /* its own */
	"socket",      /* UNIX, INET, INET6, without raw ones */
	"socketpair",  NULL
};

const char *const sandbox_helper_calls[] = {
	/* what an administrator does to the machine, or one process to another */
	"acct",
	"add_key",
	"adjtimex",
	"bpf",
	"chroot",
	"clock_adjtime",
	"clock_settime",
	"create_module",
	"delete_module",
	"fanotify_init",
	"finit_module",
	"fsconfig",
	"fsmount",
	"fsopen",
	"fspick",
	"init_module",
	"io_uring_enter",
	"io_uring_register",
	"io_uring_setup",
	"ioperm",
	"iopl",
	"kexec_file_load",
	"kexec_load",
	"keyctl",
	"lookup_dcookie",
	"mount",
	"mount_setattr",
	"move_mount",
	"nfsservctl",
	"open_by_handle_at",
	"open_tree",
	"perf_event_open",
	"pivot_root",
	"process_vm_readv",
	"process_vm_writev",
	"ptrace",
	"quotactl",
	"reboot",
	"request_key",
	"setdomainname",
	"sethostname",
	"settimeofday",
	"setns",
	"swapoff",
	"swapon",
	"syslog",
	"umount",
	"umount2",
	"unshare",
	"userfaultfd",
	"uselib",
	"vhangup",
	NULL
};
