/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as a segment of a journal. Whatever is read lies within it, numbers of bytes go upward,
 * and each line that was taken is, written again, the same bytes. Behind a first byte that is odd
 * the rest is the text of a line that is right, so that the sum keeps nobody out.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "fm/state/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum journal_result read_all(const char *bytes, size_t size)
{
	struct journal_reader r = { bytes, size, 0, 0 };
	struct journal_line line;
	struct records again = { 0 };
	enum journal_result said;

	while ((said = journal_next(&r, &line)) == JOURNAL_LINE) {
		size_t length = r.next - r.at;

		assert(r.next > r.at && r.next <= size && bytes[r.next - 1] == '\n');
		assert(line.text >= bytes + r.at && line.text + line.length == bytes + r.next - 1);
		again.length = 0;
		assert(journal_put(&again, &line));
		assert(again.length == length && !memcmp(again.bytes, bytes + r.at, length));
	}
	assert(said != JOURNAL_END || r.at == size);
	assert(said != JOURNAL_TORN || !memchr(bytes + r.at, '\n', size - r.at));
	free(again.bytes);
	return said;
}

/* Two lines, the second one's bytes changed as the input's next byte says. */
static void read_framed(const uint8_t *data, size_t size)
{
	struct journal_line line = { .seq = data[0],
				     .word = JOURNAL_RECORD,
				     .name = "groups",
				     .text = (const char *)data + 1,
				     .length = size - 1 };
	struct records text = { 0 };
	size_t one;

	if (!journal_put(&text, &line)) {
		assert(memchr(line.text, '\n', line.length));
		return;
	}
	assert(read_all(text.bytes, text.length) == JOURNAL_END);
	one = text.length;
	assert(journal_put(&text, &line));
	text.bytes[one + data[0] % (text.length - one - 1)] ^= 1;
	assert(read_all(text.bytes, text.length) == JOURNAL_DAMAGED);
	free(text.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 2 && data[0] % 2)
		read_framed(data + 1, size - 1);
	read_all((const char *)data, size);
	return 0;
}
