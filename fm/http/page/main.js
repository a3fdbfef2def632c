// main: state, the stream that keeps it true, the views, the search box and the keys.
import { place } from "./address.js";
import { Stream, get } from "./api.js";
import { $, h, say, showAddress } from "./dom.js";
import { pathView, showView } from "./details.js";
import { cablesView, eventsView, groupsView, hostsView, linksView, partitionsView, switchesView, trafficView } from "./lists.js";
import { Events, KEPT_EVENTS, clock, faultsOf, isDamaged, makeMap, number, plural, span } from "./model.js";
import { fabricView } from "./views.js";

const FIRST_EVENTS = 40, ALL_EVENTS = 2000, STALE_MS = 5000, MAP_AFTER_MS = 300, MAP_REST = 4, MAP_EVERY_MS = 15000, HOSTS_EVERY_MS = 5000, LINKS_MOST = 400, NO_LINKS = [];

const state = { status: null, map: null, hosts: null, unhealthy: [], nvlink: null, links: [], events: new Events(), utc: localStorage.getItem("utc") === "1", heard: 0, lost: null };
let view = null, gone = null, pathKey = false;  // gone: since when there is no data, as time

// ---- What is shown

const VIEWS = [["", "Fabric", () => fabricView(state)], ["hosts", "Hosts", () => hostsView(state)], ["switches", "Switches", () => switchesView(state)], ["links", "Links", () => linksView(state)], ["cables", "Cables", () => cablesView(state)],
  ["path", "Path", rest => pathView(state, ...rest)], ["traffic", "Traffic", () => trafficView(state)], ["events", "Events", () => eventsView(state)], ["groups", "Groups", () => groupsView(state)], ["partitions", "Partitions", () => partitionsView(state)]];

function route() {
  const [name = "", ...rest] = place();
  if (name === "show") return showView(state, rest.join("/"));
  if (name === "block") return fabricView(state, Number(rest[0]));
  return (VIEWS.find(([key]) => key === name) ?? VIEWS[0])[2](rest);
}

function go() {
  closeFound();
  view?.leave?.();
  view = route();
  $("content").replaceChildren(view.element);
  document.title = `${view.title} – fmd`;
  const [now] = place();
  for (const item of $("nav").children) item.toggleAttribute("aria-current", item.dataset.view === (now === "block" ? "" : now));
  if (view.needs === "hosts") takeHosts();
  if (view.needs === "history") takeHistory();
  view.update?.("clock");
  scrollTo(0, 0);
  if (pathKey) view.focus?.focus();
  pathKey = false;
}

const tell = what => view?.update?.(what);

// ---- Documents

let mapTimer = null, mapAsked = 0, mapTook = 0, mapBusy = false;

async function takeMap() {
  clearTimeout(mapTimer);
  mapTimer = null;
  if (mapBusy) return askMap();
  mapBusy = true;
  mapAsked = performance.now();
  try {
    const document = await get("map", {}, { keep: true });
    if (document !== state.mapDocument) {
      state.mapDocument = document;
      state.map = makeMap(document, state.links);
      tell("map");
    }
    takeLinks();
  } catch (error) {
    if (error.status !== 503 && error.status !== 400) console.warn("map:", error.message);
    askMap(1000);
  }
  mapTook = performance.now() - mapAsked;
  mapBusy = false;
}

// Links that are down and those that are not trusted, with since when and why; only where there are some.
let taken = [];
async function takeLinks() {
  const s = state.status, ask = (wanted, query) => wanted ? get("links", { ...query, limit: LINKS_MOST }, { keep: true }) : NO_LINKS;
  if (!s || !state.map) return;
  try {
    const rows = await Promise.all([ask(s.links_down, { down: 1 }), ask(s.links_quarantined || s.links_isolated || s.health?.sick || s.health?.warned || s.health?.slow, { sick: 1 })]);
    if (rows.every((list, i) => list === taken[i])) return;
    taken = rows;
    state.links = rows.flat();
    state.map.faults = faultsOf(state.map, state.links);
    tell("faults");
  } catch (error) { console.warn("links:", error.message); }
}

// Soon after something happened; but in a storm of events fmd and the browser rest MAP_REST times as long as the last map took.
function askMap(after = MAP_AFTER_MS) {
  mapTimer ??= setTimeout(takeMap, Math.max(after, mapAsked + mapTook * (1 + MAP_REST) - performance.now()));
}

let hostsAsked = -HOSTS_EVERY_MS;
async function takeHosts() {
  if (performance.now() - hostsAsked < HOSTS_EVERY_MS && state.hosts) return tell("hosts");
  hostsAsked = performance.now();
  try {
    const [hosts, nvlink] = await Promise.all([get("hosts", {}, { keep: true }), get("nvswitch", {}, { keep: true }).catch(() => null)]);
    if (hosts === state.hosts && nvlink === state.nvlinkDocument) return;
    state.hosts = hosts;
    state.nvlinkDocument = nvlink;
    state.nvlink = new Map((nvlink?.hosts ?? []).map(host => [host.host, host.state]));
    tell("hosts");
  } catch (error) { console.warn("hosts:", error.message); }
}

