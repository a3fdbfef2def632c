# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Who may ask fmd, by HTTP and by the control socket, and that nobody keeps others from asking."""
import http.client
import itertools
import json
import os
import pathlib
import resource
import shutil
import socket
import ssl
import subprocess
import tempfile
import time

import pytest

from fabric import Fabric, own_address, poll, program

HOST = "H-0002c90380000100"
TOKEN = "a-token-of-some-length"
NOBODY = 65534
LIMIT = 96  # descriptors


def limit_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))


@pytest.fixture
def door(pod_net, tmp_path):
    """Starts fmd with these keys of http_*; what it serves is at .address."""
    fabrics = []

    def begin(before=None, **conf):
        address = own_address()
        fabric = Fabric(tmp_path, pod_net, http_listen=f"{address}:9810", **conf)
        fabrics.append(fabric)
        fabric.address = address, 9810
        fabric.start_fmd(HOST, before=before)
        fabric.wait_up()
        return fabric

    yield begin
    for fabric in fabrics:
        fabric.stop()


def get(fabric, path="/api/v1/status", context=None, **headers):
    headers = {key.replace("_", "-"): value for key, value in headers.items()}
    client = (http.client.HTTPSConnection(*fabric.address, timeout=60, context=context) if context
              else http.client.HTTPConnection(*fabric.address, timeout=60))
    try:
        client.request("GET", path, headers=headers)
        return client.getresponse().status
    finally:
        client.close()


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


# ---- HTTP

def test_only_names_of_the_server_are_answered(door):
    fabric = door()
    name = socket.gethostname()
    for host in (fabric.address[0], f"{fabric.address[0]}:9810", "localhost:9810", name, name.upper(), f"{name}:9810"):
        assert get(fabric, Host=host) == 200, host
    for host in ("evil.example", f"{name}.evil.example", "10.0.0.1", "[fe80::1]", ""):
        assert get(fabric, Host=host) == 421, host
        assert get(fabric, "/", Host=host) == 421 and get(fabric, "/metrics", Host=host) == 421


def test_configured_names_take_the_place_of_the_default(door):
    fabric = door(http_hosts="fabric.example, ufm.example")
    assert get(fabric, Host="UFM.example.:9810") == 200
    assert get(fabric, Host="localhost") == 421
    fabric.write_conf(http_listen=f"{fabric.address[0]}:9810", http_hosts="localhost")
    fabric.fmctl("reload")
    assert get(fabric, Host="ufm.example") == 421 and get(fabric, Host="localhost") == 200


def test_with_a_token_nothing_of_the_fabric_is_told_without_it(door, tmp_path):
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    fabric = door(http_token_file=str(file))
    for path in ("/metrics", "/api/v1/status", "/api/v1/topology", "/api/v1/nothing"):
        assert get(fabric, path) == 401
        assert get(fabric, path, **bearer(TOKEN + "x")) == get(fabric, path, **bearer("")) == 401
        assert get(fabric, path, **bearer(TOKEN)) in (200, 404)
    assert get(fabric, "/") == 200

    file.write_text("another-token-of-some-length")
    fabric.fmctl("reload")
    assert get(fabric, **bearer(TOKEN)) == 401 and get(fabric, **bearer("another-token-of-some-length")) == 200
    file.write_text("short")
    refused = fabric.fmctl("reload", check=False)
    assert refused.returncode == 1 and "http_token_file" in refused.stderr
    file.unlink()
    file.mkdir()
    assert "Is a directory" in fabric.fmctl("reload", check=False).stderr
    assert get(fabric, **bearer("another-token-of-some-length")) == 200


def make_certificate(folder, name):
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=fmd",
                    "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


def served_certificate(fabric):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(fabric.address, timeout=60) as plain, context.wrap_socket(plain) as client:
        assert client.version() in ("TLSv1.2", "TLSv1.3")
        return ssl.DER_cert_to_PEM_cert(client.getpeercert(binary_form=True))


def test_tls_is_served_by_the_certificate_and_read_anew_by_a_reload(door, tmp_path):
    cert, key = make_certificate(tmp_path, "one")
    fabric = door(http_cert_file=str(cert), http_key_file=str(key))
    context = ssl.create_default_context(cafile=cert)
    context.check_hostname = False
    assert get(fabric, context=context) == get(fabric, "/api/v1/topology", context=context) == 200
    with pytest.raises((OSError, http.client.HTTPException)):
        get(fabric)
    first = served_certificate(fabric)

    other_cert, other_key = make_certificate(tmp_path, "two")
    cert.write_text(other_cert.read_text())
    refused = fabric.fmctl("reload", check=False)  # a certificate that does not fit the key
    assert refused.returncode == 1 and served_certificate(fabric) == first
    key.write_text(other_key.read_text())
    fabric.fmctl("reload")
    assert served_certificate(fabric) != first


