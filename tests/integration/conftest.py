# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Fixtures of the tests on a simulated fabric (fabric.py). A test that fails shows the tails of fmd's and ibsim's logs."""
import contextlib
import os
import pathlib
import random
import signal
import subprocess

import pytest

from fabric import Fabric, own_address, program, running

LIMIT_S = 900  # of one test: whoever waits without a deadline of its own


def pytest_configure(config):
    config.addinivalue_line("markers", "long: for `make check-long` and `make integration` (LONG=1); `make check` leaves it out")
    config.addinivalue_line("markers", "on_ibsim(reason): one of the few that `make check-long` runs on ibsim too (ONLY=on_ibsim)")


def shuffled(items, seed):
    """Files in another order, and tests within each: what a module's fixture made is shared as ever."""
    chance = random.Random(seed)
    order = {item.nodeid: chance.random() for item in items}
    place = {item.path: chance.random() for item in items}
    return sorted(items, key=lambda item: (place[item.path], order[item.nodeid]))


def pytest_collection_modifyitems(config, items):
    """The tier: without LONG no test of the marker long, with ONLY those of that marker alone. SHUFFLE: a seed for their order."""
    only, seed = os.environ.get("ONLY"), os.environ.get("SHUFFLE")
    kept = [item for item in items if (only is None or item.get_closest_marker(only))
            and (os.environ.get("LONG") or not item.get_closest_marker("long"))]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = shuffled(kept, seed) if seed else kept


@pytest.fixture(autouse=True)
def limit():
    def late(signum, frame):
        raise AssertionError(f"no end within {LIMIT_S} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def start(tmp_path):
    """start(net, host=.., fmd=False, **conf): a Fabric that is up, or dark without fmd; it ends with the test."""
    mine = []

    def begin(net, host=None, fmd=True, **conf):
        fabric = Fabric(tmp_path, net, **conf)
        mine.append(fabric)
        if fmd:
            fabric.start_fmd(host)
            fabric.wait_up()
        return fabric

    try:
        yield begin
    finally:
        for fabric in mine:
            fabric.stop()


@pytest.fixture(scope="session")
def bad_disk(tmp_path_factory):
    """The library for fabric.start_fmd() that makes a disk slow, or full, or tells what a power cut would leave."""
    library = tmp_path_factory.mktemp("disk") / "bad_disk.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, pathlib.Path(__file__).with_name("bad_disk.c")], check=True)
    return library


def generate_pod(folder, *options):
    net = folder / "pod.net"
    with open(net, "w") as out:
        subprocess.run([program("fmctl"), "generate", "superpod", "--su", "1", "--system", "h100", *options], stdout=out,
                       check=True)
    return net


@pytest.fixture(scope="session")
def pod_net(tmp_path_factory):
    """A scalable unit of a DGX H100 SuperPOD: 8 leaves, 4 spines, 256 adapters, an aggregation node behind each switch."""
    return generate_pod(tmp_path_factory.mktemp("nets"))


@pytest.fixture(scope="session")
def pod_net_64(tmp_path_factory):
    """The same without aggregation nodes: switches of 64 ports, for ibdmchk, which takes port 65 for port 1 in multicast tables."""
    return generate_pod(tmp_path_factory.mktemp("nets"), "--no-sharp")


@pytest.fixture(scope="session")
def small_net(tmp_path_factory):
    """16 hosts behind 4 leaves and 2 spines, HDR: speeds that every tool and ibsim know. For tools that ask for each pair of ports."""
    net = tmp_path_factory.mktemp("nets") / "small.net"
    made = subprocess.run([program("fmctl"), "generate", "pgft", "2", "4,4", "1,2", "1,1"], check=True, capture_output=True, text=True)
    net.write_text(made.stdout.replace("NDR", "HDR"))
    return net


@contextlib.contextmanager
def up(fabric):
    """The fabric with its fmd up; both end behind it."""
    try:
        fabric.start_fmd("H-0002c90380000100")
        fabric.wait_up()
        yield fabric
    finally:
        fabric.stop()


@pytest.fixture(scope="module")
def pod(pod_net, tmp_path_factory):
    """One fabric for all tests of a file that only look."""
    with up(Fabric(tmp_path_factory.mktemp("pod"), pod_net)) as fabric:
        yield fabric


@pytest.fixture(scope="module")
def web(pod_net, tmp_path_factory):
    """A fabric whose fmd serves HTTP at web.address, for all tests of a file."""
    address = own_address()
    fabric = Fabric(tmp_path_factory.mktemp("web"), pod_net, http_listen=f"{address}:9810")
    fabric.address = address, 9810
    with up(fabric):
        yield fabric


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed:
        for fabric in running:
            report.sections.extend(fabric.logs())


@pytest.fixture
def ibdmchk_report():
    """ibdmchk leaves a file in the system's cache; it goes if it was not there before."""
    report = pathlib.Path("/var/cache/ibutils/ibdmchk.sw_out_port_num_dlids")
    there = report.exists()
    yield
    if not there:
        report.unlink(missing_ok=True)
