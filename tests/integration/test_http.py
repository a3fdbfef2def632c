# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The fabric by HTTP: metrics, documents, a page; to look at only, whatever a client does."""
import base64
import concurrent.futures
import gzip
import hashlib
import http.client
import json
import pathlib
import re
import socket
import subprocess

import pytest

import promtext
from fabric import DEADLINE_S, ROOT, alike, own_address, poll, program

HOST = "H-0002c90380000100"
SAMPLE = re.compile(r'^[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.e+-]+$')


def ask(web, path, method="GET", body=None, headers={}, source=None):
    client = http.client.HTTPConnection(*web.address, timeout=60, source_address=source and (source, 0))
    try:
        client.request(method, path, body=body, headers=headers)
        answer = client.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        client.close()


def document(web, name):
    status, headers, body = ask(web, f"/api/v1/{name}")
    assert status == 200 and headers["Content-Type"] == "application/json"
    return json.loads(body)


def test_metrics_are_the_status_in_prometheus_text(web):
    status, headers, body = ask(web, "/metrics")
    assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4")
    lines = body.decode().splitlines()
    assert all(SAMPLE.match(line) for line in lines if not line.startswith("#"))
    samples = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert samples["fmd_hcas"] == "256" and samples["fmd_switches"] == "12"
    assert samples["fmd_fabric_up"] == "1"
    assert float(samples["fmd_smps_sent_total"]) >= 1000
    assert samples["fmd_proof_pairs_reachable"] == str(256 * 255)


BAD_PAGES = {
    "told twice": "# HELP a_x h\n# TYPE a_x gauge\na_x 1\n# HELP a_x h\n# TYPE a_x gauge\na_x 1\n",
    "no help": "# TYPE a_x gauge\na_x 1\n", "of no type": "# HELP a_x h\n# TYPE a_x thing\na_x 1\n",
    "type behind": "# HELP a_x h\na_x 1\n# TYPE a_x gauge\n", "no counter": "# HELP a_total h\n# TYPE a_total gauge\na_total 1\n",
    "counter": "# HELP a h\n# TYPE a counter\na 1\n", "milliseconds": "# HELP a_ms h\n# TYPE a_ms gauge\na_ms 1\n",
    "minutes": "# HELP a_minutes h\n# TYPE a_minutes gauge\na_minutes 1\n", "camel": "# HELP aB h\n# TYPE aB gauge\naB 1\n",
    "quote": "# HELP a_x h\n# TYPE a_x gauge\na_x{l=\"a\"b\"} 1\n", "no number": "# HELP a_x h\n# TYPE a_x gauge\na_x one\n",
    "label twice": "# HELP a_x h\n# TYPE a_x gauge\na_x{l=\"1\",l=\"2\"} 1\n", "no end": "# HELP a_x h\n# TYPE a_x gauge\na_x 1",
    "type in name": "# HELP a_gauge h\n# TYPE a_gauge gauge\na_gauge 1\n"}


@pytest.mark.parametrize("page", BAD_PAGES.values(), ids=BAD_PAGES)
def test_judge_of_metrics_refuses_what_promtool_refuses(page):
    assert promtext.problems(page)
    if promtext.promtool():
        assert promtext.promtool_says(page)[0] != 0


def test_metrics_are_taken_by_strict_parsers(web):
    page = ask(web, "/metrics")[2].decode()
    assert promtext.problems(page) == []
    if promtext.promtool():
        assert promtext.promtool_says(page) == (0, "")


@pytest.mark.parametrize("name, command", [
    ("topology", ["topology", "--format", "json"]), ("nodes", ["nodes"]), ("switches", ["switches"]),
    ("links", ["links"]), ("links?down=1", ["links", "--down"]), ("hosts", ["hosts"]), ("events?n=5", ["events", "-n", "5"]),
    ("events?kind=up&level=notice&since=1h", ["events", "--kind", "up", "--level", "notice", "--since", "1h"]),
    ("hosts?su=1&sort=-name", ["hosts", "--su", "1", "--sort", "-name"]), ("nodes?what=dgx-su01-05&rail=3", ["nodes", "dgx-su01-05", "--rail", "3"]),
    ("links?host=dgx-su01-05&down=0", ["links", "--host", "dgx-su01-05"]), ("links?leaf=leaf-su01-rail0&class=compute", ["links", "--leaf", "leaf-su01-rail0", "--class", "compute"])])
def test_documents_are_those_of_fmctl(web, name, command):
    alike(lambda: document(web, name), lambda: web.ask(*command))


