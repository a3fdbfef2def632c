/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * page: the document lies in the program, and is compressed once. The policy names its style and
 * its script by their SHA-256, so a browser runs these and nothing that somebody got into the page.
 */
#include <openssl/evp.h>
#include <openssl/sha.h>
#include "fm/http/page.h"
#include "fm/http/serve.h"
#include "topology/base/mem.h"

/* Written by fm/http/page/join.awk. */
__asm__(".section .rodata\npage_start: .incbin \"page.html\"\npage_end: .byte 0\n.previous");
extern const char page_start[], page_end[];

#define STYLE  "<style>"
#define SCRIPT "<script type=\"module\">"
#define TYPE   "text/html; charset=utf-8"

/* What the page may do: run its own script and ask its own server; no other site may frame it. */
#define POLICY                                                                                     \
	"default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; connect-src 'self'; "  \
	"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

#define BASE64_SIZE (4 * ((SHA256_DIGEST_LENGTH + 2) / 3) + 1)

#define POLICY_SIZE 400

struct page {
	char policy[POLICY_SIZE];
	struct encoded plain, packed;
};

/* The hash of the text between an element's tags, as a policy has it (CSP Level 3, 2.3.1). */
static void hash_element(const char *open, const char *close, char base64[BASE64_SIZE])
{
	const char *text = strstr(page_start, open) + strlen(open);
	const char *end = strstr(text, close);
	unsigned char digest[SHA256_DIGEST_LENGTH];

	SHA256((const unsigned char *)text, end - text, digest);
	EVP_EncodeBlock((unsigned char *)base64, digest, sizeof(digest));
}

static struct encoded encoded_page(bool gzip)
{
	const struct encode_wish wish = { .gzip = gzip };
	size_t len = page_end - page_start;
	char *copy = mem_alloc(len, 1);

	memcpy(copy, page_start, len);
	return encode_body(&wish, copy, len);
}

struct page *page_new(void)
{
	struct page *page = mem_new(page);
	char style[BASE64_SIZE], script[BASE64_SIZE];

	hash_element(STYLE, "</style>", style);
	hash_element(SCRIPT, "</script>", script);
	array_printf(page->policy, POLICY, script, style);
	page->plain = encoded_page(false);
	page->packed = encoded_page(true);
	return page;
}

enum MHD_Result page_reply(const struct page *page, struct MHD_Connection *connection)
{
	const struct encode_wish wish = reply_wish(connection);
	const struct encoded *out = wish.gzip ? &page->packed : &page->plain;
	bool had = encode_has(wish.if_none_match, page->plain.tag);
	struct MHD_Response *response = MHD_create_response_from_buffer(
		had ? 0 : out->len, out->body, MHD_RESPMEM_PERSISTENT);

	MHD_add_response_header(response, "Content-Security-Policy", page->policy);
	return reply_queue(connection, had ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, TYPE, out->tag,
			   !had && out->gzip, response);
}

void page_free(struct page *page)
{
	if (!page)
		return;
	free(page->plain.body);
	free(page->packed.body);
	free(page);
}