// Those that are not HEALTHY, for who is cut off altogether.
async function takeUnhealthy() {
  const hosts = await get("hosts", { unhealthy: 1 }, { keep: true }).catch(() => []);
  if (hosts === state.unhealthy) return;
  state.unhealthy = hosts;
  tell("hosts");
}

let whole = false;  // all events that fmd has are asked for
async function takeHistory(count = ALL_EVENTS) {
  if (whole && count === ALL_EVENTS) return;
  whole = count === ALL_EVENTS;
  try {
    state.events.replace(await get("events", { n: count }), count === ALL_EVENTS ? KEPT_EVENTS : undefined);
    tell("events");
  } catch (error) { whole = false; console.warn("events:", error.message); }
}

// ---- What happens

function onStatus(status) {
  state.heardAt = Date.now();
  const before = state.status, changes = ["serial", "links", "links_down", "links_cordoned", "links_quarantined", "links_isolated", "links_held", "links_missing", "switches", "hcas", "hcas_off", "hcas_cut_off", "state"];
  state.status = status;
  if (before && changes.some(key => before[key] !== status[key])) askMap();
  if (performance.now() - mapAsked > MAP_EVERY_MS) askMap(0);
  if (view?.needs === "hosts") takeHosts();
  else if (status.hcas_cut_off && view) takeUnhealthy();
  header();
  tell("status");
}

let eventsDue = null;
function onEvent(event) {
  state.events.add([event]);
  askMap();
  eventsDue ??= requestAnimationFrame(() => { eventsDue = null; tell("events"); });
  if (event.level === "error" || event.level === "warning") say(event.text);
}

function onFrame(kind, data) {
  if (kind === "status") onStatus(data);
  else if (kind === "event") onEvent(data);
  else if (kind === "gap") takeHistory(whole ? ALL_EVENTS : FIRST_EVENTS).then(() => askMap(0));
}

const stream = new Stream({
  frame: onFrame,
  alive: () => { state.heard = performance.now(); state.heardAt = Date.now(); state.lost = null; live(); },
  lost: why => { state.lost = why; live(); },
});

// No data is loud: what is shown is as it was, and says since when.
function live() {
  const silent = state.heardAt ? Date.now() - state.heardAt : 0, stale = silent > STALE_MS || (state.lost && !state.heardAt);
  document.body.classList.toggle("stale", Boolean(stale));
  $("stale").hidden = !stale;
  if (stale) {
    const text = state.heardAt ? `NO DATA since ${clock(state.heardAt, state.utc)} (${span(silent / 1000)}): the data below is stale.` : "NO DATA: fmd does not answer.";
    $("stale").textContent = `${text} ${state.lost ? `Reason: ${state.lost}. ` : ""}Retrying …`;
    $("state").textContent = "✕ no data";
    $("state").className = "pill dead";
    if (!gone) gone = Date.now();
  } else if (gone) {
    gone = null;
    if (state.status) header();
    askMap(0);
    say("Connected again.");
  }
  $("seen").textContent = state.heardAt ? clock(Date.now(), state.utc) + (state.utc ? " UTC" : "") : "";
}

const GOOD = new Set(["up"]), CHANGING = new Set(["changing", "bringup", "starting"]);
function header() {
  const s = state.status, impaired = s.alerts?.length || isDamaged(s);
  $("state").textContent = `${GOOD.has(s.state) ? (impaired ? "▲" : "✓") : CHANGING.has(s.state) ? "…" : "✕"} ${s.state === "up" && s.headline === "UP (DEGRADED)" ? "degraded" : s.state}`;
  $("state").className = "pill " + (GOOD.has(s.state) ? (impaired ? "part" : "ok") : CHANGING.has(s.state) ? "part" : "dead");
  $("state").title = `${s.headline ?? s.state}, ${s.role ?? ""}, engine ${s.engine}, ${s.levels} ${plural("tier", s.levels)}, ${number(s.lids)} ${plural("LID", s.lids)}, up for ${span(s.uptime_s)}`;
}

// ---- Search

let rows = [], chosen = -1, asked = 0;
const find = $("find"), found = $("found");

function showFound() {
  found.hidden = !rows.length;
  find.setAttribute("aria-expanded", String(rows.length > 0));
  find.setAttribute("aria-activedescendant", chosen < 0 ? "" : "found" + chosen);
  found.replaceChildren(...rows.map((row, i) => h("li", { id: "found" + i, role: "option", "aria-selected": String(i === chosen), onmousedown: event => { event.preventDefault(); open(i); } },
    h("span.kind", {}, row.kind), h("b", {}, row.name), h("span.soft", {}, row.detail ?? ""))));
  found.children[chosen]?.scrollIntoView({ block: "nearest" });
}

