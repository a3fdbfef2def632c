# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Server-sent events: what happens as it happens, resumed where it broke off, for a bounded number of clients."""
import contextlib
import http.client
import json
import time

import pytest

from fabric import DEADLINE_S, Fabric, own_address, poll

HOST = "H-0002c90380000100"
CABLE = '"S-0002c90300000100"[33]'
STREAMS_MAX = 32
TOKEN = "a-token-of-some-length"


@pytest.fixture
def web(start, pod_net):
    address = own_address()
    fabric = start(pod_net, HOST, http_listen=f"{address}:9810")
    fabric.address = address, 9810
    return fabric


@contextlib.contextmanager
def stream(web, query="", source=None, **headers):
    """An open stream: (response, frames), frames an iterator of (event, id or None, data)."""
    client = http.client.HTTPConnection(*web.address, timeout=DEADLINE_S, source_address=source and (source, 0))
    try:
        client.request("GET", "/api/v1/stream" + query, headers={key.replace("_", "-"): value for key, value in headers.items()})
        answer = client.getresponse()
        yield answer, frames(answer)
    finally:
        client.close()


def frames(answer):
    frame = {}
    while line := answer.readline().decode():
        key, _, value = line.rstrip("\n").partition(": ")
        if key:
            frame[key] = value
        elif "data" in frame:
            yield frame["event"], frame.get("id"), json.loads(frame["data"])
            frame = {}
        else:
            frame = {}


def first(frames, wanted):
    """The next frame of that event for which the condition holds."""
    end = time.monotonic() + DEADLINE_S
    for event, number, data in frames:
        if wanted(event, data):
            return event, number, data
        assert time.monotonic() < end, "no such frame"
    raise AssertionError("the stream ended")


def cut(web):
    web.console(f"Unlink {CABLE}")


def join(web):
    web.console(f"Relink {CABLE}")


def test_status_and_events_come_as_they_happen(web):
    with stream(web) as (answer, coming):
        assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream"
        assert next(coming)[2].keys() == web.status().keys()
        cut(web)
        _, number, event = first(coming, lambda kind, data: kind == "event")
        assert int(number) == event["seq"] and event in web.ask("events", "-n", "100")
        assert first(coming, lambda kind, data: kind == "status" and data["links_down"] == 1)


def test_stream_is_resumed_where_it_broke_off(web):
    with stream(web) as (_, coming):
        next(coming)
        cut(web)
        _, number, _ = first(coming, lambda kind, data: kind == "event")
    join(web)
    web.wait(lambda s: s["links_down"] == 0 and s["state"] == "up", "the cable is back")
    missed = [event for event in web.ask("events", "-n", "100") if event["seq"] > int(number)]
    assert missed
    for way in {"Last_Event_ID": number}, {"query": f"?since={number}"}:
        with stream(web, **way) as (_, coming):
            got = [first(coming, lambda kind, data: kind == "event") for _ in missed]
        assert [event for _, _, event in got] == missed and [int(number) for _, number, _ in got] == [e["seq"] for e in missed]


@pytest.mark.parametrize("number", ["1000000", "-2", "x", "99999999999999999999"])
def test_what_can_not_be_resumed_is_a_gap(web, number):
    with stream(web, Last_Event_ID=number) as (answer, coming):
        assert answer.status == 200 and next(coming)[0] == "gap"
        cut(web)
        assert first(coming, lambda kind, data: kind == "event")


def test_streams_are_bounded_and_end_with_their_clients(web):
    with contextlib.ExitStack() as open_ones:
        for i in range(STREAMS_MAX):
            assert open_ones.enter_context(stream(web, source=f"127.0.0.{i % 2 + 1}"))[0].status == 200
        with stream(web, source="127.0.0.3") as (answer, _):
            assert answer.status == 503 and answer.headers["Retry-After"]
        assert web.status()["state"] == "up"

    def is_free():
        with stream(web, source="127.0.0.3") as (answer, coming):
            return answer.status == 200 and next(coming)[0] == "status"
    poll(is_free, "a stream is free again")


def test_stream_asks_for_the_token_and_the_name(start, pod_net, tmp_path):
    address, file = own_address(), tmp_path / "token"
    file.write_text(TOKEN + "\n")
    web = start(pod_net, HOST, http_listen=f"{address}:9810", http_token_file=str(file))
    web.address = address, 9810
    with stream(web) as (answer, _):
        assert answer.status == 401
    with stream(web, Authorization=f"Bearer {TOKEN}", Host="elsewhere.example") as (answer, _):
        assert answer.status == 421
    with stream(web, Authorization=f"Bearer {TOKEN}") as (answer, coming):
        assert answer.status == 200 and next(coming)[0] == "status"
        web.ask("reload")
        with pytest.raises((OSError, http.client.HTTPException)):  # the token may be another
            list(coming)
            raise ConnectionError("ended whole")


def test_daemon_ends_while_streams_are_open(web):
    with stream(web) as (_, coming):
        next(coming)
        web.fmd.terminate()
        assert web.fmd.wait(timeout=DEADLINE_S) == 0
