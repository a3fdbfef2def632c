/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* server_own: connections and files of clients, shared by the server's files. */
#pragma once

#include "tests/sim/frame.h"
#include "tests/sim/frame_memory.h"
#include "tests/sim/server.h"
#include "tests/sim/view.h"

#define LINE_MAX_BYTES 4096

struct waiting { /* a record that the ring had no room for */
	struct waiting *next;
	uint32_t len;
	bool more;
	uint8_t bytes[];
};

struct ufile; /* an open umad file: server_file.c */

struct connection {
	struct connection *next, **back;
	struct server *server;
	int fd;
	struct loop_fd *watch;
	struct ufile *file;
	struct kissm *issm;
	size_t got;
	union {
		struct frame_request request;
		char line[LINE_MAX_BYTES];
		uint8_t bytes[LINE_MAX_BYTES];
	};
};

struct server {
	struct loop *loop;
	struct double_fabric *d;
	struct kernel *k;
	char *path;
	int fd, wake; /* wake: an eventfd that clients write */
	struct loop_fd *watch, *wake_watch;
	struct loop_poll *poll; /* while there is work */
	uint64_t worked_us;	/* when there was some */
	uint64_t crowded_us;	/* when others had taken the processor.. */
	uint64_t crowd_looked_us;
	long preempted; /* ..by its count */
	server_line_fn *line;
	void *line_arg;
	pid_t judge; /* a copy that reads the fabric; 0 = none */
	struct connection *connections;
	struct ufile *files;
	struct loop_timer *reap;
};

/* server_file.c */
int ufile_open(struct connection *c, guid_t node, unsigned port); /* answers; 0 or -errno */
int ufile_adopt(struct connection *c, uint64_t inode);		  /* likewise */
/* The connection has ended; the file ends when nobody has its descriptor any more. */
void ufile_leave(struct ufile *f, const struct connection *c);
void ufiles_reap(void *server); /* those that nobody has */
void ufile_close(struct ufile *f);
int ufile_register(struct ufile *f, const struct frame_register *reg);
int ufile_unregister(struct ufile *f, unsigned agent);
int ufile_is_busy(struct ufile *f, const uint8_t header[64 + 24]);
bool ufile_work(struct ufile *f); /* whether there was any */
bool ufile_sleeps(struct ufile *f,
		  bool sleeps); /* tells the client; false: there is work after all */
struct ufile *ufile_next(const struct ufile *f);
void server_work_soon(struct server *s);
