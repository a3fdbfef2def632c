# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The page, as a headless Chromium has it: what an operator sees of the fabric, finds, and is told."""
import json

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
    for view in "hosts", "switches", "path/dgx-su01-01/dgx-su01-20", "events", "traffic", "show/leaf-su01-rail0", "":
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
        page.wait("document.querySelector('#state').textContent === '▲ up'", "not all is well, though there is no alert")
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
        page.wait("fmd.state.map.switches.filter(sw => sw.state !== 'ok').map(sw => sw.name).join() === 'leaf-su01-rail1'", "the dead leaf alone is no whole switch")
        page.wait("document.querySelector('#state').textContent === '▲ up'", "shape and colour say that not all is well")
        assert page.run("document.querySelector('#content').firstElementChild.firstElementChild.firstElementChild.className") == "cutoff"
        go(page, "#/hosts", "hosts by verdict", "rail1")
        page.wait("document.querySelector('tbody tr').innerText.includes('DEGRADED')", "the worst first")
        assert page.run("document.querySelectorAll('tbody tr:first-child .rails .s-dead').length") == 1
    finally:
        web.console(f'Relink "{SECOND_LEAF}"')
    restored(web)
    page.run("location.hash = '#/'")
    page.wait("!document.querySelector('.cutoff')", "nobody is cut off")


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
    for key, title in enumerate(["Fabric", "Hosts", "Switches", "Path", "Events", "Traffic"], 1):
        page.press(str(key))
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
