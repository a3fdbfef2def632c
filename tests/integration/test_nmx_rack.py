# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A rack's NMX-T endpoint, twenty megabytes of it, asked once for all hosts of the rack: whose NVLinks are down, and for how long it counts."""
import pytest

from exporter import Exporters, chunked
from fabric import Fabric, poll
from nvlink_player import nmx_text

pytestmark = pytest.mark.long

TRAYS = {f"dgx-su01-{tray + 1:02}": tray for tray in range(18)}
SICK, OTHER = "dgx-su01-08", "dgx-su01-12"
BIG = 25  # families of other metrics: 20 MB
MEMORY_KB = 6144  # libcurl's and TLS' own, made with the first question


class World:
    def __init__(self, scratch, net):
        self.exporters = Exporters(["rack"])
        self.exporters.say("rack", nmx_text(padding=BIG))
        (scratch / "hosts").write_text("".join(f"{host} {self.exporters.url('rack')} nvl72 tray={tray} chassis=1820325172739\n"
                                               for host, tray in TRAYS.items()))
        self.fabric = Fabric(scratch, net, nvswitch_worsen_hold=0.5, nvswitch_recover_hold=0.5,
                             nvswitch_poll_interval=0.5, nvswitch_timeout=30, nvswitch_link_window=6.0)
        self.fabric.start_fmd("H-0002c90380000100")
        self.fabric.wait_up()
        self.before = self.fabric.status()["rss_kb"]
        keys = self.fabric.conf.read_text() + f'nvswitch_hosts_file = "{scratch / "hosts"}";\n'
        self.fabric.conf.write_text(keys)
        self.fabric.fmctl("reload")

    def states(self):
        return {row["host"]: row["state"] for row in self.fabric.ask("nvswitch")["hosts"] if row["host"] in TRAYS}

    def wait_states(self, **ill):
        want = {host: "HEALTHY" for host in TRAYS} | {host.replace("_", "-"): state for host, state in ill.items()}
        try:
            poll(lambda: self.states() == want, f"states are {ill or 'all well'}")
        except AssertionError as late:
            raise AssertionError(f"{late}: {self.states()}") from None

    def wait_reason(self, host, words):
        poll(lambda: words in self.fabric.ask("nvswitch", host)["reason"], f"{host}: {words}")


@pytest.fixture(scope="module")
def world(pod_net, tmp_path_factory):
    it = World(tmp_path_factory.mktemp("rack"), pod_net)
    yield it
    it.fabric.stop()
    it.exporters.stop()


def test_one_answer_of_twenty_megabytes_is_read_for_all_hosts_and_not_kept(world):
    assert len(nmx_text(padding=BIG)) > 20 << 20
    world.wait_states()
    asked = world.exporters.asked["rack"]
    poll(lambda: world.exporters.asked["rack"] > asked + 3, "it is asked again")
    assert world.fabric.status()["rss_kb"] - world.before < MEMORY_KB
    world.exporters.behave("rack", chunked(nmx_text(padding=BIG)))  # as one chunk
    asked = world.exporters.asked["rack"]
    poll(lambda: world.exporters.asked["rack"] > asked + 3, "it is asked again")
    assert world.fabric.status()["rss_kb"] - world.before < MEMORY_KB
    world.wait_states()


def test_a_link_that_is_down_is_its_hosts(world):
    world.exporters.say("rack", nmx_text(states={(7, 1, 11): ("DOWN", "Remote_phy")}))
    world.wait_states(**{SICK: "DEGRADED_LINK"})
    world.wait_reason(SICK, "device 2 port 11: DOWN, blame Remote_phy")
    world.exporters.say("rack", nmx_text())
    world.wait_states()


def test_a_link_that_fell_between_two_answers_counts_for_a_while(world):
    world.exporters.say("rack", nmx_text(downs={(11, 3, 2): 1}))

    def told():
        row = world.fabric.ask("nvswitch", OTHER)
        return row["state"] == "DEGRADED_LINK" and "went down 1 times lately" in row["reason"]

    poll(told, f"{OTHER} is DEGRADED_LINK, with its reason")
    world.wait_states()


def test_ports_without_a_row_are_missed(world):
    world.exporters.say("rack", nmx_text(states={(7, 1, port): None for port in range(1, 19)}))
    world.wait_states(**{SICK: "NO_P2P"})
    world.exporters.say("rack", nmx_text())
    world.wait_states()


def test_a_tray_that_is_off_is_unknown(world):
    world.exporters.say("rack", nmx_text(trays=17))
    world.wait_states(**{"dgx-su01-18": "UNKNOWN"})
    world.exporters.say("rack", nmx_text())
    world.wait_states()


def test_a_reload_forgets_no_port_that_is_missed(world):
    world.exporters.say("rack", nmx_text(states={(7, 1, port): None for port in range(1, 19)}))
    world.wait_states(**{SICK: "NO_P2P"})
    world.fabric.fmctl("reload")
    asked = world.exporters.asked["rack"]
    poll(lambda: world.exporters.asked["rack"] > asked + 5, "it is asked again")
    assert world.states()[SICK] == "NO_P2P"
    world.exporters.say("rack", nmx_text())
    world.wait_states()
