# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The page, as a headless Chromium has it: what an operator sees of the fabric, finds, and is told."""
import json
import shlex

import pytest

from browser import Browser
from fabric import own_address, poll

pytestmark = pytest.mark.long

HOST = "H-0002c90380000100"
LEAF, SECOND_LEAF = "S-0002c90300000100", "S-0002c90300000200"
TOKEN = "a-token-of-some-length"
READY = "fmd.state.map && document.querySelector('.map canvas').height > 50"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def page(web, chromium):
    """The page, freshly opened; no script may have failed by the end."""
    chromium.errors.clear()
    chromium.resize(1280, 900)
    chromium.open("about:blank")
    chromium.open(f"http://{web.address[0]}:{web.address[1]}/")
    chromium.wait(READY, "the map is drawn")
    yield chromium
    assert chromium.errors == []


def go(page, view, what, says):
    page.run(f"location.hash = {json.dumps(view)}")
    page.wait(f"document.querySelector('#content').innerText.includes({json.dumps(says)})", what)


def restored(web):
    web.wait(lambda s: s["links_down"] == 0 and s["hcas_cut_off"] == 0 and s["state"] == "up", "all is back")


def test_fabric_is_drawn_with_its_figures(page):
    page.wait("document.querySelector('#state').textContent.includes('up')", "the state")
    assert "No alerts" in page.text("#alerts") and "256" in page.text(".tiles")
    assert page.run("fmd.state.map.switches.length") == 12 and page.run("fmd.state.map.trunks.length") == 32
    drawn = "(c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size)"
    assert page.run(f"{drawn}(document.querySelector('.map canvas'))") > 5  # colours


def test_page_asks_for_nothing_but_itself_documents_and_events(web, chromium):
    chromium.open("about:blank")
    chromium.asked.clear()
    origin = f"http://{web.address[0]}:{web.address[1]}"
    chromium.open(origin + "/")
    chromium.wait(READY, "the map is drawn")
    for view in "hosts", "switches", "links", "cables", "path/dgx-su01-01/dgx-su01-20", "events", "traffic", "groups", "partitions", "show/leaf-su01-rail0", "show/leaf-su01-rail0:33", "":
        chromium.run(f"location.hash = '#/{view}'")
        chromium.wait("document.querySelector('#content').innerText.length > 20", view)
    chromium.wait("fmd.stream.heard", "the stream goes")
    asked = {address.split("?")[0] for address in chromium.asked}
    assert {f"{origin}/", f"{origin}/api/v1/stream", f"{origin}/api/v1/map", f"{origin}/api/v1/top"} <= asked
    assert not [address for address in asked if not address.startswith((f"{origin}/api/v1/", "data:")) and address != f"{origin}/"]


@pytest.mark.parametrize("saved", ["as it came", "as it stood"])
def test_saved_page_opens_and_says_that_it_has_no_manager(page, saved, tmp_path):
    page.wait("document.querySelector('.tiles')", "figures")
    text = page.run({"as it came": "fetch('/').then(answer => answer.text())", "as it stood": "'<!DOCTYPE html>' + document.documentElement.outerHTML"}[saved])
    file = tmp_path / "saved.html"
    file.write_text(text)
    page.open("about:blank")
    page.asked.clear()
    page.open(file.as_uri())
    page.wait("document.querySelector('#stale').textContent.includes('offline copy')", "that it is saved")
    assert not page.run("document.querySelector('#stale').hidden") and page.text("nav") == ""
    assert page.text("#state") == "✕ no manager" and ("HCAs" in page.text()) == (saved == "as it stood")
    page.press("2")
    page.press("d")
    page.wait("document.documentElement.dataset.theme !== 'auto'", "a key that needs no manager")
    assert set(page.asked) - {"data:,"} == {file.as_uri()}
    page.run("localStorage.clear()")


def test_cut_cable_is_seen_without_asking(web, page):
    web.console(f'Unlink "{LEAF}"[33]')
    try:
        page.wait("document.querySelector('.fabric').innerText.includes('leaf-su01-rail0 p33')", "the event")
        page.wait("fmd.state.map.trunks.some(t => t.state === 'part' && t.down === 1)", "the map")
        page.wait("document.querySelector('#content').innerText.includes('7 of 8 links up')", "what is not whole")
        page.wait("document.querySelector('#state').textContent === '▲ degraded'", "not all is well, though there is no alert")
    finally:
        web.console(f'Relink "{LEAF}"')
    page.wait("!fmd.state.map.faults.length", "all is whole again")
    page.wait("document.querySelector('#state').textContent === '✓ up'", "all is well")
    restored(web)