@pytest.mark.parametrize("line", ['http_cert_file = "/x";', 'http_key_file = "/x";'])
def test_certificate_and_key_go_together(tmp_path, line):
    conf = tmp_path / "fmd.conf"
    conf.write_text(line + "\n")
    run = subprocess.run([program("fmd"), "--check-config", conf], capture_output=True, text=True, timeout=120)
    assert run.returncode == 1 and f"{conf}:1:" in run.stderr and "go together" in run.stderr


def test_half_requests_keep_nobody_from_asking(door):
    """91 clients that never end their request, where fmd may open 96 descriptors."""
    fabric = door(before=limit_descriptors)
    lines, began = len(fabric.log.read_text().splitlines()), time.monotonic()
    halves = []
    try:
        for _ in range(91):
            half = socket.create_connection(fabric.address, timeout=60)
            half.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
            halves.append(half)
        answers = [fabric.status()["state"] for _ in range(10)]
        assert answers == ["up"] * 10
        said = fabric.log.read_text().splitlines()[lines:]
        assert len(said) <= 1 + time.monotonic() - began, said  # a line a second at most
        assert len(os.listdir(f"/proc/{fabric.fmd.pid}/fd")) < LIMIT - 30
    finally:
        for half in halves:
            half.close()
    poll(lambda: get(fabric) == 200, "HTTP answers when they are gone")


# ---- The control socket

def ask_as(fabric, user, *command):
    """What fmctl says for a process of that user alone: the checkout may be in a private folder, and pytest's own are."""
    client = pathlib.Path(shutil.copy(program("fmctl"), fabric.socket.parent))
    for folder in itertools.takewhile(lambda folder: folder != pathlib.Path(tempfile.gettempdir()), client.parents):
        folder.chmod(folder.stat().st_mode | 0o011)
    fabric.socket.chmod(0o666)
    return subprocess.run([client, "-s", fabric.socket, *command], capture_output=True, text=True, timeout=120,
                          user=user, group=user, extra_groups=[])


@pytest.mark.skipif(os.getuid() != 0, reason="another user's process takes root")
def test_a_stranger_is_refused_whatever_the_mode_of_the_socket(door):
    fabric = door()
    for command in (["status"], ["cordon", "spine-01"], ["reload"],
                    ["health-report", "redfish", "dgx-su01-01", "FATAL", "mine", "60"]):
        answer = ask_as(fabric, NOBODY, *command)
        assert answer.returncode == 1 and "not permitted" in answer.stderr, answer
    assert fabric.fmctl("status").returncode == 0


def test_fmctl_gives_up_on_a_daemon_that_shows_no_sign_of_life(tmp_path):
    path = tmp_path / "deaf.sock"
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(path))
        deaf.listen()
        answer = subprocess.run([program("fmctl"), "-s", path, "--timeout", "1", "status"], capture_output=True, text=True, timeout=120)
    assert answer.returncode == 1 and "no answer from fmd" in answer.stderr


def test_fmctl_waits_while_fmd_shows_progress(tmp_path):
    path = tmp_path / "slow.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        asked = subprocess.Popen([program("fmctl"), "-s", path, "--timeout", "3", "--json", "reroute"], stdout=subprocess.PIPE, text=True)
        with listening.accept()[0] as client:
            request = json.loads(client.recv(1000))
            assert request["progress"] is True
            end = time.monotonic() + 4
            while time.monotonic() < end:  # a daemon at work, longer in all than the time-out
                client.sendall(b'{"progress":true}\n')
                time.sleep(0.2)
            client.sendall(b'{"ok":true,"result":{"entries":0}}\n')
            assert json.loads(asked.communicate(timeout=120)[0]) == {"entries": 0}


def test_one_daemon_a_state_dir(door):
    fabric = door()
    second = fabric.conf.with_name("second.conf")
    second.write_text(f'state_dir = "{fabric.state_dir}";\nsocket = "{fabric.socket}2";\n')
    run = subprocess.run([program("fmd"), "-c", second], capture_output=True, text=True, timeout=120,
                         env=fabric.environment("H-0002c90380000200"), cwd=fabric.folder("second"))
    assert run.returncode == 1 and "another fmd" in run.stderr and str(fabric.fmd.pid) in run.stderr
    assert fabric.status()["state"] == "up"
