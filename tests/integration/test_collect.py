# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fmctl collect and diff: what is written, what is left out of it, and what two such directories, files of ibnetdiscover or the fabric now have otherwise."""
import json

import pytest

from fabric import until, without

LEAF = "leaf-su01-rail0"
SECRET = "0x1122334455667788"


def rows(fabric, *words, code=1):
    done = fabric.fmctl("--json", "diff", *words, check=False)
    assert done.returncode == code, done
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def before(pod, tmp_path_factory):
    """What is there before anything changes."""
    conf = tmp_path_factory.mktemp("conf") / "fmd.conf"
    conf.write_text(f'# sa_key = {SECRET};\nm_key = {SECRET}; /* {SECRET} */\nold_sa_key={SECRET};\npeers = "a:1";\nprometheus_url = "http://me:{SECRET}@there:9090/;x";\nsweep_interval = 10\n')
    (conf.parent / "conf.d").mkdir()
    (conf.parent / "conf.d" / "20-site.conf").write_text(f'sa_key = {SECRET};\nsm_priority = 3;\n')
    folder = tmp_path_factory.mktemp("collected") / "before"
    done = pod.fmctl("--json", "collect", folder, "--conf", conf)
    assert json.loads(done.stdout)["folder"] == str(folder)
    return folder


def test_all_is_there_and_no_secret(pod, before):
    names = {file.name for file in before.iterdir()}
    assert {"status.json", "nodes.json", "links.json", "partitions.json", "events.json", "counters.json", "assess.json", "topology.net", "versions.txt", "fmd.conf", "dump", "missing.txt"} <= names
    assert without(json.loads((before / "nodes.json").read_text()), ("firmware", "psid")) == without(pod.ask("nodes"), ("firmware", "psid"))
    assert all(SECRET not in file.read_text(errors="replace") for file in before.rglob("*") if file.is_file())
    settings = (before / "fmd.conf").read_text()
    assert settings.splitlines() == ['m_key = "(left out)";', 'old_sa_key = "(left out)";', 'peers = "a:1";', 'prometheus_url = "http://there:9090/;x";', "sweep_interval = 10;",
                                     'sa_key = "(left out)";', "sm_priority = 3;"]
    assert (before / "missing.txt").read_text() == ""
    assert before.stat().st_mode & 0o77 == 0
    again = pod.fmctl("collect", before, check=False)
    assert again.returncode == 1 and "exists" in again.stderr and pod.fmctl("collect", check=False).returncode == 2


def test_the_same_is_no_difference(pod, before):
    for words in ((before,), (before, before), (before, before / "topology.net"), (before / "topology.net", before)):
        assert rows(pod, *words, code=0) == []
    assert pod.fmctl("diff", before).stdout == "nothing differs\n"
    for words in (("moon",), (before / "dump",), (before / "versions.txt",)):
        assert pod.fmctl("diff", *words, check=False).returncode == 1
    assert pod.fmctl("diff", check=False).returncode == 2


def test_what_changed_is_named(start, pod_net, before):
    fabric = start(pod_net)
    link = next(link for link in fabric.ask("links") if link["a"]["name"] == LEAF and link["b"]["name"].startswith("spine"))
    ends = {f"{link[end]['name']} p{link[end]['port']}" for end in "ab"}
    fabric.ibsim.tell(f'unlink "{LEAF}":{link["a"]["port"]}')
    slow = next(other for other in fabric.ask("links") if other["a"]["name"] == LEAF and other["b"]["name"].startswith("dgx-su01-09"))
    fabric.ibsim.tell(f'train "{LEAF}":{slow["a"]["port"]} EDR')

    def seen():
        found = {(row["kind"], row["old"], row["new"]): set(row["subject"].split(" - ")) for row in rows(fabric, before)}
        assert found == {("link", "up", "down"): ends, ("rate", "4x NDR", "4x EDR"): {f"{slow[end]['name']} p{slow[end]['port']}" for end in "ab"}}

    until(seen)
    since = rows(fabric, "--since", "1h")
    assert any(row["kind"] == "link-down" and LEAF in row["text"] for row in since)
    assert "up -> down" in fabric.fmctl("diff", before, check=False).stdout
