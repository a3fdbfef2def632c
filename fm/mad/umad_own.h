/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * umad_own: what the files of io_umad share: the port, its descriptors and agents. The essay is in
 * io_umad.c.
 */
#pragma once

#include "fm/mad/io.h"
#include "fm/mad/wire.h"

/* ---- Which local port to run on -------------------------------------------------------------- */

struct umad_vpds { /* what was read of devices: that takes long, and does not change */
	unsigned count;
	struct {
		char device[32];
		bool manages_nvswitches;
	} list[32];
};

struct umad_wish {		/* of the configuration */
	guid_t guid;		/* the port's, whatever the others say; 0 = by these */
	char guids[512];	/* of ports, the first is preferred; "" = any */
	char devices[256];	/* likewise, where no GUIDs are given */
	unsigned port;		/* of a device; 0 = any */
	struct umad_vpds *vpds; /* borrowed; NULL where a port is named by its GUID */
};

/*
 * Whether the vital product data in this file are of an adapter that leads to NVSwitches: their
 * keyword SMDL says SW_MNG.
 */
bool umad_port_manages_nvswitches(const char *vpd_path);
/*
 * The port with this GUID; or the first InfiniBand port, of the device or of all, that has a link,
 * else the first. Not chosen unless it is named: a port that is disabled for subnet managers
 * (IsSMdisabled, IBA 14.2.5.6), and one of an adapter that manages NVSwitches. A port of a device
 * (port != 0) is taken as it is. 0, or -ENODEV with a reason in err.
 */
int umad_port_choose(const struct umad_wish *wish, struct io_port_info *info, char *err,
		     size_t err_size);
/* GUIDs of all that a manager may run on and that have a link, the preferred first; how many. */
unsigned umad_ports(const struct umad_wish *wish, guid_t guids[IO_PORTS]);

/* ---- Long answers, written by a thread of their own ------------------------------------------ */

/*
 * An RMPP answer is one write(), in which the kernel makes all its segments: 64 MB of records are
 * 335,000 of them, a tenth of a second or more. Nothing else of this program waits for that: the
 * answer is put together and written by the thread, which begins with the first that is given and
 * ends with the writer. All else happens in the loop: what is written is reported there, and bodies
 * are given back there.
 *
 * The kernel keeps an answer until its last segment is acknowledged, eight seconds where nobody
 * does, and reports neither. So the bound is on what may be under way: each LID's level, and that
 * of all, runs out in that time.
 */

#define UMAD_WRITER_EACH    (128ull << 20) /* bytes under way to one LID */
#define UMAD_WRITER_ALL	    (1024ull << 20)
#define UMAD_WRITER_LIFE_US 8000000ull /* of an answer that nobody acknowledges, all tries */

struct umad_writer;

struct umad_written {
	int error; /* errno; 0 = the kernel has it */
	uint16_t lid;
	size_t len;
	unsigned left; /* answers that are still to be written */
};
typedef void umad_written_fn(void *arg, const struct umad_written *written);

/*
 * address: umad's header, complete, of umad_size() bytes. The answer is head and what body has
 * behind as many bytes, len bytes in all.
 */
struct umad_answer {
	int port, agent;
	int timeout_ms, retries; /* of an acknowledgement; 0 = the kernel's 2 s */
	uint16_t lid;
	const void *address;
	const uint8_t *head;
	size_t head_len, len;
	struct io_body *body;
};

/*
 * The caller's; fn is called from the loop when an answer was written, or could not be. NULL: there
 * is no descriptor for the thread's reports (errno says why), so answers are written by the loop.
 */
struct umad_writer *umad_writer_new(struct loop *loop, umad_written_fn *fn, void *arg);
/* Waits for the write() that is out, if one is; the rest is dropped. NULL is fine. */
void umad_writer_free(struct umad_writer *w);
/*
 * Queues an answer for the thread: address and head are copied, of body a reference is taken. 0;
 * -EAGAIN: too much is under way already; other -errno: the thread could not be started.
 */
int umad_writer_give(struct umad_writer *w, const struct umad_answer *answer);
/* Answers given and not reported yet: until then nothing else may be done with their descriptor. */
unsigned umad_writer_left(const struct umad_writer *w);
/*
 * Counts an answer that was written without the thread. False, and nothing is counted: too much is
 * under way.
 */
bool umad_writer_count(struct umad_writer *w, uint16_t lid, size_t len);

/* ---- How much of the time requests to the SA may take ---------------------------------------- */

/*
 * Without other work all that they want; while a fault is being answered, or an update is under
 * way, one part in SA_SHARE_PART of the time that passes, however often the loop comes round
 * meanwhile. Requests that nobody reads wait in the kernel (200,000 MADs), and hosts repeat theirs.
 *
 * Pure: times are given.
 */

#define SA_SHARE_PART 20

struct sa_share {	/* all 0: nothing was seen yet */
	uint64_t at_us; /* when it was looked at last */
	/*
	 * in parts of a microsecond, SA_SHARE_PART to one; below 0: more was taken than there was
	 */
	int64_t left;
};

/*
 * It is now_us, and other work is under way or not. True: another request, or a few, may be served.
 * At most a part of slice_us is saved up.
 */
bool sa_share_may(struct sa_share *share, uint64_t now_us, uint64_t slice_us, bool busy);
/*
 * Requests took so long, of processor time; where no other work was under way that costs nothing.
 */
void sa_share_spend(struct sa_share *share, uint64_t us);

/* ---- The port, its descriptors and agents ---------------------------------------------------- */

#define UMAD_BLOCK_MS 1 /* the other events wait no longer than that */

enum { AGENT_SMI_LID, AGENT_SMI_DR, AGENT_SA, AGENT_PERF, AGENT_VENDOR, AGENT_TABLES, AGENTS };

/*
 * SMPs are read first, and what ports answer of counters and registers: all are answers to us, no
 * more than we asked for, and share a window of transactions, so that either, left unread behind
 * requests to the SA, would hold up the other. On a simulator all are the first.
 */
enum { HANDLE_SMI, HANDLE_GS, HANDLE_TABLES, HANDLES };

struct handle {
	struct umad_io *u;
	int port;      /* libibumad's, -1 = closed */
	bool kept;     /* an earlier process opened it, and registered its agent */
	char name[48]; /* as the service manager keeps it; "" = it does not */
	struct loop_fd *watch;
};

struct later { /* an SA request that was read, and not handed on yet */
	struct io_addr from;
	uint8_t mad[WIRE_MAD_SIZE];
};

struct umad_io {
	struct io io; /* first */
	struct umad_wish wish;
	struct umad_vpds vpds;
	struct loop *loop;
	struct handle handles[HANDLES];
	struct umad_writer *writer; /* NULL on a simulator, and while the port is closed */
	struct loop_poll *poll;
	struct later *later; /* a ring; NULL until a simulator was opened */
	unsigned later_first, nlater;
	struct sa_share share;
	/* armed: requests to the SA are left unread; NULL while the port is closed */
	struct loop_timer *resume;
	int agents[AGENTS];
	int issm; /* held open while IsSM is set, else -1 */
	unsigned expected;
	unsigned lively;     /* ibsim: waits in vain until the loop may sleep */
	unsigned unanswered; /* requests sent, ours or not any more */
	void *tx, *rx;
	size_t tx_size, rx_size; /* of the MAD in them */
};

/*
 * The writer's umad_written_fn. Until it says that all is written requests for tables are left
 * unread: the writer has their descriptor.
 */
void umad_written(void *arg, const struct umad_written *written);
