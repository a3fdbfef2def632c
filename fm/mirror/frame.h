/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * frame: what two managers send each other, as bytes. A frame is four bytes, its length without
 * them, most significant first; one byte, its type; a JSON object; a line feed; and what follows
 * the object, any bytes. Pure.
 *
 * Who does not know a type, or a member, leaves it: managers of different versions understand each
 * other.
 */
#ifndef FMD_MIRROR_FRAME_H
#define FMD_MIRROR_FRAME_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MOST	(256u << 20) /* bytes; no FILE or RECORDS is longer */
#define FRAME_HEAD_MOST (64u << 10)  /* bytes; nor any object, nor a frame of another type */
#define FRAME_WORD	(16u << 10)  /* bytes; nor what standbys send, nor a HELLO */

enum frame_type {
	/*
	 * {"protocol","port_guid","name","records","takeovers"}: first, both ways; take-overs as of
	 * generation_json()
	 */
	FRAME_HELLO = 'H',
	FRAME_ROLE = 'R', /* {"master","takeovers"}: of who was asked; anew when it changes */
	/*
	 * {"name","keep_head","keep_tail","length","sum","seq"}: a file of state_dir is so many
	 * bytes of what it was, the bytes that follow, and so many of its end; all of it has that
	 * length and sum (state_sum(), in hexadecimal). Other bytes than that follow no object
	 */
	FRAME_FILE = 'F',
	/*
	 * {"name","seq"}: lines that follow, each a change of that file behind all that was sent of
	 * it; only to who says "records" in its HELLO. A FILE has all changes that were sent
	 * before, but for those that are sent again
	 */
	FRAME_RECORDS = 'C',
	FRAME_WHOLE = 'W', /* {"names","seq"}: all there is was sent; other files are none */
	FRAME_PING = 'P',  /* {"seq"}: what was sent until now */
	FRAME_TAKEN = 'T', /* {"seq","whole"}: the answer: what has arrived */
};

struct frame {
	enum frame_type type;
	json_t *head;	  /* an object */
	const char *body; /* borrowed */
	size_t length;	  /* of the body */
};

/* The bytes, the caller's; NULL = it is too long. Takes no reference of head. */
char *frame_encode(enum frame_type type, const json_t *head, const char *body, size_t body_length,
		   size_t *length);

/* What has arrived and is not a whole frame yet. Zero-initialised is empty. */
struct frame_reader {
	char *bytes;
	size_t length, room;
	size_t most;	    /* longer frames are none; 0 = FRAME_MOST */
	json_t *head;	    /* of the frame that is arriving; NULL = it is not whole yet */
	size_t head_length; /* bytes that it was read from */
};

enum frame_read { FRAME_NONE, FRAME_READ, FRAME_BAD };
/* Copies what has arrived behind what is there. */
void frame_feed(struct frame_reader *r, const char *bytes, size_t length);
/*
 * The next whole frame of what was fed; its head is the caller's. FRAME_NONE: it is not whole yet.
 * FRAME_BAD: these are no frames, and the reader is of no use any more.
 */
enum frame_read frame_next(struct frame_reader *r, struct frame *frame);
/* Of the frame that is arriving, how many bytes in all; 0 = that is not known yet. */
size_t frame_expected(const struct frame_reader *r);
/* What frame_next() gave is not used any more. */
void frame_done(struct frame_reader *r);
void frame_reader_fini(struct frame_reader *r);

#endif
