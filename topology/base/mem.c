/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mem: allocation that cannot fail, and arenas.
 *
 * A fabric manager that is out of memory cannot go on: it prints a message and aborts, systemd
 * starts it again, and meanwhile the switches forward by the tables that they hold. So the failure
 * is handled here, in one place.
 *
 * An arena is a list of calloc()ed chunks that double in size up to CHUNK_MAX; a request that does
 * not fit opens a new chunk of at least its own size. Fresh chunks of large sizes are untouched
 * zero pages, so an arena costs page faults only where it is used. Memory is released only as a
 * whole.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include "topology/base/mem.h"

#define CHUNK_MIN  4096
#define CHUNK_MAX  (1 << 20)
#define ARENA_UNIT 16 /* alignment of all that an arena hands out */

struct arena_chunk {
	struct arena_chunk *next;
	size_t size, used; /* of data, bytes */
	_Alignas(ARENA_UNIT) unsigned char data[];
};

struct arena {
	struct arena_chunk *head;
	size_t next_size;
};

static void __attribute__((noreturn)) out_of_memory(size_t count, size_t size)
{
	fprintf(stderr, "out of memory: %zu x %zu bytes\n", count, size);
	abort();
}

void *mem_alloc(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size ? size : 1);

	if (!p)
		out_of_memory(count, size);
	return p;
}

void *mem_alloc_unset(size_t count, size_t size)
{
	return mem_resize(NULL, count, size);
}

#define LARGE_PAGE ((size_t)2 << 20)

void *mem_alloc_aligned(size_t alignment, size_t size)
{
	bool large = size >= 2 * LARGE_PAGE;
	void *p;

	if (posix_memalign(&p, large ? LARGE_PAGE : alignment, size ? size : 1))
		out_of_memory(1, size);
	if (large)
		madvise(p, size,
			MADV_HUGEPAGE); /* if there are any: then it is read twice as fast */
	return p;
}

void *mem_resize(void *ptr, size_t count, size_t size)
{
	void *p = reallocarray(ptr, count ? count : 1, size ? size : 1);

	if (!p)
		out_of_memory(count, size);
	return p;
}

char *mem_strdup(const char *text)
{
	char *p = strdup(text);

	if (!p)
		out_of_memory(strlen(text) + 1, 1);
	return p;
}

char *mem_printf(const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);

	int n = vasprintf(&text, format, args);

	va_end(args);
	if (n < 0)
		out_of_memory(strlen(format), 1);
	return text;
}

struct arena *arena_new(void)
{
	struct arena *arena = mem_new(arena);

	arena->next_size = CHUNK_MIN;
	return arena;
}

void arena_free(struct arena *arena)
{
	if (!arena)
		return;
	for (struct arena_chunk *c = arena->head, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(arena);
}

void *arena_alloc(struct arena *arena, size_t count, size_t size)
{
	size_t need;

	if (__builtin_mul_overflow(count, size, &need) || need > SIZE_MAX - ARENA_UNIT)
		out_of_memory(count, size);
	need = (need + ARENA_UNIT - 1) & ~(size_t)(ARENA_UNIT - 1);
	if (!arena->head || arena->head->size - arena->head->used < need) {
		/* Opens a chunk of at least `need` bytes and makes it the current one. */
		size_t capacity = need > arena->next_size ? need : arena->next_size;
		struct arena_chunk *c;

		if (capacity > SIZE_MAX - sizeof(*c))
			out_of_memory(1, need);
		c = mem_alloc(1, sizeof(*c) + capacity);
		c->size = capacity;
		c->next = arena->head;
		arena->head = c;
		if (arena->next_size < CHUNK_MAX)
			arena->next_size *= 2;
	}

	void *p = arena->head->data + arena->head->used;

	arena->head->used += need;
	return p;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	size_t n = strlen(text) + 1;

	return memcpy(arena_alloc(arena, n, 1), text, n);
}

char *mem_read_all(FILE *in, size_t *len)
{
	size_t capacity = 1 << 16, n;
	char *text = mem_alloc(capacity, 1);

	*len = 0;
	while ((n = fread(text + *len, 1, capacity - *len, in)) > 0) {
		*len += n;
		if (*len == capacity) {
			capacity *= 2;
			text = mem_resize(text, capacity, 1);
		}
	}
	text[*len] = '\0';
	return text;
}

int mem_flush(FILE *out)
{
	return ferror(out) || fflush(out) ? -(errno ? errno : EIO) : 0;
}

char *mem_read_path(const char *path, size_t *len)
{
	FILE *in = fopen(path, "re");

	if (!in)
		return NULL;

	char *text = mem_read_all(in, len);

	int error = ferror(in) ? errno : 0;

	fclose(in);
	if (!error)
		return text;
	free(text);
	errno = error;
	return NULL;
}

char *mem_read_named(const char *path, size_t *len, char *err, size_t err_size)
{
	char *text = mem_read_path(path, len);

	if (!text)
		snprintf(err, err_size, "%s: %s", path, strerror(errno));
	return text;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

size_t bytes_held(const struct bytes *bytes)
{
	return bytes->end - bytes->start;
}

void bytes_add(struct bytes *bytes, const char *data, size_t len)
{
	if (bytes->start == bytes->end)
		bytes->start = bytes->end = 0;
	if (bytes->end + len > bytes->size && bytes->start) {
		memmove(bytes->data, bytes->data + bytes->start, bytes_held(bytes));
		bytes->end -= bytes->start;
		bytes->start = 0;
	}
	if (bytes->end + len > bytes->size) {
		bytes->size = (bytes->end + len) * 2;
		bytes->data = mem_resize(bytes->data, bytes->size, 1);
	}
	memcpy(bytes->data + bytes->end, data, len);
	bytes->end += len;
}
