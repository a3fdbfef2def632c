# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Documents by HTTP: by the words and options of their commands, in pages, compressed, and not twice."""
import gzip
import http.client
import json
import urllib.parse

import pytest

from fabric import own_address

HOST = "H-0002c90380000100"
LEAF = "S-0002c90300000100"


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


# ---- What the page draws, and where it looks for things


def test_map_has_every_switch_and_every_cable_between_switches(web):
    whole, rows = document(web, "map"), web.ask("switches")
    switches = whole["switches"]
    for key in "name", "guid", "lid", "role", "level", "su", "rail":
        assert switches[key] == [row[key] for row in rows]
    between = {}
    for link in web.ask("links"):
        if link["b"]["role"] in ("leaf", "spine", "core"):
            ends = link["a"]["name"], link["b"]["name"]
            between[ends] = between.get(ends, 0) + 1
    assert {(switches["name"][row[0]], switches["name"][row[1]]): row[2] for row in whole["trunks"]} == between
    assert all(len(row) == 3 for row in whole["trunks"])  # nothing is wrong
    assert switches["hcas"] == [32] * 8 + [0] * 4 and not any(switches["hcas_down"])


def trunk(web, lower, upper):
    """(links, down, cordoned, set aside ..)."""
    whole = document(web, "map")
    names = whole["switches"]["name"]
    row, = [row for row in whole["trunks"] if (names[row[0]], names[row[1]]) == (lower, upper)]
    return (row[2:] + [0] * 6)[:7]


def test_map_shows_what_is_down_and_what_is_cordoned(start, pod_net):
    address = own_address()
    web = start(pod_net, HOST, http_listen=f"{address}:9810")
    web.address = address, 9810
    spine = web.ask("switches")[8]
    links = [link for link in web.ask("links") if (link["a"]["guid"], link["b"]["guid"]) == ("0x" + LEAF[2:], spine["guid"])]
    web.console(f'Unlink "{LEAF}"[{links[0]["a"]["port"]}]')
    web.wait(lambda s: s["links_down"] == 1, "the cut is seen")
    assert trunk(web, "leaf-su01-rail0", spine["name"])[:3] == [len(links), 1, 0]
    web.ask("cordon", f'{LEAF}:{links[1]["a"]["port"]}')
    assert trunk(web, "leaf-su01-rail0", spine["name"])[:4] == [len(links), 1, 1, 0]
    web.console(f'Unlink "{LEAF}"[2]')
    web.wait(lambda s: s["links_down"] == 2, "the second cut is seen")
    assert document(web, "map")["switches"]["hcas_down"][0] == 1


@pytest.mark.parametrize("text, kind, name", [
    ("su01-05", "host", "dgx-su01-05"), ("DGX-SU01-05", "host", "dgx-su01-05"), ("rail3", "leaf", "leaf-su01-rail3"),
    ("spine-02", "spine", "spine-02"), ("0x0002c90380002100", "HCA", "dgx-su01-05 mlx5_0"), ("380002100", "HCA", "dgx-su01-05 mlx5_0"),
    ("H-0002c90380002100", "HCA", "dgx-su01-05 mlx5_0"), ("lid:257", "leaf", "leaf-su01-rail0"), ("0x101", "leaf", "leaf-su01-rail0"),
    ("0x0002c90380002101", "HCA", "dgx-su01-05 mlx5_0")])
def test_search_finds_by_name_guid_and_lid(web, text, kind, name):
    row = document(web, "search", text=text)[0]
    assert (row["kind"], row["name"]) == (kind, name) and row["what"]


def test_search_finds_groups_and_partitions(web):
    group = web.ask("groups")[0]
    for text in group["mlid"], group["mgid"], "mlid:" + group["mlid"]:
        assert any(row["kind"] == "group" and row["name"] == group["mgid"] for row in document(web, "search", text=text))
    assert document(web, "search", text="no such thing") == [] and document(web, "search", text="") == []
    assert len(document(web, "search", text="dgx")) == 24
