# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fmd-json(7) names every key of the documents that a running fmd gives, and those that it promises are documents."""
import http.client
import json
import pathlib
import re
import sys
import urllib.parse

import pytest

from fabric import Fabric, own_address

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENT = pathlib.Path(__file__).with_name("sa_client.py")
HOST, OFF, MEMBER = "H-0002c90380000100", "H-0002c90380000a00", "H-0002c90380008300"
LEAF, HCA, FAR, MACHINE = "leaf-su01-rail0", "dgx-su01-01 mlx5_0", "dgx-su01-20 mlx5_0", "dgx-su01-05"
BY_NAME = {"stages_ms", "inputs", "input_errors", "events_by_level", "host_verdicts", "states"}  # objects whose keys are names of something
ROWS = {"lft": "entries", "path": "hops", "health": "links", "nvswitch": "hosts"}
NO_ROWS = {"status", "topology", "top", "show", "cabling", "map"}  # documents that offset= and limit= do not fit


def page():
    return (ROOT / "etc/fmd-json.7").read_text().replace("\\-", "-")


def sections():
    """The keys that each section of DOCUMENTS names, those of the sections that it refers to included."""
    text = page()
    parts = re.split(r"^\.SS (\S+)\n", text[text.index(".SH DOCUMENTS"):text.index(".SH ANSWERS")], flags=re.M)[1:]
    parts = dict(zip(parts[::2], parts[1::2]))
    own = {name: {key for line in re.findall(r"^([a-z_0-9]+(?:, [a-z_0-9]+)*)(?: .*)?$", part, re.M) for key in line.split(", ")}
           for name, part in parts.items()}
    return {name: keys.union(*(own[other] for other in re.findall(r"as (?:in|under|summary in|the figures in) ([a-z]+)", parts[name]) if other in own))
            for name, keys in own.items()}


def keys_of(value):
    """All keys at any depth."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(keys_of(inner) for key, inner in value.items() if key not in BY_NAME))


def documents():
    """Commands that are documents, by their rows in the sources."""
    rows = re.findall(r'^COMMAND\("([a-z-]+)"(.*?)(?=^COMMAND|\Z)', (ROOT / "fm/control/commands.def").read_text(), re.M | re.S)
    return {name for name, row in rows if ".document = " in row}


@pytest.fixture(scope="module")
def web(pod_net, tmp_path_factory):
    """With a host that is off, a cordon, an override, a member, and every port read twice."""
    address = own_address()
    fabric = Fabric(tmp_path_factory.mktemp("web"), pod_net, http_listen=f"{address}:9810", perf_interval=1)
    fabric.address = address, 9810
    try:
        fabric.start_fmd(HOST)
        fabric.wait_up()
        fabric.console(f'Unlink "{OFF}"')
        fabric.wait_up(lambda s: s["links_down"] == 1, "the cut is seen")
        fabric.fmctl("cordon", "spine-01")
        fabric.fmctl("nvswitch", "set", MACHINE, "NO_P2P")
        for arguments in ("join", "0x0002c90380008301", "ff12401bffff00000000000000000042", "1"), ("subscribe",):
            fabric.run(sys.executable, CLIENT, fabric.status()["sm_lid"], *arguments, host=MEMBER)
        fabric.wait(lambda s: fabric.ask("top")["known"] >= s["links"] - s["links_down"], "all ports were read twice")
        yield fabric
    finally:
        fabric.stop()


def get(web, name, headers={}, **query):
    client = http.client.HTTPConnection(*web.address, timeout=60)
    try:
        client.request("GET", f"/api/v1/{name}" + ("?" + urllib.parse.urlencode(query) if query else ""), headers=headers)
        answer = client.getresponse()
        return answer, answer.read()
    finally:
        client.close()


CASES = [("status", {}), ("topology", {}), ("topology", {"format": "lst"}), ("nodes", {}), ("switches", {}), ("links", {}), ("links", {"down": 1}),
         ("health", {}), ("counters", {}), ("counters", {"rates": 1}), ("top", {}), ("hosts", {}), ("show", {"what": MACHINE}), ("show", {"what": LEAF}),
         ("show", {"what": HCA, "from": FAR}), ("show", {"what": f"{LEAF}:33"}), ("show", {"what": "lid:5"}), ("show", {"what": "0xc000"}),
         ("show", {"what": "pkey:0xffff"}), ("show", {"what": "dgx-su01-17 mlx5_4"}), ("show", {"what": "dgx-su01-02"}), ("lft", {"switch": LEAF}),
         ("path", {"from": HCA, "to": FAR}), ("path", {"from": "dgx-su01-01", "to": "dgx-su01-20"}), ("cabling", {}), ("groups", {}),
         ("partitions", {}), ("partitions", {"partition": "0x7fff"}), ("events", {"n": 1000}), ("map", {}), ("search", {"text": "spine"}), ("nvswitch", {})]


def test_every_document_has_its_section_and_its_case():
    assert set(sections()) == documents() == {name for name, _ in CASES}


@pytest.mark.parametrize("name, query", CASES, ids=lambda x: x if isinstance(x, str) else "-".join(map(str, x.values())))
def test_every_key_is_in_the_page(web, name, query):
    answer, body = get(web, name, **query)
    assert answer.status == 200 and json.loads(body), body
    assert sorted(keys_of(json.loads(body)) - sections()[name]) == []


@pytest.mark.parametrize("name", sorted(documents()))
def test_pages_and_tags_are_as_told(web, name):
    query = next(query for case, query in CASES if case == name)
    cut, body = get(web, name, offset=0, limit=1, **query)
    assert cut.status == (400 if name in NO_ROWS else 200), body
    assert (cut.headers["X-Total-Count"] is None) == (name in NO_ROWS)
    whole, _ = get(web, name, **query)
    assert whole.headers["ETag"] and whole.headers["X-Total-Count"] is None
    if name not in NO_ROWS:
        rows = json.loads(body)
        assert len(rows if isinstance(rows, list) else rows[ROWS[name]]) <= 1


def test_queries_of_the_page_are_answered(web):
    asked = re.findall(r"^/api/v1/(\S+)$", page(), re.M)
    assert len(asked) > 4
    for query in asked:
        answer, body = get(web, query)
        assert answer.status == 200, (query, body)


def test_answers_of_other_commands_have_the_keys_that_are_told(web):
    told = page()[page().index(".SH ANSWERS"):]
    for command in ("check",), ("cordon", "spine-02"), ("uncordon", "spine-02"), ("nvswitch", "set", MACHINE, "NO_P2P"), ("nvswitch", "clear", MACHINE):
        answer = web.ask(*command)
        for part in "proof", "in_force":
            answer.pop(part, None)
        for key in keys_of(answer):
            assert re.search(rf"\b{key}\b", told), (command, key)