def test_hosts_that_are_cut_off_come_first(web, page):
    web.console(f'Unlink "{SECOND_LEAF}"')
    try:
        page.wait("document.querySelector('#content .cutoff')", "the banner")
        page.wait("document.querySelector('.cutoff').innerText.includes('leaf-su01-rail1')", "behind what")
        assert "32 HCAs cut off" in page.text(".cutoff")
        if web.rig == "fmsim":  # ports on ibsim report no reasons
            page.wait("document.querySelector('.cutoff').innerText.includes(' – ')", "why, as the other ends of its links report it")
            assert "reported by" not in page.text(".cutoff") and "spine" not in page.text(".cutoff").split(" – ")[1].split("\n")[0]
        page.wait("fmd.state.map.switches.filter(sw => sw.state !== 'ok').map(sw => sw.name).join() === 'leaf-su01-rail1'", "the dead leaf alone is no whole switch")
        page.wait("document.querySelector('#state').textContent === '▲ degraded'", "shape and colour say that not all is well")
        assert page.run("document.querySelector('#content section').querySelector('div > *').closest('#alerts, .bar') && document.querySelector('#alerts').firstElementChild.className") == "cutoff"
        go(page, "#/hosts", "hosts by verdict", "rail1")
        page.wait("document.querySelector('tbody tr').innerText.includes('DEGRADED')", "the worst first")
        page.wait("document.querySelectorAll('tbody tr:first-child .rails .s-behind').length === 1", "the HCA that is behind the dead leaf")
        assert page.run("document.querySelectorAll('tbody .s-dead').length") == 0
    finally:
        web.console(f'Relink "{SECOND_LEAF}"')
    restored(web)
    page.run("location.hash = '#/'")
    page.wait("!document.querySelector('.cutoff')", "nobody is cut off")


DEAD_PIXELS = """(canvas => {
  const [red, green, blue] = getComputedStyle(document.documentElement).getPropertyValue('--dead').trim().match(/\\w\\w/g).map(hex => parseInt(hex, 16));
  const { width, height } = canvas, { data } = canvas.getContext('2d').getImageData(0, 0, width, height), xs = [], ys = [];
  for (let i = 0; i < data.length; i += 4) if (data[i] === red && data[i + 1] === green && data[i + 2] === blue) { xs.push(i / 4 % width); ys.push(Math.floor(i / 4 / width)); }
  return xs.length ? [Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys)] : null; })(document.querySelector('.map canvas'))"""


def test_dead_leaf_is_one_red_thing_on_the_map(web, page):
    assert page.run(DEAD_PIXELS) is None
    web.console(f'Unlink "{SECOND_LEAF}"')
    try:
        page.wait("fmd.state.map.switches.some(sw => sw.state === 'dead')", "the leaf is dead")
        page.wait(f"{DEAD_PIXELS}", "it is drawn")
        wide, tall = page.run(DEAD_PIXELS)
        assert wide <= 24 and tall <= 24  # one mark, the switch's own: none of its trunks is red
        assert page.run("[...new Set(fmd.state.map.trunks.map(trunk => trunk.state))].sort()") == ["behind", "ok"]
        page.wait("document.querySelectorAll('#content .s-dead').length === 2 && document.querySelector('#alerts .s-dead') && document.querySelector('.legend .s-dead')", "one red mark beside the map, and one in its legend")
        go(page, "#/links", "the links", "leaf-su01-rail1 is down")
        assert page.run("document.querySelectorAll('#content .s-dead').length") == 0
    finally:
        web.console(f'Relink "{SECOND_LEAF}"')
    restored(web)


def test_first_fault_is_above_the_fold_of_a_laptop(web, page):
    page.resize(1280, 720)
    bottom = "document.querySelector({}).getBoundingClientRect().bottom"
    for cut in f'"{LEAF}"[33]', f'"{SECOND_LEAF}"':
        web.console(f"Unlink {cut}")
        try:
            shown = ".cutoff" if "[" not in cut else ".faults li"
            page.wait(f"document.querySelector({shown!r})", "the fault")
            page.wait("fmd.state.map.faults.length === 1 && (fmd.state.map.faults[0].since || fmd.state.map.faults[0].why)", "since when, or why")
            page.wait("document.querySelector('#state').textContent === '▲ degraded' && document.querySelector('header').offsetHeight < 60", "the heading is one line")
            assert page.run(bottom.format(f"{shown!r}")) < 720 / 2 and page.run(bottom.format("'.map canvas'")) <= 720
        finally:
            web.console(f'Relink {cut.split("[")[0]}')
        restored(web)
        page.wait("!fmd.state.map.faults.length", "all is whole again")


