# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""
fmd-json(7) names every key of the documents that a running fmd gives, and those that it promises are documents. documents.keys has each with
its place and type: what fmd answers, the page, columns, printed texts and the OpenAPI document agree with it.
"""
import http.client
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import urllib.parse

import pytest

from fabric import Fabric, own_address

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENT = pathlib.Path(__file__).with_name("sa_client.py")
HOST, OFF, MEMBER = "H-0002c90380000100", "H-0002c90380000a00", "H-0002c90380008300"
LEAF, HCA, FAR, MACHINE = "leaf-su01-rail0", "dgx-su01-01 mlx5_0", "dgx-su01-20 mlx5_0", "dgx-su01-05"
BY_NAME = {"stages_ms", "inputs", "input_errors", "events_by_level", "host_verdicts", "states", "down_reasons"}  # objects whose keys are names of something
ROWS = {"lft": "entries", "path": "hops", "history": "rows", "health": "links", "nvswitch": "hosts"}
NO_ROWS = {"status", "topology", "top", "show", "cabling", "map"}  # documents that offset= and limit= do not fit


loader = importlib.machinery.SourceFileLoader("openapi", str(ROOT / "etc/openapi"))
openapi = importlib.util.module_from_spec(importlib.util.spec_from_loader("openapi", loader))
sys.dont_write_bytecode = True
loader.exec_module(openapi)
KEYS = openapi.documents()


def misfits(value, key, at, within=False, known=True):
    """Where a value is not what documents.keys says of it. known: every key in it has to be there."""
    if value is None:
        return [] if key.null else [f"{at}: null"]
    known = known and not key.open
    if key.type == "rows" and not within:
        return [it for n, row in enumerate(value) for it in misfits(row, key, f"{at}[{n}]", True, known)] if isinstance(value, list) else [f"{at}: no list"]
    if key.type in ("object", "rows"):
        keys = (openapi.find(KEYS, key.like) if key.like else key).keys
        if not isinstance(value, dict):
            return [f"{at}: no object"]
        return [it for name, each in value.items() for it in (misfits(each, keys[name], f"{at}.{name}", known=known) if name in keys
                                                              else [f"{at}.{name}: unknown"] if known else [])]
    return [] if fits(value, key.type) else [f"{at}: {value!r} is no {key.type}"]


def fits(value, word):
    kind, _, inner = word.partition(" of ")
    if kind in ("list", "map"):
        parts = value.values() if kind == "map" else value
        return isinstance(value, dict if kind == "map" else list) and all(fits(part, inner) for part in parts)
    if word.endswith("?"):
        return value is None or fits(value, word[:-1])
    types = {"text": str, "bool": bool, "int": int, "number": (int, float), "any": object}
    return isinstance(value, types[word]) and (word in ("bool", "any") or not isinstance(value, bool))


def names_of(key, borrowed=True):
    """Names of keys at any depth; of maps there are none."""
    names = set()
    for name, each in key.keys.items():
        names |= {name} | names_of(openapi.find(KEYS, each.like) if each.like and borrowed else each, borrowed)
    return names


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
        fabric.wait(lambda s: len(fabric.ask("cables", f"{LEAF}:33")) == 2, "the modules of a link were read: those of all take half a minute")
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
         ("health", {}), ("counters", {}), ("counters", {"rates": 1}), ("cables", {}), ("history", {"port": f"{LEAF}:33"}), ("top", {}), ("hosts", {}), ("show", {"what": MACHINE}), ("show", {"what": LEAF}),
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


@pytest.mark.parametrize("name, query", [case for case in CASES if case[1].get("format") != "lst"], ids=lambda x: x if isinstance(x, str) else "-".join(map(str, x.values())))
def test_every_key_is_where_it_is_told_to_be_and_of_its_type(web, name, query):
    _, body = get(web, name, **query)
    assert misfits(json.loads(body), KEYS[name], name) == []


def test_the_page_and_documents_keys_name_the_same():
    """The page names more where what is told depends on what it is about."""
    for name, told in sections().items():
        names = names_of(KEYS[name], borrowed=False)
        assert sorted(names - told) == [], name
        own = {key for line in re.findall(r"^([a-z_0-9]+(?:, [a-z_0-9]+)*)(?: .*)?$", re.split(rf"^\.SS {name}$", page(), flags=re.M)[1].split("\n.S")[0], re.M)
               for key in line.split(", ")}
        assert KEYS[name].open or sorted(own - names_of(KEYS[name]) - {"text"}) == [], name


def test_columns_and_printed_texts_are_of_keys_that_there_are():
    rows = re.findall(r'^COMMAND\("([a-z-]+)"(.*?)(?=^COMMAND|\Z)', (ROOT / "fm/control/commands.def").read_text(), re.M | re.S)
    for name, row in rows:
        for path in re.findall(r'\{ "[^"]+", "([a-z_.]+)', row):
            assert name not in KEYS or set(path.split(".")) <= names_of(KEYS[name]) | set(KEYS), (name, path)
    source = subprocess.run(["cpp", "-P", "-w", "-undef", "-x", "c", "-", "-o", "-"], input=(ROOT / "fm/control/documents.def").read_text(), check=True, capture_output=True,
                            text=True).stdout
    texts = {name: "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)) for name, text in re.findall(r'DOCUMENT\("([^"]+)",(.*?)\)\s*(?=DOCUMENT|\Z)', source, re.S)}
    assert len(texts) > 15
    for name, text in texts.items():
        assert text.count("{") == text.count("}"), name
        used = {part for path in re.findall(r"\{[?*$#!]*([a-z_.]+)", text) for part in path.split(".") if part}
        known = KEYS.get(name.split()[0])
        assert not known or "set" in name or "expect" in name or sorted(used - names_of(known)) == [], name


def test_the_openapi_document_has_every_document_and_its_parameters_are_taken(web):
    told = json.loads(subprocess.run([ROOT / "etc/openapi", "1.2"], check=True, capture_output=True, text=True).stdout)
    paths = {path.rsplit("/", 1)[1]: it["get"] for path, it in told["paths"].items()}
    assert set(paths) == documents() | {"stream"} and told["info"]["version"] == "1.2"
    for pointer in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(told)):
        at = told
        for part in pointer.split("/"):
            at = at[part]
        assert at
    samples = {"leaf": LEAF, "rail": 1, "su": 1, "host": MACHINE, "class": "compute", "n": 3, "offset": 0, "limit": 2, "since": "1h", "level": "warning", "kind": "link-down",
               "node": LEAF, "what": LEAF, "switch": LEAF, "from": HCA, "to": FAR, "text": "spine", "group": "0xc000", "partition": "0x7fff", "port": f"{LEAF}:33", "step": 60}
    for name, told_of in paths.items():
        needed = {it["name"]: samples[it["name"]] for it in told_of["parameters"] if it["required"]}
        for it in told_of["parameters"] if name != "stream" else ():
            value = "1" if it["schema"]["type"] == "boolean" else it["schema"].get("enum", [samples.get(it["name"], "name")])[0]
            if it["name"] == "sort" and name not in ("nodes", "switches", "links", "hosts", "counters"):
                continue
            answer, body = get(web, name, **{**needed, it["name"]: "a.name" if it["name"] == "sort" and name == "links" else value})
            assert answer.status == 200, (name, it["name"], body)


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
