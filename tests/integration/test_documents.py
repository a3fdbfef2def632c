# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Documents by HTTP: by the words and options of their commands, in pages, compressed, and not twice."""
import gzip
import http.client
import json
import urllib.parse

import pytest

from fabric import Fabric, own_address

HOST = "H-0002c90380000100"
LEAF = "S-0002c90300000100"


@pytest.fixture(scope="module")
def web(pod_net, tmp_path_factory):
    address = own_address()
    fabric = Fabric(tmp_path_factory.mktemp("web"), pod_net, http_listen=f"{address}:9810")
    fabric.address = address, 9810
    try:
        fabric.start_fmd(HOST)
        fabric.wait_up()
        yield fabric
    finally:
        fabric.stop()


def ask(web, document, headers={}, **query):
    """The answer, read; query values as they are."""
    client = http.client.HTTPConnection(*web.address, timeout=60)
    try:
        client.request("GET", f"/api/v1/{document}" + ("?" + urllib.parse.urlencode(query) if query else ""), headers=headers)
        answer = client.getresponse()
        answer.body = answer.read()
        return answer
    finally:
        client.close()


def document(web, name, **query):
    answer = ask(web, name, **query)
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def test_words_and_options_are_those_of_fmctl(web):
    first, last = [row["name"] + " mlx5_0" for row in web.ask("hosts")][::31]
    assert document(web, "path", **{"from": first, "to": last}) == web.ask("path", first, last)
    assert document(web, "lft", switch=LEAF) == web.ask("lft", LEAF)
    assert document(web, "groups") == web.ask("groups")
    assert document(web, "partitions") == web.ask("partitions")


@pytest.mark.parametrize("query", [{}, {"from": HOST}, {"from": HOST, "to": "nobody"}, {"from": HOST, "to": HOST, "x": 1}])
def test_words_that_do_not_fit_are_refused_with_the_reason(web, query):
    answer = ask(web, "path", **query)
    assert answer.status == 400 and json.loads(answer.body)["error"]


def test_refusals_of_long_documents_are_no_documents(web):
    answer = ask(web, "lft", switch="nobody")
    assert answer.status == 400 and "nobody" in json.loads(answer.body)["error"]


@pytest.mark.parametrize("name, query", [("health", {"read": 1}), ("check", {"readback": 1}), ("check", {}), ("dump", {"file": "x"}),
                                         ("whatif", {}), ("loglevel", {"level": "debug"}), ("follow", {})])
def test_nothing_acts(web, name, query):
    assert ask(web, name, **query).status in (400, 404)


def test_pages_together_are_the_document(web):
    whole, pages = document(web, "links"), []
    while len(pages) < len(whole):
        answer = ask(web, "links", offset=len(pages), limit=100)
        assert answer.status == 200 and answer.headers["X-Total-Count"] == str(len(whole))
        page = json.loads(answer.body)
        assert 0 < len(page) <= 100
        pages += page
    assert pages == whole
    assert document(web, "links", offset=len(whole)) == []


def test_pages_of_a_table_within_a_document(web):
    whole = document(web, "lft", switch=LEAF)
    page = document(web, "lft", switch=LEAF, offset=3, limit=4)
    assert page == whole | {"entries": whole["entries"][3:7]}


@pytest.mark.parametrize("name, query", [("status", {"limit": 1}), ("topology", {"offset": 1}), ("links", {"limit": -1}),
                                         ("links", {"offset": "x"})])
def test_what_has_no_pages_says_so(web, name, query):
    answer = ask(web, name, **query)
    assert answer.status == 400 and json.loads(answer.body)["error"]


@pytest.mark.parametrize("name", ["links", "status"])
def test_documents_are_compressed_for_those_who_take_it(web, name):
    answer = ask(web, name, {"Accept-Encoding": "gzip, br"})
    assert answer.headers["Content-Encoding"] == "gzip" and answer.headers["Vary"] == "Accept-Encoding"
    plain = gzip.decompress(answer.body)
    assert len(answer.body) < len(plain) / 2
    assert json.loads(plain).keys() == document(web, name).keys() if name == "status" else json.loads(plain) == document(web, name)
    assert "Content-Encoding" not in ask(web, name).headers


@pytest.mark.parametrize("name", ["links", "partitions"])
def test_document_that_did_not_change_is_not_sent_again(web, name):
    tag = ask(web, name, {"Accept-Encoding": "gzip"}).headers["ETag"]
    for encoding in "gzip", "identity":
        again = ask(web, name, {"If-None-Match": tag, "Accept-Encoding": encoding})
        assert (again.status, again.body) == (304, b"") and again.headers["ETag"]
    assert ask(web, name, {"If-None-Match": '"00000000000000000000"'}).status == 200