def test_reason_stands_where_it_is_asked(web, page):
    """A link that is down, a path that is none, a host's HCA without one: each view says why."""
    if web.rig != "fmsim":
        return  # ports on ibsim report no reasons
    web.ibsim.tell("down leaf-su01-rail2:35 reason 3")
    try:
        why = "block lock lost"
        page.wait(f"document.querySelector('.faults').innerText.includes({json.dumps(why)})", "the reason in the list of faults")
        assert "the end to blame" in page.text(".faults") and "p35" in page.text(".faults")
        go(page, "#/links", "the reason among links", why)
        go(page, "#/show/leaf-su01-rail2:35", "the reason above a port's facts", why)
        assert page.text(".wrong").strip().startswith("down since")
        titles = page.run("[...document.querySelectorAll('th')].map(th => th.innerText)")
        assert "Level" in titles and "Tier" not in titles  # of events
    finally:
        web.ibsim.tell("link leaf-su01-rail2:35")
    restored(web)
    web.console(f'Unlink "{SECOND_LEAF}"')
    try:
        web.wait(lambda s: s["hcas_cut_off"] == 32, "the leaf is dead")
        go(page, "#/path/dgx-su01-01/dgx-su01-20", "the HCA without a path, and why", "leaf-su01-rail1 is down")
        assert "1 of 8 HCAs have no path" in page.text("#content") and page.run("document.querySelectorAll('svg.path .hop').length") == 3
        go(page, "#/path/dgx-su01-01 mlx5_3/dgx-su01-20 mlx5_3", "why there is no path", "leaf-su01-rail1 is down")
    finally:
        web.console(f'Relink "{SECOND_LEAF}"')
    restored(web)


def test_choices_stand_in_the_address_and_go_back(web, page):
    """A filter or colour is in the address: who opens it sees the same, and the back button undoes it."""
    cases = [("#/hosts", "Verdict", "DEGRADED", "verdict=DEGRADED"), ("#/events", "Kind", "up", "kind=up"), ("#/switches", "State", "!", "state=%21"),
             ("#/links", "Which links", "all", "show=all"), ("#/", "Colour by", "load", "colour=load")]
    for view, label, value, written in cases:
        page.run(f"location.hash = {json.dumps(view)}")
        control = f"document.querySelector('select[aria-label={json.dumps(label)}]')"
        page.wait(f"{control} && [...{control}.options].some(option => option.value === {json.dumps(value)})", label)
        page.run(f"(s => {{ s.value = {json.dumps(value)}; s.onchange(); }})({control})")
        assert page.run("location.hash").split("?")[1] == written
        page.run("location.reload()")
        page.wait(f"{READY.split(' && ')[0]} && {control}.value === {json.dumps(value)}", f"{label} is as the address says")
        page.run("history.back()")
        page.wait(f"{control}.value === '' && !location.hash.includes('?')", f"{label} is undone")
    page.run("location.hash = '#/hosts?text=su01-07'")
    page.wait("document.querySelectorAll('tbody tr').length === 1", "the one host that was sent")
    page.run("(i => { for (const text of ['su01-0', 'su01-', 'su01-2']) { i.value = text; i.oninput(); } })(document.querySelector('input[aria-label^=Filter]'))")
    page.wait("document.querySelectorAll('tbody tr').length === 10", "dgx-su01-20 to 29")
    page.run("location.hash = '#/events'")