def test_filters_that_a_document_does_not_know_are_refused(web):
    for name in ("status?su=1", "switches?class=compute", "links?su=0", "links?rail=x", "links?sort=moon", "links?class=royal", "top?n=0"):
        status, _, body = ask(web, f"/api/v1/{name}")
        assert status == 400 and json.loads(body)["error"], name


def test_status_has_the_same_keys(web):
    assert document(web, "status").keys() == web.status().keys()


def test_page_is_one_document_and_asks_for_documents_that_exist(web):
    status, headers, body = ask(web, "/")
    text = body.decode()
    assert status == 200 and headers["Content-Type"].startswith("text/html") and text.rstrip().endswith("</html>")
    assert not re.findall(r"@import|url\(|^import |import\(", text, re.M) and len(re.findall("<(?:script|style)", text)) == 2
    assert {value for value in re.findall(r'<[a-z][^>]*? (?:src|href)="([^"]*)"', text) if not value.startswith("#")} == {"data:,"}
    assert len(body) <= 150_000
    documents = set(re.findall(r'get\("([a-z]+)"', text))
    assert {"status", "map", "hosts", "events"} <= documents
    for name in documents - {"show", "top"}:
        assert ask(web, f"/api/v1/{name}")[0] in (200, 400), name  # 400: it wants words


def test_page_may_run_its_own_script_alone(web):
    _, headers, body = ask(web, "/")
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    for kind, element in ("script-src", b"script"), ("style-src", b"style"):
        text = re.search(b"<%b[^>]*>(.*?)</%b>" % (element, element), body, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(text).digest()).decode()
        assert re.search(kind + " ([^;]*);", policy)[1] == f"'sha256-{digest}'"


@pytest.mark.parametrize("path", ["/page/main.js", "/page/style.css", "/page/", "/main.js", "/style.css", "/index.html", "/page.html", "//"])
def test_parts_of_the_page_have_no_address_of_their_own(web, path):
    assert ask(web, path)[0] == 404


def test_page_comes_compressed_and_only_once(web):
    plain, packed = ask(web, "/"), ask(web, "/", headers={"Accept-Encoding": "gzip"})
    assert packed[1]["Content-Encoding"] == "gzip" and gzip.decompress(packed[2]) == plain[2]
    for tag in plain[1]["ETag"], packed[1]["ETag"]:
        status, headers, body = ask(web, "/", headers={"If-None-Match": tag})
        assert (status, body) == (304, b"") and headers["Content-Security-Policy"] == plain[1]["Content-Security-Policy"]


BAD_MODULES = {  # main.js, other.js, what is told
    "no such name": ('import { a, b } from "./other.js";', "export const a = 1;", "main: other exports no b"),
    "no such module": ('import { a } from "./others.js";', "", "others.js: cannot be read"),
    "another form": ('import * as all from "./other.js";', "export const a = 1;", "main: other exports no *asall"),
    "a circle": ('import { a } from "./other.js";', 'import { b } from "./main.js";\nexport const a = b;', "main: imports itself"),
    "an end": ('const end = "</script>";', "", "main.js: ends the element"),
}


@pytest.mark.parametrize("main, other, told", BAD_MODULES.values(), ids=BAD_MODULES)
def test_modules_that_do_not_fit_together_are_not_joined(tmp_path, main, other, told):
    (tmp_path / "index.html").write_text('<script type="module" src="main.js"></script>\n')
    (tmp_path / "main.js").write_text(main + "\n")
    (tmp_path / "other.js").write_text(other + "\n")
    joined = subprocess.run(["awk", "-f", ROOT / "fm/http/page/join.awk", "index.html"], cwd=tmp_path, capture_output=True, text=True)
    assert joined.returncode == 1 and told in joined.stderr


@pytest.mark.parametrize("path", ["/api/v1/reroute", "/api/v1/cordon", "/api/v1/reload", "/api/v1/dump", "/api/v1/",
                                  "/etc/passwd", "/../fmd.conf", "/api/v1/statusx"])
def test_what_is_no_document_is_not_found(web, path):
    assert ask(web, path)[0] == 404


