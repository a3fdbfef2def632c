# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A cable that is plugged wrongly while fmd runs is told, by the pattern and by a plan."""
import pytest

from fabric import RIG, until

pytestmark = pytest.mark.long


@pytest.mark.parametrize("planned", [False, True], ids=["pattern", "plan"])
def test_a_miswiring_that_appears_is_an_event_and_one_when_it_is_mended(start, pod_net, planned):
    """Two HCAs of a host on each other's leaf."""
    if RIG == "ibsim":
        pytest.skip("ibsim can not exchange cables")
    fabric = start(pod_net, sweep_interval=1, **({"cabling_plan": str(pod_net)} if planned else {}))
    fabric.wait(lambda status: status["miswired"] == 0, "links were compared")
    ends = [("dgx-su01-07 mlx5_0", "leaf-su01-rail0:7"), ("dgx-su01-07 mlx5_3", "leaf-su01-rail1:7")]

    def cable(hcas, leaves):
        for leaf in leaves:
            fabric.ibsim.tell(f"unlink {leaf}")
        for hca, leaf in zip(hcas, leaves):
            fabric.ibsim.tell(f'link "{hca}:1" {leaf}')

    def told(kind):
        return [event["text"] for event in fabric.ask("events", "-n", 200) if event["kind"] == kind]

    hcas, leaves = zip(*ends)
    cable(hcas[::-1], leaves)

    def found():
        """All of it: the two cables may be seen one after the other."""
        status, texts = fabric.status(), told("miswiring")
        assert (status["links_down"], status["miswired"]) == (0, len(texts)) and texts
        assert any("leaf-su01-rail0" in text and "leaf-su01-rail1" in text for text in texts), texts
        return texts

    def over():
        assert fabric.status()["miswired"] == 0 and len(told("miswiring-over")) == len(texts)

    texts = until(found)
    assert not told("miswiring-over")
    cable(hcas, leaves)
    until(over)
    assert told("miswiring") == texts