def test_load_has_directions_and_a_scale(web, page):
    if web.rig != "fmsim":
        return  # ibsim carries nothing
    guid, = [row["guid"] for row in web.ask("nodes") if row["name"] == "dgx-su01-20 mlx5_4"]
    web.ibsim.tell(f"load pair {HOST}:1 H-{guid[2:]}:1 50%")
    try:
        for _ in range(3):  # rates are those between two readings
            web.ask("health", "--read")
        page.run("location.hash = '#/?colour=load'")
        page.wait("fmd.state.map.trunks.filter(trunk => trunk.load).length === 2", "the flow's two trunks")
        trunks = page.run("fmd.state.map.trunks.filter(trunk => trunk.load).map(trunk => [fmd.state.map.switches[trunk.lower].name, trunk.loadUp > 40, trunk.loadDown > 40])")
        assert len({name for name, *_ in trunks}) == 2 and sorted(ways for _, *ways in trunks) == [[False, True], [True, False]]
        page.wait("[...document.querySelectorAll('.scale')].map(step => step.innerText.trim().split(/\\s+/)).filter(words => words.length > 1 && words.at(-1) === '2').length === 1", "two trunks in one step of the scale")
        assert page.text(".legend").split()[-2:] == ["from", "95%"]
        page.run("(s => { s.value = 'fit'; s.onchange(); })(document.querySelector('select[aria-label=Scale]'))")
        page.wait("location.hash === '#/?colour=load&scale=fit'", "the scale in the address")
        source = next(name for name, up, _ in trunks if up)
        port = next(row["port"] for row in web.ask("counters", source, "--rates") if row["to"]["name"].startswith("spine") and row.get("xmit_gbps", 0) > 1)
        go(page, f"#/show/{source}:{port}", "the port's history", "Load of")
        page.wait("document.querySelector('svg.history path.sent.mean').getAttribute('d').length > 10", "what it sent is drawn")
        assert page.text("#content").count("At 0:") == 1
        page.run("[...document.querySelectorAll('.choices a')].find(a => a.textContent === 'day').click()")
        page.wait("location.hash.endsWith('?span=day') && document.querySelector('.choices [aria-current]').textContent === 'day'", "the day")
    finally:
        web.ibsim.tell("load off")


def test_groups_and_partitions_are_views(web, page):
    go(page, "#/groups", "the groups", web.ask("groups")[0]["mgid"])
    go(page, "#/partitions", "the partitions", "Default")
    page.run("document.querySelector('tbody a').click()")
    page.wait("document.querySelector('#content').innerText.includes('Members')", "the partition's members")


def test_cables_are_a_view(web, page):
    if web.rig != "fmsim":
        return  # modules on ibsim do not report themselves
    port = "leaf-su01-rail3:34"
    for words in f"unlink {port}", f"heat {port} 91", f"cable {port} MT2213FT00042", f"link {port}":  # read as its link comes up
        web.ibsim.tell(words)
    try:
        web.wait(lambda s: any(row["serial"] == "MT2213FT00042" and row["temperature_c"] == 91 for row in web.ask("cables", port)), "the module is read")
        go(page, "#/cables?what=leaf-su01-rail3", "the module", "MT2213FT00042")
        assert page.run("document.querySelector('tbody tr').innerText").split()[:2] == ["leaf-su01-rail3", "p34"]  # the hottest first
    finally:
        web.ibsim.tell(f"heat {port} 0")


def test_commands_that_are_copied_are_those_of_fmctl(web, page):
    page.run("Object.defineProperty(navigator, 'clipboard', { value: { writeText: text => { window.copied = text; return Promise.resolve(); } } })")
    for view in ["", "hosts?verdict=!&text=su01", "switches?state=!", "links", "links?show=sick&what=leaf-su01-rail0", "cables?sort=flaps&what=leaf-su01-rail0", "path/dgx-su01-01 mlx5_0/dgx-su01-20 mlx5_0", "traffic", "events?level=warning", "groups",
                 "partitions", "show/dgx-su01-01 mlx5_0", "show/leaf-su01-rail0:33"]:
        page.run(f"(window.copied = null, location.hash = {json.dumps('#/' + view)})")
        page.wait("[...document.querySelectorAll('#content .copy')].map(button => button.click()).length && window.copied", view)
        words = shlex.split(page.run("copied").split(" | ")[0])
        assert words[0] == "fmctl" and web.fmctl(*words[1:], check=False).returncode == 0, words


def test_cordoned_switch_is_one_row_and_has_its_own_shape(web, page):
    faults = "fmd.state.map.faults.map(fault => fault.text)"
    web.ask("cordon", "spine-03")
    try:
        page.wait(f"{faults}.length", "the cordon")
        assert page.run(faults) == ["spine-03: all 64 links to switches are cordoned"]
        assert page.run("fmd.state.map.switches.filter(sw => sw.state === 'cordoned').map(sw => sw.name)") == ["spine-03"]
        page.wait("[...document.querySelectorAll('.tiles .tile')].some(tile => /^64\\s+links cordoned$/.test(tile.innerText.trim()))", "the figure")
        web.console(f'Unlink "{SECOND_LEAF}"')
        page.wait(f"{faults}.join() === 'leaf-su01-rail1: all 64 links down,spine-03: all 56 links to switches are cordoned'", "what is down is not called cordoned")
        web.console(f'Relink "{SECOND_LEAF}"')
        restored(web)
        web.ask("uncordon", "spine-03")
        web.ask("cordon", f"{LEAF}:33")
        page.wait("[...document.querySelectorAll('.tiles .tile')].some(tile => /^1\\s+link cordoned$/.test(tile.innerText.trim()))", "one link")
        page.wait(f"{faults}.join() === 'leaf-su01-rail0 – spine-01: 8 of 8 links up, 1 cordoned'", "its trunk")
    finally:
        web.console(f'Relink "{SECOND_LEAF}"')
        web.ask("uncordon", "spine-03")
        web.ask("uncordon", f"{LEAF}:33")
    page.wait(f"!{faults}.length", "all is as before")