@pytest.mark.parametrize("path", ["/api/v1/status?x=1", "/api/v1/events?n=-1", "/api/v1/status?n=3"])
def test_options_that_do_not_fit_are_refused(web, path):
    status, _, body = ask(web, path)
    assert status == 400 and json.loads(body)["error"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_methods_that_could_change_something_are_refused(web, method):
    before = web.status()["lft_blocks_written"]
    status, headers, _ = ask(web, "/api/v1/status", method)
    assert status == 405 and headers["Allow"] == "GET, HEAD"
    assert web.status()["lft_blocks_written"] == before


@pytest.mark.parametrize("path", ["/", "/metrics", "/metrics/ports", "/api/v1/status", "/api/v1/links", "/api/v1/map", "/api/v1/stream"])
def test_head_has_no_body(web, path):
    status, headers, body = ask(web, path, "HEAD")
    assert (status, body) == (200, b"")
    if path in ("/", "/api/v1/links", "/api/v1/map"):
        assert int(headers["Content-Length"]) == len(ask(web, path)[2])


@pytest.mark.parametrize("path", ["/", "/api/v1/map"])
def test_range_is_not_served_and_the_whole_comes(web, path):
    status, headers, body = ask(web, path, headers={"Range": "bytes=0-9"})
    assert status == 200 and "Content-Range" not in headers and len(body) == int(headers["Content-Length"]) > 10


@pytest.mark.parametrize("length", [100, 8000, 30000, 60000])
def test_long_query_is_answered_or_refused(web, length):
    status, _, body = ask(web, "/api/v1/search?text=" + "a" * length)
    assert (status, json.loads(body)) == (200, []) if length < 32000 else status == 414


def slow_readers(web, count, path):
    """Connections that have asked and do not read."""
    clients = [socket.socket() for _ in range(count)]
    for client in clients:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.connect(web.address)
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return clients


def first_line(client):
    client.settimeout(DEADLINE_S)
    return client.recv(12)


def test_long_documents_that_are_asked_for_at_once_all_come(web):
    sources = [f"127.0.0.{8 + n % 2}" for n in range(16)]
    with concurrent.futures.ThreadPoolExecutor(len(sources)) as pool:
        answers = list(pool.map(lambda source: ask(web, "/api/v1/links", source=source), sources))
    assert {answer[0] for answer in answers} == {200} and len({answer[2] for answer in answers}) == 1  # links do not move


@pytest.mark.long
def test_slow_readers_keep_no_other_address_from_long_documents(start, tmp_path):
    net, address = tmp_path / "large.net", own_address()
    with open(net, "w") as out:
        subprocess.run([program("fmctl"), "generate", "superpod", "--su", "16", "--system", "h100"], stdout=out, check=True)
    web = start(net, http_listen=f"{address}:9810")
    web.address = address, 9810
    for path, most in ("/api/v1/links", 8), ("/metrics/ports", 2):
        clients = slow_readers(web, 20, path)
        try:
            lines = [first_line(client) for client in clients]
            assert lines.count(b"HTTP/1.1 200") == most and lines.count(b"HTTP/1.1 503") == 20 - most, path
            assert ask(web, path)[0] == 503
            assert ask(web, path, source="127.0.0.9")[0] == 200
        finally:
            for client in clients:
                client.close()
        poll(lambda: ask(web, path)[0] == 200, "they have gone")


def name_of(pid):
    """None: it has ended meanwhile."""
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return None


def test_client_that_goes_in_the_middle_takes_its_child_along(web):
    for _ in range(20):
        with socket.create_connection(web.address) as client:
            client.sendall(b"GET /api/v1/topology HTTP/1.1\r\nHost: localhost\r\n\r\n")
            client.recv(100)
    children = f"/proc/{web.fmd.pid}/task/{web.fmd.pid}/children"
    poll(lambda: [name_of(child) for child in open(children).read().split()] == ["fmd-helper"], "no child of a client is left")
    assert document(web, "status")["state"] == "up"


@pytest.mark.parametrize("rubbish", [b"\x00\xff" * 3000, b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5000, b"GET " + b"/" * 20000,
                                     b"GET /metrics HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"],
                         ids=["bytes", "headers", "path", "body"])
def test_rubbish_is_refused_and_harms_nobody(web, rubbish):
    with socket.create_connection(web.address) as client:
        client.settimeout(2)
        try:
            client.sendall(rubbish + b"\r\n\r\n")
            client.recv(1000)
        except OSError:  # refused, or left waiting for what never comes
            pass
    assert document(web, "status")["state"] == "up"


def test_address_that_is_none_is_a_configuration_error(web, tmp_path):
    second = web.conf.with_name("second.conf")
    second.write_text(f'state_dir = "{tmp_path}";\nsocket = "{tmp_path}/s";\nhttp_listen = "nonsense";\n')
    run = subprocess.run([program("fmd"), "-c", second], capture_output=True, text=True,
                         env=web.environment(HOST), cwd=tmp_path, timeout=120)
    assert run.returncode == 2 and f"{second}:3: http_listen" in run.stderr, run.stderr
