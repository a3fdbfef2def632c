/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mem: allocators that never return NULL, arenas, and a buffer of bytes.
 *
 * Out of memory is fatal here (one line on stderr, abort), so no caller checks. The caller owns
 * what a mem_ function returns and gives it back by free(). Sizes are in bytes. It brings the
 * libraries of C for memory and texts with it.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory of `count` elements of `size` bytes, to be released by free(): zeroed, and not zeroed. */
void *mem_alloc(size_t count, size_t size);
void *mem_alloc_unset(size_t count, size_t size);
/* Memory of one of what `pointer` is to point to, zeroed. */
#define mem_new(pointer) mem_alloc(1, sizeof(*(pointer)))
/* Memory of `count` elements of what `pointer` is to point to: zeroed, and not zeroed. */
#define mem_array(pointer, count)	mem_alloc(count, sizeof(*(pointer)))
#define mem_array_unset(pointer, count) mem_alloc_unset(count, sizeof(*(pointer)))
/* The number of elements of an array, which may not be a pointer. */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
/* Room that begins at a multiple of `alignment`, a power of two; not zeroed; free() releases it. */
void *mem_alloc_aligned(size_t alignment, size_t size);
/* Resizes `ptr` (NULL is fine) as reallocarray(3) does; new bytes are not zeroed. */
void *mem_resize(void *ptr, size_t count, size_t size);
#define mem_array_resize(array, count) mem_resize(array, count, sizeof(*(array)))
/* Zeroes, and copies, the first `count` elements of an array. */
#define mem_zero(array, count)	     memset(array, 0, (count) * sizeof(*(array)))
#define mem_copy(array, from, count) memcpy(array, from, (count) * sizeof(*(array)))
/*
 * The array with space for one element more than `count`, for `list = mem_grow(list, count)`: it
 * doubles whenever the count is a power of two. For arrays that grow by this alone.
 */
#define mem_grow(list, count)                                                                      \
	((count) & ((count)-1)                                                                     \
		 ? (list)                                                                          \
		 : mem_resize(list, (count) ? 2 * (size_t)(count) : 1, sizeof(*(list))))
/* A copy of a text, and a formatted text; the caller frees it. */
char *mem_strdup(const char *text);
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* snprintf(3) into an array of characters, which may not be a pointer. */
#define array_printf(array, ...) snprintf(array, sizeof(array), __VA_ARGS__)
/* Declares `it` for each element of an array: a pointer to it. `count` is asked before each. */
#define ARRAY_EACH(it, array, count)                                                               \
	for (typeof(*(array)) *it = (array); (size_t)(it - (array)) < (count); it++)
/*
 * Declares `row` for each element of a list of jansson's (any other value has none), and `row_at`,
 * its index. The outer loop runs once.
 */
#define JSON_EACH(row, list)                                                                       \
	for (size_t row##_at = 0, row##_once = 1; row##_once; row##_once = 0)                      \
		for (json_t * row; (row = json_array_get(list, row##_at)); row##_at++)

/*
 * The rest of a stream, or a whole file, with a '\0' behind it that *len does not count; the caller
 * frees it. mem_read_all() stops at an error, which ferror(in) shows. mem_read_path() returns NULL
 * with errno set.
 */
char *mem_read_all(FILE *in, size_t *len);
char *mem_read_path(const char *path, size_t *len);
/* The same, and where it returns NULL, "PATH: REASON" is in err. */
char *mem_read_named(const char *path, size_t *len, char *err, size_t err_size);
/* Writes what a stream holds back. Returns 0, or -errno where that or an earlier write failed. */
int mem_flush(FILE *out);

/*
 * An arena owns everything allocated from it, until arena_free() (NULL is fine) releases all of it
 * at once. Its memory is zeroed and aligned to 16 bytes.
 */
struct arena;
struct arena *arena_new(void);
void arena_free(struct arena *arena);
void *arena_alloc(struct arena *arena, size_t count, size_t size);
/* Of elements of what `pointer` is to point to. */
#define arena_array(arena, pointer, count) arena_alloc(arena, count, sizeof(*(pointer)))
char *arena_strdup(struct arena *arena, const char *text);

/* ---- A buffer of received bytes that were not used yet, first in, first out ------------------ */

/* All 0 is empty. data[start] to data[end - 1] is held; a reader that has used some moves start. */
struct bytes {
	char *data; /* its own, from malloc: for the owner to free */
	size_t start, end, size;
};

/* Copies len bytes to the end; data may move. */
void bytes_add(struct bytes *bytes, const char *data, size_t len);
/* The number of bytes that are held. */
size_t bytes_held(const struct bytes *bytes);