def test_search_finds_and_shows(page):
    page.press("/")
    page.type("su01-07")
    page.wait("document.querySelectorAll('#found [role=option]').length > 8", "what was found")
    assert page.text("#found li").startswith("host")
    page.press("ArrowDown")
    page.press("ArrowDown")
    page.press("Enter")
    page.wait("location.hash.startsWith('#/show/')", "it is gone to")
    page.wait("document.querySelector('#content').innerText.includes('dgx-su01-07 mlx5_0')", "what it is")


@pytest.mark.parametrize("what", ["lid:257", "0x0002c90300000100", "leaf-su01-rail0"])
def test_enter_shows_what_was_typed(page, what):
    page.press("/")
    page.type(what)
    page.press("Enter")
    page.wait("document.querySelector('#content').innerText.includes('leaf-su01-rail0')", "the leaf")


def test_path_is_drawn_hop_by_hop(web, page):
    hops = web.ask("path", "dgx-su01-01 mlx5_0", "dgx-su01-20 mlx5_3")["hops"]
    go(page, "#/path/dgx-su01-01 mlx5_0/dgx-su01-20 mlx5_3", "the path", "4 links from")
    drawn = page.run("[...document.querySelectorAll('svg.path:not(.back) .hop text:nth-of-type(1)')].map(t => t.textContent)")
    assert drawn == [hop["name"] for hop in hops]
    go(page, "#/path/dgx-su01-01/dgx-su01-20", "the paths of all HCAs", "8 paths")
    assert page.run("[...document.querySelectorAll('tbody')[0].rows].map(r => r.cells[0].innerText)") == [path["from"] for path in web.ask("path", "dgx-su01-01", "dgx-su01-20")["paths"]]
    go(page, "#/path/dgx-su01-01 mlx5_0/nobody", "that there is none", "nobody")
    assert page.run("document.querySelector('#content [role=alert]').innerText")


def test_events_are_filtered(web, page):
    web.ask("cordon", f"{LEAF}:34")
    web.ask("uncordon", f"{LEAF}:34")
    go(page, "#/events", "the history", "uncordoned")
    rows = "[...document.querySelectorAll('tbody tr')].map(r => r.innerText)"
    page.run("(s => { s.value = 'cordoned'; s.onchange(); })(document.querySelector('select[aria-label=Kind]'))")
    assert page.run(rows) and all("\tcordoned\t" in row for row in page.run(rows))
    page.wait("document.querySelector('#content .soft').innerText.includes(' of the latest ')", "how many of how many")
    page.run("(i => { i.value = 'no such words'; i.oninput(); })(document.querySelector('input[aria-label^=Filter]'))")
    assert page.run(rows) == []


def test_traffic_lists_links_with_their_rates(web, page):
    go(page, "#/traffic", "the hottest links", "links that are up have a known load")
    assert "Busiest between switches" in page.text("#content")


def test_every_view_is_reached_by_a_key_and_none_is_wider_than_a_telephone(page):
    page.resize(400, 860, touch=True)
    for key, title in enumerate(["Fabric", "Hosts", "Switches", "Links", "Cables", "Path", "Traffic", "Events", "Multicast groups", "Partitions"], 1):
        page.press(str(key % 10))
        page.wait(f"document.title.startsWith({json.dumps(title)})", title)
        page.wait("document.querySelector('#content').innerText.length > 20", "something stands there")
        assert page.run("document.documentElement.scrollWidth") <= 400, title
        assert page.run("[...document.querySelectorAll('button, input, select, canvas, [role=region]')].filter(e => !(e.innerText || '').trim() && !e.ariaLabel && "
                        "!e.getAttribute('aria-label') && !e.labels?.length).length") == 0, title  # each has a name


