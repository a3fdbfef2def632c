/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * umad_own: the library to preload, shared by its files. It stands before libibumad in a program,
 * and talks to the fmsim whose socket the environment names: FMSIM; FMSIM_NODE says which node's
 * machine the program is on.
 */
#pragma once

/* What is declared here is the library's face; all else is hidden. */
#pragma GCC visibility push(default)
#include <fcntl.h>
#include <infiniband/umad.h>
int open64(const char *path, int flags, ...);
int openat64(int dir, const char *path, int flags, ...);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
/*
 * Not of libibumad: how often the port's clients were asked to register anew, of which a kernel
 * makes an event.
 */
unsigned fmsim_reregistered(const char *ca_name, int num);
#pragma GCC visibility pop
#include <pthread.h>
#include "tests/sim/frame.h"
#include "tests/sim/frame_memory.h"

#define ISSM_PATH    "/dev/infiniband/issm"
#define AGENTS	     32
#define VENDOR2_LOW  0x30
#define VENDOR2_HIGH 0x4f

/* An open port. */
struct file {
	int fd, connection, wake;
	struct frame_memory *memory;
	pthread_mutex_t sending, receiving, asking;
	bool rmpp[AGENTS], known[AGENTS];
	_Atomic bool lost;
	_Atomic bool by_descriptor; /* its user waits on that, and never here */
	_Atomic uint32_t kept;	    /* requests sent that fmsim keeps until they are done */
	uint8_t *message;	    /* of several records */
	size_t len;
	bool whole;
};

/* umad_file.c */
struct file *file_of(int fd); /* or NULL, and errno */
bool file_is_lost(struct file *f);
int file_ask(struct file *f, struct frame_request *request); /* the reply's status, or -errno */

/* umad_wire.c: questions. */
int sim_connect(void); /* a descriptor, or -errno */
/*
 * Of a connection that is open; the reply's status, or -errno. fds NULL: none come with it, else
 * three.
 */
int sim_ask(int fd, struct frame_request *request, struct frame_reply *reply, int *fds);
/* By a connection of its own. */
int sim_ask_once(struct frame_request *request, struct frame_reply *reply);
void sim_request(struct frame_request *request, uint32_t kind, const char *ca, int port);
void sim_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern int sim_debug_level;

/* umad_view.c: the real library's choice of a port where none is named (-1: none). */
int view_resolve(const char *ca_name, int *port, char name[UMAD_CA_NAME_LEN]);
/* umad_issm.c: descriptor of IsSM for a path; -2: the path is no issm. */
int issm_open(const char *path, int flags);