async function search() {
  const text = find.value.trim(), mine = ++asked;
  if (!text) { rows = []; return showFound(); }
  const result = await get("search", { text }).catch(error => [{ kind: "", name: error.message, what: null }]);
  if (mine !== asked) return;
  rows = result.length ? result : [{ kind: "", name: "nothing found; Enter asks for it as it is", what: text }];
  chosen = -1;
  showFound();
}

function open(i) {
  const what = i >= 0 ? rows[i].what : rows.length === 1 ? rows[0].what : find.value.trim();
  if (!what) return;
  find.value = "";
  closeFound();
  find.blur();
  location.hash = showAddress(what);
}

let typed = null;
find.oninput = () => { clearTimeout(typed); typed = setTimeout(search, 120); };
function closeFound() {
  clearTimeout(typed);
  asked++;
  rows = [];
  showFound();
}
find.onblur = closeFound;
find.onfocus = () => { if (find.value) search(); };
find.onkeydown = event => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    chosen = Math.max(-1, Math.min(rows.length - 1, chosen + (event.key === "ArrowDown" ? 1 : -1)));
    event.preventDefault();
    showFound();
  } else if (event.key === "Escape") { find.value = ""; closeFound(); }
};
$("search").onsubmit = event => { event.preventDefault(); open(chosen); };

// ---- Choices that stay, and keys

const THEMES = ["auto", "light", "dark"];
function theme(next) {
  let now = localStorage.getItem("theme") ?? "auto";
  if (next) localStorage.setItem("theme", now = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]);
  document.documentElement.dataset.theme = now;
  $("theme").textContent = { auto: "◐", light: "☀", dark: "☾" }[now];
  $("theme").setAttribute("aria-label", `Colours: ${now}`);
  tell("clock");
}
function zone(next) {
  if (next) { state.utc = !state.utc; localStorage.setItem("utc", state.utc ? "1" : "0"); }
  $("zone").textContent = state.utc ? "UTC" : "local";
  $("zone").setAttribute("aria-label", `Times: ${state.utc ? "UTC" : "local"}`);
  live();
  tell("clock");
}

const KEYS = [["/", "search"], ["1 – 9, 0", "views, in their order"], ["p", "path between two"], ["m", "to the map; there: arrows, n = next fault, Enter = open"], ["t", "local time or UTC"], ["d", "light, dark, as the system has it"], ["Esc", "back to the fabric"], ["?", "this"]];
function keys() {
  const dialog = $("keys");
  if (dialog.open) return dialog.close();
  dialog.replaceChildren(h("h2", {}, "Keys"), h("dl.keys", {}, KEYS.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])), h("button", { type: "button", onclick: () => dialog.close() }, "Close"));
  dialog.showModal();
}

function press(event) {
  const { key } = event, typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
  if (key === "Escape") typing ? event.target.blur() : location.hash = "#/";
  if (typing) return;
  if (key === "/") { event.preventDefault(); find.focus(); }
  else if (key >= "0" && key <= "9") location.hash = "#/" + VIEWS[(Number(key) + 9) % 10][0];
  else if (key === "p") {
    event.preventDefault();
    pathKey = true;
    if (place()[0] === "path") go();
    else location.hash = "#/path";
  }
  else if (key === "m") document.querySelector(".map canvas")?.focus();
  else if (key === "t") zone(true);
  else if (key === "d") theme(true);
  else if (key === "?") keys();
}

// ---- Begin

$("nav").replaceChildren(...VIEWS.map(([key, title], i) => h("a", { href: "#/" + key, "data-view": key, title: `${title} (${(i + 1) % 10})` }, title)));
$("theme").onclick = () => theme(true);
$("zone").onclick = () => zone(true);
$("help").onclick = keys;
document.onkeydown = press;
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => tell("clock"));
performance.setResourceTimingBufferSize(0);  // the page asks for ever
theme();
zone();

async function begin() {
  try {
    const [status, events] = await Promise.all([get("status"), get("events", { n: FIRST_EVENTS }), takeMap()]);
    state.events.add(events);
    onStatus(status);
    go();
    takeLinks();
    stream.start(state.events.newest);
  } catch (error) {
    state.lost = error.message;
    live();
    setTimeout(begin, 1000);
  }
}

// A file that was saved from the browser: nobody answers there, and what was on the page when it was saved is left as it is.
function beSaved() {
  $("stale").hidden = false;
  $("stale").textContent = "SAVED PAGE: offline copy, not live. Its data, if any, is from the time it was saved. Open the page at fmd's address (http_listen) for the present state.";
  $("state").textContent = "✕ no manager";
  $("state").className = "pill dead";
  $("find").disabled = true;
  $("nav").replaceChildren();
}

if (location.protocol === "file:") {
  beSaved();
} else {
  addEventListener("hashchange", go);
  setInterval(live, 1000);
  begin();
}
window.fmd = { state, stream };  // for tests, and for who looks in the console