def test_telephone_shows_all_tabs_and_why_a_host_is_ill(web, page):
    web.console(f'Unlink "{SECOND_LEAF}"')
    try:
        page.resize(400, 860, touch=True)
        go(page, "#/hosts", "hosts by verdict", "cut off at leaf-su01-rail1")
        assert page.run("document.querySelector('nav').scrollWidth <= 400")
        assert page.run("(s => s.scrollWidth <= s.clientWidth)(document.querySelector('#content .scroll'))")  # nothing beyond the edge
    finally:
        web.console(f'Relink "{SECOND_LEAF}"')
    restored(web)


def test_what_a_heading_says_is_not_said_again(page):
    go(page, "#/show/leaf-su01-rail0", "the leaf", "tier 1 of 2")
    facts = page.run("[...document.querySelectorAll('#content dt')].map(t => t.innerText)")
    assert {"GUID", "LID", "Place"} <= set(facts) and not {"Kind", "Name", "Role", "Level", "SU", "Rail"} & set(facts)
    assert page.run("[...document.querySelectorAll('#content thead')][0].innerText").split()[:3] == ["Switch", "Role", "Tier"]
    assert page.run("document.querySelector('#content tbody tr').innerText").split()[:3] == ["spine-01", "spine", "2"]


def test_map_is_walked_by_keys(web, page):
    web.ask("cordon", f"{SECOND_LEAF}:40")
    try:
        page.wait("fmd.state.map.faults.length", "the cordon")
        page.press("m")
        page.press("ArrowRight")
        page.wait("document.querySelector('#said').textContent.includes('LID')", "where the focus is")
        page.press("Enter")
        page.wait("location.hash.startsWith('#/show/')", "it opens")
    finally:
        web.ask("uncordon", f"{SECOND_LEAF}:40")


def test_times_are_local_or_utc_and_colours_light_or_dark(page):
    back = "getComputedStyle(document.body).backgroundColor"
    page.run("localStorage.clear()")
    light = page.run(back)
    page.press("d")
    page.press("d")
    assert page.run(back) != light
    page.press("t")
    assert page.text("#zone") == "UTC" and page.text("#seen").endswith("UTC")
    page.run("localStorage.clear()")


def test_silence_is_loud_and_ends_by_itself(web, page):
    web.stop_fmd()
    page.wait("!document.querySelector('#stale').hidden && document.querySelector('#stale').textContent.includes('NO DATA since')", "no data")
    assert page.run("getComputedStyle(document.querySelector('main')).filter") != "none"
    web.start_fmd(HOST)
    web.wait_up()
    page.wait("document.querySelector('#stale').hidden", "data again")
    page.wait("fmd.state.status.state === 'up' && document.querySelector('#state').textContent.includes('up')", "the fabric is up")


def test_page_asks_for_the_token(start, pod_net, chromium, tmp_path):
    address, file = own_address(), tmp_path / "token"
    file.write_text(TOKEN + "\n")
    start(pod_net, HOST, http_listen=f"{address}:9810", http_token_file=str(file))
    chromium.errors.clear()
    given = chromium.call("Page.addScriptToEvaluateOnNewDocument", source=f"window.prompt = () => {json.dumps(TOKEN)};")["identifier"]
    try:
        chromium.open(f"http://{address}:9810/")
        chromium.wait(READY, "the map is drawn")
        chromium.wait("fmd.stream.last !== null && !fmd.state.lost", "the stream goes")
        assert chromium.run("sessionStorage.getItem('token')") == TOKEN and chromium.errors == []
    finally:
        chromium.call("Page.removeScriptToEvaluateOnNewDocument", identifier=given)


def test_names_of_the_fabric_are_never_read_as_html(web, page):
    evil = "<img src=x onerror=fmd.hacked=1><b>bold"
    if web.rig != "fmsim":
        return  # names on ibsim do not change
    web.ibsim.tell(f'describe {SECOND_LEAF} "{evil}"')
    try:
        web.wait(lambda s: any(row["name"] == evil for row in web.ask("switches")), "the new name")
        page.wait("fmd.state.map.switches.some(s => s.name.includes('<b>'))", "the page has it")
        go(page, "#/switches", "its name as it is", "<b>bold")
        assert not page.run("Boolean(document.querySelector('#content img, #content b'))") and page.run("fmd.hacked === undefined")
    finally:
        web.ibsim.tell(f'describe {SECOND_LEAF} "leaf-su01-rail1"')
        web.wait(lambda s: not any(row["name"] == evil for row in web.ask("switches")), "the old name")
