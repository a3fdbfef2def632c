# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What etc/ has for Prometheus and Grafana, against the real Prometheus: rules hold and are raised, every expression of the
dashboard finds what a running fmd shows. Skipped where Prometheus can't be had (etc/unpack-tool)."""
import json
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

import promtext
from fabric import ROOT, Fabric, end_process, own_address, poll, tail, until

HOST = "H-0002c90380000100"
LEAF = "S-0002c90300000100"
RULES = ROOT / "etc" / "prometheus" / "fmd-rules.yml"
DASHBOARD = json.loads((ROOT / "etc" / "grafana" / "fmd.json").read_text())
VARIABLES = {"instance": ".*", "job": "fmd", "ports_job": "fmd-ports", "node": ".*", "ports_range": "5m", "__rate_interval": "1m"}
# Panels that show nothing where all is well, or with the essential metrics alone.
QUIET = {"Alerts by kind", "Blocks that FEC corrected", "Uncorrected FEC blocks"}

needs_promtool = pytest.mark.skipif(not promtext.promtool(), reason="no promtool")


def prometheus():
    built = ROOT / "build" / "tools" / "prometheus"
    return shutil.which("prometheus") or (str(built) if built.exists() else None)


def promtool(*arguments):
    return subprocess.run([promtext.promtool(), *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd=RULES.parent)


@needs_promtool
@pytest.mark.long
def test_rules_are_right_and_each_is_raised_by_what_it_is_for():
    checked = promtool("check", "rules", RULES, RULES.with_name("fmd-exporter-rules.yml"))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    tested = promtool("test", "rules", "fmd-rules-test.yml")
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_every_alert_has_a_test_of_its_own():
    alerts = re.findall(r"alert: (\w+)", RULES.read_text())
    tests = (RULES.parent / "fmd-rules-test.yml").read_text()
    assert len(alerts) == len(set(alerts)) > 20
    for alert in alerts:
        assert f"name: {alert}\n" in tests and f"alertname: {alert}, exp_alerts: []" in tests


class Prometheus:
    def __init__(self, scratch, fmd):
        self.url, self.log = f"http://{own_address()}:9090", scratch / "prometheus.log"
        scrape = (RULES.parent / "fmd-scrape.yml").read_text().replace("127.0.0.1:9810", fmd)
        scrape = re.sub(r"(scrape_(?:interval|timeout)): \d+s", r"\1: 1s", scrape)
        (scratch / "prometheus.yml").write_text(f"global: {{evaluation_interval: 1s}}\nrule_files: [{RULES}]\n{scrape}")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([prometheus(), f"--config.file={scratch}/prometheus.yml", f"--storage.tsdb.path={scratch}/data",
                                             f"--web.listen-address={self.url[7:]}", "--log.level=warn"], stdout=log, stderr=log)

    def ask(self, path, **query):
        assert self.process.poll() is None, tail(self.log)
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=60) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            assert error.code != 503, "it is not ready yet"
            raise RuntimeError(f"{query}: {error.read().decode()}") from None
        except urllib.error.URLError as error:  # it does not listen yet
            raise AssertionError(str(error)) from None

    def query(self, expression):
        """[(labels, value)]"""
        return [(row["metric"], float(row["value"][1])) for row in self.ask("query", query=expression)["result"]]


@pytest.fixture(scope="module")
def world(pod_net, tmp_path_factory):
    """A fabric with traffic, a cable that is out and one with errors, looked at until rates of both are known."""
    if not prometheus():
        pytest.skip("no prometheus")
    scratch, address = tmp_path_factory.mktemp("prometheus"), own_address()
    fabric = Fabric(scratch, pod_net, rig="fmsim", http_listen=f"{address}:9810", perf_interval=1)
    server = None
    try:
        fabric.ibsim.tell("load shift 5 50%")
        fabric.start_fmd(HOST)
        fabric.wait_up()
        server = Prometheus(scratch, f"{address}:9810")
        until(lambda: seen(server, "fmd_fabric_up", 1))
        until(lambda: seen(server, "count(infiniband_switch_port_transmit_data_bytes_total)", 12 * 64 + 12))
        fabric.ibsim.tell(f"unlink {LEAF}:40")
        for errors in 50, 70:  # before the first there is no series
            for counter in "symbol_errors", "xmit_discards":
                fabric.ibsim.tell(f"count {LEAF}:41 {counter} {errors}")
            until(lambda: seen(server, "count(infiniband_switch_port_symbol_error_total > 0)", 1))
        fabric.wait(lambda s: s["links_down"] == 1 and s["last_fault"], "the cut is seen and answered")
        until(lambda: seen(server, "fmd_links_down", 1))
        until(lambda: seen(server, "count(increase(infiniband_switch_port_symbol_error_total[5m]) > 0)", 1))
        until(lambda: seen(server, "count(rate(fmd_smps_sent_total[1m]))", 1))
        yield server
    finally:
        if server:
            end_process(server.process)
        fabric.stop()


def seen(server, expression, value):
    assert [found for _, found in server.query(expression)] == [value], expression


def filled_in(text):
    return re.sub(r"\$\{?(\w+)\}?", lambda found: VARIABLES[found[1]], text)


EXPRESSIONS = [(panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]


@pytest.mark.long
def test_every_expression_of_the_dashboard_finds_what_fmd_shows(world):
    assert len(EXPRESSIONS) > 40
    empty = [(title, expression) for title, expression in EXPRESSIONS if not world.query(filled_in(expression)) and title not in QUIET]
    assert empty == []
    for annotation in DASHBOARD["annotations"]["list"]:
        world.query(filled_in(annotation["expr"]))


@pytest.mark.long
def test_the_dashboards_variables_have_values(world):
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"]).groups()
            assert world.query(f"count by ({label}) ({filled_in(metric)})")


@pytest.mark.long
def test_figures_mean_what_panels_say(world):
    figures = {title: world.query(filled_in(expression)) for title, expression in EXPRESSIONS}
    assert [labels["state"] for labels, _ in figures["State"]] == ["up"]
    assert [labels["role"] for labels, _ in figures["Role"]] == ["master"]
    assert figures["HCAs"][0][1] == 256 and figures["Links down"][0][1] == 1
    down = {(labels["node"], labels["port"]) for labels, _ in figures["Links that are down"]}
    assert ("leaf-su01-rail0", "40") in down and len(down) == 2
    assert [labels["port"] for labels, _ in figures["Links with errors, last hour"] if labels["node"] == "leaf-su01-rail0"] == ["41"]
    assert all(0 < share < 1 for _, share in figures["Busiest links"])


@pytest.mark.long
def test_prometheus_takes_the_rules_and_finds_no_error_in_them(world):
    def evaluated():
        rules = [rule for group in world.ask("rules")["groups"] for rule in group["rules"]]
        assert len(rules) > 20 and all(rule["health"] == "ok" for rule in rules), rules
        states = {rule["name"]: rule["state"] for rule in rules}
        assert states["FmdLinksDown"] == "pending"  # for ten minutes, from the first evaluation behind the cut on
        return states

    states = until(evaluated)
    assert {states[name] for name in ("FmdDown", "FmdFabricNotUp", "FmdNoMaster", "FmdHcasCutOff", "FmdTablesUnproven")} == {"inactive"}
