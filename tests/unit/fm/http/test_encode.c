/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Bodies as clients want them: compressed, or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "fm/http/serve.h"

#define LONG 100000

static char *long_text(void)
{
	char *text = malloc(LONG + 1);

	for (unsigned i = 0; i < LONG; i++)
		text[i] = "{\"name\":\"leaf\"}"[i % 15];
	text[LONG] = '\0';
	return text;
}

static void gzip_is_taken_where_it_is_admitted(void **state)
{
	assert_true(encode_accepts_gzip("gzip"));
	assert_true(encode_accepts_gzip("gzip, deflate, br, zstd"));
	assert_true(encode_accepts_gzip("br;q=1.0, GZIP;q=0.2"));
	assert_true(encode_accepts_gzip(" identity ,\tgzip ; q=1"));
	assert_false(encode_accepts_gzip(NULL));
	assert_false(encode_accepts_gzip(""));
	assert_false(encode_accepts_gzip("gzip;q=0"));
	assert_false(encode_accepts_gzip("gzip; q=0.000, identity"));
	assert_false(encode_accepts_gzip("x-gzip, gzipped"));
	assert_false(encode_accepts_gzip("deflate;gzip"));
}

static void compressed_body_is_the_body(void **state)
{
	const struct encode_wish wish = { .gzip = true };
	struct encoded out = encode_body(&wish, long_text(), LONG);
	char *back = malloc(LONG), *text = long_text();
	z_stream z = { .next_in = (Bytef *)out.body,
		       .avail_in = (uInt)out.len,
		       .next_out = (Bytef *)back,
		       .avail_out = LONG };

	assert_true(out.gzip && out.len < LONG / 20);
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.total_out, LONG);
	assert_memory_equal(back, text, LONG);
	inflateEnd(&z);
	free(back);
	free(text);
	free(out.body);
}

static void short_and_incompressible_bodies_go_as_they_are(void **state)
{
	const struct encode_wish wish = { .gzip = true };
	struct encoded out = encode_body(&wish, strdup("{}"), 2);
	char *noise = malloc(LONG);
	unsigned long long seed = 1;

	assert_false(out.gzip);
	assert_int_equal(out.len, 2);
	free(out.body);
	for (unsigned i = 0; i < LONG; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		noise[i] = (char)(seed >> 56);
	}
	out = encode_body(&wish, noise, LONG);
	assert_false(out.gzip);
	assert_int_equal(out.len, LONG);
	free(out.body);
}

static struct encoded ask(bool gzip, const char *if_none_match)
{
	const struct encode_wish wish = { gzip, if_none_match };

	return encode_body(&wish, long_text(), LONG);
}

static void who_has_it_gets_no_body(void **state)
{
	struct encoded plain = ask(false, NULL), packed = ask(true, NULL), again;
	char header[100];

	assert_string_not_equal(plain.tag, packed.tag);
	assert_true(packed.tag[0] == '"' && packed.tag[strlen(packed.tag) - 1] == '"');
	again = ask(true, packed.tag);
	assert_null(again.body);
	assert_int_equal(again.len, 0);
	again = ask(false, packed.tag);
	assert_null(again.body);
	snprintf(header, sizeof(header), "\"other\", W/%s", plain.tag);
	again = ask(true, header);
	assert_null(again.body);
	again = ask(true, "\"00000000000000000000\"");
	assert_non_null(again.body);
	free(again.body);
	again = ask(true, "\"\"");
	assert_non_null(again.body);
	free(again.body);
	free(plain.body);
	free(packed.body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gzip_is_taken_where_it_is_admitted),
		cmocka_unit_test(compressed_body_is_the_body),
		cmocka_unit_test(short_and_incompressible_bodies_go_as_they_are),
		cmocka_unit_test(who_has_it_gets_no_body),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
