# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The fabric by HTTP: metrics, documents, a page; to look at only, whatever a client does."""
import http.client
import json
import pathlib
import re
import socket
import subprocess

import pytest

import promtext
from fabric import poll, program

HOST = "H-0002c90380000100"
SAMPLE = re.compile(r'^[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.e+-]+$')


def ask(web, path, method="GET", body=None):
    client = http.client.HTTPConnection(*web.address, timeout=60)
    try:
        client.request(method, path, body=body)
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
    assert document(web, name) == web.ask(*command)


def test_filters_that_a_document_does_not_know_are_refused(web):
    for name in ("status?su=1", "switches?class=compute", "links?su=0", "links?rail=x", "links?sort=moon", "links?class=royal", "top?n=0"):
        status, _, body = ask(web, f"/api/v1/{name}")
        assert status == 400 and json.loads(body)["error"], name


def test_status_has_the_same_keys(web):
    assert document(web, "status").keys() == web.status().keys()


def test_page_is_whole_and_asks_only_for_what_exists(web):
    status, headers, body = ask(web, "/")
    text = body.decode()
    assert status == 200 and headers["Content-Type"].startswith("text/html") and text.rstrip().endswith("</html>")
    files = set(re.findall(r'"(/page/[^"]+)"', text))
    while more := {f"/page/{name}" for file in files for name in re.findall(r'from "\./([a-z]+\.js)"', ask(web, file)[2].decode())} - files:
        files |= more
    scripts = [ask(web, file) for file in files]
    assert len(files) > 5 and all(answer[0] == 200 for answer in scripts)
    documents = {name for answer in scripts for name in re.findall(r'get\("([a-z]+)"', answer[2].decode())}
    assert {"status", "map", "hosts", "events"} <= documents
    for name in documents - {"show", "top"}:
        assert ask(web, f"/api/v1/{name}")[0] in (200, 400), name  # 400: it wants words


def test_page_may_run_its_own_scripts_alone(web):
    policy = ask(web, "/")[1]["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', ask(web, "/")[2].decode())


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
    assert ask(web, "/api/v1/status", method)[0] in (405, 501)
    assert web.status()["lft_blocks_written"] == before


def test_head_has_no_body(web):
    status, _, body = ask(web, "/api/v1/status", "HEAD")
    assert (status, body) == (200, b"")


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
