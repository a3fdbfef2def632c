/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Memory: allocators that never return NULL, and arenas.
 *
 * Out of memory is fatal here (one line on stderr, abort), so no caller checks.
 * An arena owns everything allocated from it and gives all of it back at once;
 * its memory is zeroed and aligned to 16 bytes.
 */
#ifndef FMD_TOPOLOGY_MEM_H
#define FMD_TOPOLOGY_MEM_H

#include <stddef.h>
#include <stdio.h>

/* Zeroed; free() gives it back. */
void *mem_alloc(size_t count, size_t size);
void *mem_alloc_unset(size_t count, size_t size); /* not zeroed */
/* Not zeroed; begins at a multiple of `alignment`, a power of two. free() gives it back. */
void *mem_alloc_aligned(size_t alignment, size_t size);
/* Like reallocarray: new bytes are not zeroed. */
void *mem_resize(void *ptr, size_t count, size_t size);
char *mem_strdup(const char *text);
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * The rest of a stream, or a whole file, and a '\0' behind it that *len does not count; the caller
 * frees it. mem_read_all: ask ferror(in). mem_read_path: NULL on an error, which errno has.
 */
char *mem_read_all(FILE *in, size_t *len);
char *mem_read_path(const char *path, size_t *len);

struct arena;
struct arena *arena_new(void);
void arena_free(struct arena *arena); /* NULL is fine */
void *arena_alloc(struct arena *arena, size_t count, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
size_t arena_bytes(const struct arena *arena);

#endif
