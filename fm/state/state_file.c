/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fm/state/state_file.h"
#include "topology/base/mem.h"

#define END_SIZE   44
#define LARGEST	   (1 << 30)
#define HEAD	   "# fmd state "
#define HEAD_LEN   (sizeof(HEAD) - 1)
#define END	   "# end "
#define PIECE_SIZE 65536

/* ---- The sum --------------------------------------------------------------------------------- */

static uint64_t add_word(uint64_t sum, uint64_t word)
{
	sum = (sum + word + 1) * 0x9e3779b97f4a7c15ull;
	return sum ^ sum >> 32;
}

uint64_t state_sum(const void *bytes, size_t length)
{
	uint64_t sum = add_word(0, length);

	for (size_t at = 0; at < length; at += sizeof(sum)) {
		uint64_t word = 0;

		memcpy(&word, (const char *)bytes + at,
		       length - at < sizeof(word) ? length - at : sizeof(word));
		sum = add_word(sum, word);
	}
	return sum;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Whether it is a number of exactly so many digits. */
static bool is_number(const char *text, unsigned digits, int base, uint64_t *value)
{
	char copy[24], *end;

	memcpy(copy, text, digits);
	copy[digits] = '\0';
	*value = strtoull(copy, &end, base);
	return strspn(copy, "0123456789abcdef") == digits && end == copy + digits;
}

/* Whether these 44 bytes are a last line, and of what. */
static bool parse_end(const char *at, uint64_t *length, uint64_t *sum)
{
	return !memcmp(at, END, 6) && at[26] == ' ' && at[43] == '\n' &&
	       is_number(at + 6, 20, 10, length) && is_number(at + 27, 16, 16, sum);
}

/* NULL: as it should be. */
static const char *judge(const char *text, size_t size, const char *name, size_t *head)
{
	const char *line = memchr(text, '\n', size);
	char wanted[128];
	uint64_t length, sum;

	snprintf(wanted, sizeof(wanted), HEAD "2: %s", name);
	*head = line ? (size_t)(line - text) + 1 : size;
	if (*head != strlen(wanted) + 1 || memcmp(text, wanted, *head - 1) != 0)
		return !strncmp(text, HEAD "2: ", HEAD_LEN + 3)
			       ? "wrong or damaged first line"
			       : "written by another version of fmd";
	if (size < *head + END_SIZE || !parse_end(text + size - END_SIZE, &length, &sum))
		return "truncated, or its last line is damaged";
	if (length != size - *head - END_SIZE)
		return "wrong length";
	return sum == state_sum(text + *head, length) ? NULL : "wrong checksum";
}

static bool has_end(const char *text, size_t size)
{
	uint64_t length, sum;

	return size >= END_SIZE && parse_end(text + size - END_SIZE, &length, &sum);
}

static enum state_result take(char *text, size_t size, const char *name, struct state_content *c)
{
	size_t head = 0;

	if (size < HEAD_LEN || memcmp(text, HEAD, HEAD_LEN) != 0) {
		if (has_end(text, size)) {
			c->why = "its first line is missing";
			return STATE_DAMAGED;
		}
		c->bytes = text;
		c->length = size;
		return STATE_OLD;
	}
	c->why = judge(text, size, name, &head);
	if (c->why)
		return STATE_DAMAGED;
	c->length = size - head - END_SIZE;
	memmove(text, text + head, c->length);
	text[c->length] = '\0';
	c->bytes = text;
	return STATE_WHOLE;
}

/*
 * What is not there, is no file or can't be read; *fd is -errno where it could not be opened. NULL:
 * it is open.
 */
static const char *open_regular(const char *path, int *fd, off_t *size)
{
	struct stat st;

	*fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (*fd < 0) {
		*fd = -errno;
		return strerror(-*fd);
	}
	if (fstat(*fd, &st))
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "not a regular file";
	*size = st.st_size;
	return st.st_size > LARGEST ? "the file is too large" : NULL;
}

static bool read_whole(int fd, char *text, size_t size, const char **why)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = read(fd, text + done, size - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			*why = got ? strerror(errno) : "truncated while it was read";
			return false;
		}
		done += (size_t)got;
	}
	return true;
}

enum state_result state_file_load(const char *path, const char *name, struct state_content *c)
{
	enum state_result said = STATE_DAMAGED;
	off_t size = 0;
	char *text;
	int fd;

	*c = (struct state_content){ 0 };
	c->why = open_regular(path, &fd, &size);
	if (fd == -ENOENT) {
		c->why = NULL;
		return STATE_ABSENT;
	}
	if (fd < 0)
		return STATE_DAMAGED;
	text = c->why ? NULL : mem_alloc((size_t)size + 1, 1);
	if (text && read_whole(fd, text, (size_t)size, &c->why))
		said = take(text, (size_t)size, name, c);
	close(fd);
	if (!c->bytes)
		free(text);
	return said;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Puts the first and the last line around what `write` makes; the sum needs all of it. */
static int put(FILE *out, const char *name, state_write_fn *write, void *arg)
{
	char *content = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&content, &length);
	int status = 0;

	if (!memory)
		return -errno;
	write(arg, memory);
	if (fclose(memory))
		status = -ENOMEM;
	fprintf(out, HEAD "2: %s\n", name);
	if (!status)
		fwrite(content, 1, length, out);
	fprintf(out, END "%020zu %016" PRIx64 "\n", length, state_sum(content, length));
	free(content);
	return status;
}

static int sync_folder(const char *path)
{
	char *folder = mem_strdup(path), *slash = strrchr(folder, '/');
	int fd, status = 0;

	if (slash)
		*slash = '\0';
	fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd))
		status = -errno;
	if (fd >= 0)
		close(fd);
	free(folder);
	return status;
}

static int write_beside(const char *beside, const char *name, state_write_fn *write, void *arg)
{
	FILE *out = fopen(beside, "we");
	int status = out ? 0 : -errno;

	if (!out)
		return status;
	status = put(out, name, write, arg);
	if (!status && (fflush(out) || fsync(fileno(out))))
		status = -errno;
	if (!status && ferror(out))
		status = -EIO;
	if (fclose(out) && !status)
		status = -errno;
	if (status)
		unlink(beside);
	return status;
}

int state_file_save(const char *path, const char *name, state_write_fn *write, void *arg)
{
	char *beside = mem_printf("%s.new", path);
	int status = write_beside(beside, name, write, arg);

	if (!status && rename(beside, path)) {
		status = -errno;
		unlink(beside);
	}
	if (!status)
		status = sync_folder(path);
	free(beside);
	return status;
}
