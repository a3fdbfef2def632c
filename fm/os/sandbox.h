/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sandbox: what the process gives up once it has its files and sockets: all capabilities, the way
 * to get any (PR_SET_NO_NEW_PRIVS), and by a seccomp filter all system calls but those that a
 * running fabric manager makes (sandbox_calls.c). It starts no program any more: fm/os/helper.h
 * does, and it can not write into that process, or a hook, by /proc either: a Landlock domain.
 *
 * A call that is not in the list does not end the process. It fails with EPERM, and it is counted
 * and reported: it means an attack, or a library that wants more than the list has. The count is
 * shared with children of fork(2).
 */
#pragma once

#include "fm/conf/conf.h"

/*
 * For all threads of this process and what it forks, for good. To be called with one thread:
 * capabilities are each thread's own. 0; or -1 with what was not given up in err: the rest was.
 */
int sandbox_enter(enum sandbox_mode mode, char *err, size_t err_size);

/*
 * The same for the helper, whose programs are the operators': no capability but to bind ports below
 * 1024, if there was one, and none of that for its programs; no system call that is an
 * administrator's (sandbox_helper_calls).
 */
int sandbox_enter_helper(char *err, size_t err_size);

/* How many calls were refused since the process has begun; *latest: the name of one of them. */
unsigned sandbox_refused(const char **latest);

/*
 * Folders that a process without capabilities must be able to use though it is root's: whether it
 * may read and write `folder` and all files in it; on a read-only file system, read. 0, or -1 with
 * the first that it may not.
 */
int sandbox_check_folder(const char *folder, char *err, size_t err_size);

/* Names of system calls, NULL at the end; the manual lists them. */
extern const char *const sandbox_calls[];	  /* allowed to the daemon */
extern const char *const sandbox_bounded_calls[]; /* allowed with some arguments: sandbox.c */
extern const char *const sandbox_helper_calls[];  /* refused to the helper and its programs */

/* Sanitizers do more than the daemon: at its end they stop all its threads and look at them. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

/*
 * Gives up all capabilities of this thread and of programs that it executes, and the means to gain
 * any. keeps_ports: it keeps the one to bind ports below 1024, for itself alone. 0; or -errno of
 * the first step that failed, the others are done all the same.
 */
int capabilities_drop(bool keeps_ports);
