/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>
#include <sys/stat.h>
#include "fm/loop/log.h"
#include "fm/state/state_file.h"
#include "topology/base/mem.h"

#define END_SIZE 44
#define LARGEST	 (1 << 30)
#define HEAD	 "# fmd state "
#define HEAD_LEN (sizeof(HEAD) - 1)
#define END	 "# end "

/* ---- Lines in memory ------------------------------------------------------------------------- */

void records_add(struct records *r, const char *bytes, size_t length)
{
	if (r->length + length > r->room) {
		r->room = r->length + length + r->room / 2;
		r->bytes = mem_resize(r->bytes, r->room, 1);
	}
	if (length)
		memcpy(r->bytes + r->length, bytes, length);
	r->length += length;
}

const char *records_line(const char **at, const char *end, size_t *length)
{
	const char *line = *at, *feed;

	if (line == end)
		return NULL;
	feed = memchr(line, '\n', end - line);
	*length = feed - line;
	*at = feed + 1;
	return line;
}

void records_drop(struct records *r, size_t length)
{
	if (!length)
		return;
	memmove(r->bytes, r->bytes + length, r->length - length);
	r->length -= length;
}

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

	array_printf(wanted, HEAD "2: %s", name);
	*head = line ? (size_t)(line - text) + 1 : size;
	if (*head != strlen(wanted) + 1 || memcmp(text, wanted, *head - 1))
		return !strncmp(text, HEAD "2: ", HEAD_LEN + 3)
			       ? "wrong or damaged first line"
			       : "written by another version of fmd";
	if (size < *head + END_SIZE || !parse_end(text + size - END_SIZE, &length, &sum))
		return "truncated, or its last line is damaged";
	if (length != size - *head - END_SIZE)
		return "wrong length";
	return sum == state_sum(text + *head, length) ? NULL : "wrong checksum";
}

static enum state_result take(char *text, size_t size, const char *name, struct state_content *c)
{
	size_t head = 0;
	uint64_t length, sum;

	if (size < HEAD_LEN || memcmp(text, HEAD, HEAD_LEN)) {
		if (size >= END_SIZE && parse_end(text + size - END_SIZE, &length, &sum)) {
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
		done += got;
	}
	return true;
}

enum state_result state_file_load(const char *path, const char *name, struct state_content *c)
{
	enum state_result said = STATE_DAMAGED;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	char *text = NULL;
	struct stat st;

	*c = (struct state_content){ 0 };
	if (fd < 0) {
		c->why = errno == ENOENT ? NULL : strerror(errno);
		return c->why ? STATE_DAMAGED : STATE_ABSENT;
	}
	if (fstat(fd, &st))
		c->why = strerror(errno);
	else if (!S_ISREG(st.st_mode))
		c->why = "not a regular file";
	else if (st.st_size > LARGEST)
		c->why = "the file is too large";
	else
		text = mem_alloc((size_t)st.st_size + 1, 1);
	if (text && read_whole(fd, text, st.st_size, &c->why))
		said = take(text, st.st_size, name, c);
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

int state_file_save(const char *path, const char *name, state_write_fn *write, void *arg)
{
	char *beside = mem_printf("%s.new", path);
	FILE *out = fopen(beside, "we");
	int status = out ? put(out, name, write, arg) : -errno;

	if (out) {
		if (!status && (fflush(out) || fsync(fileno(out))))
			status = -errno;
		if (!status && ferror(out))
			status = -EIO;
		if (fclose(out) && !status)
			status = -errno;
		if (!status && rename(beside, path))
			status = -errno;
		if (status)
			unlink(beside);
	}
	if (!status) {
		char *folder = mem_strdup(path), *slash = strrchr(folder, '/');
		int fd;

		if (slash)
			*slash = '\0';
		fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0 || fsync(fd))
			status = -errno;
		if (fd >= 0)
			close(fd);
		free(folder);
	}
	free(beside);
	return status;
}

/* ---- The lock -------------------------------------------------------------------------------- */

/*
 * Where nobody can write (EROFS) such a fabric is managed by the state as it is, and each file that
 * can't be written is an alert.
 */
int state_lock(const char *state_dir)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char *path = mem_printf("%s/lock", state_dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), status = -1;

	if (fd < 0 && errno == EROFS) {
		status = 0;
		log_line(LOG_CORE, LOG_ERR, "%s: %s: state is read and not kept", path,
			 strerror(errno));
	} else if (fd < 0) {
		log_line(LOG_CORE, LOG_ERR, "%s: %s%s", path, strerror(errno),
			 errno == EACCES ? ": state_dir and all in it are to be of the user fmd "
					   "runs as (chown -R)"
					 : "");
	} else if (!fcntl(fd, F_SETLK, &lock)) {
		status = 0; /* the descriptor stays open, and with it the lock */
	} else {
		lock.l_pid = 0;
		fcntl(fd, F_GETLK, &lock);
		log_line(LOG_CORE, LOG_ERR, "%s: another fmd (process %d) uses this state_dir",
			 path, lock.l_pid);
		close(fd);
	}
	free(path);
	return status;
}
