// views: what stands on the page. A view is {title, element, update(state, what)}: it is made anew when it is gone to and told of what
// has changed ("status", "map", "events", "hosts", "clock") as long as it is shown.
import { get } from "./api.js";
import { h, link, mark, section, showAddress, table } from "./dom.js";
import { FabricMap } from "./map.js";
import { LEVELS, VERDICTS, alertOrder, clock, duration, hcaState, hostVerdict, isDamaged, natural, number, plural, span, trunkText, worstFirst } from "./model.js";

const RECENT = 12, FAULTS = 40, ROWS = 200, HOST_ROWS = 120;

const when = (state, time) => h("time", { datetime: time, title: time }, clock(time, state.utc));
const eventTable = (state, rows) => table([["Time", event => when(state, event.time), "when"], ["Kind", event => event.kind, "kind"], ["What", event => event.text, "what"]],
  rows, { label: "Events", rowClass: event => "." + event.level });

// ---- Fabric: alerts first, then figures, the map, faults and maintenance, what happened

function tilesOf(s) {
  const fault = s.last_fault, proof = s.proof ?? {}, wrong = (proof.unreachable ?? 0) + (proof.loops ?? 0) + (proof.credit_cycles ?? 0), list = [];
  const add = (text, value, state, title) => list.push(h("div.tile" + (state ? ".s-" + state : ""), { title }, h("b", {}, state ? mark(state) : null, " ", value), h("span", {}, text)));
  if (s.hcas_cut_off) add(plural("HCA", s.hcas_cut_off) + " cut off", number(s.hcas_cut_off), "dead");
  add(plural("HCA", s.hcas), number(s.hcas));
  if (s.hcas_off) add(plural("HCA", s.hcas_off) + " off (own link down)", number(s.hcas_off), "part");
  add(plural("switch", s.switches), number(s.switches));
  add(`${plural("link", s.links_down)} down of ${number(s.links)}`, number(s.links_down), s.links_down ? "part" : "");
  if (s.links_cordoned) add(`${plural("link", s.links_cordoned)} cordoned`, number(s.links_cordoned), "cordoned");
  if (s.links_quarantined) add(`${plural("link", s.links_quarantined)} in quarantine`, number(s.links_quarantined), "aside");
  if (s.links_held) add(`${plural("link", s.links_held)} held, not admitted`, number(s.links_held), "aside");
  if (s.links_missing) add(`${plural("known link", s.links_missing)} missing`, number(s.links_missing), "part");
  if (s.links_isolated) add(`${plural("link", s.links_isolated)} isolated`, number(s.links_isolated), "aside");
  if (s.health?.sick) add(`${plural("link", s.health.sick)} unhealthy`, number(s.health.sick), "unhealthy");
  add(`${plural("pair", wrong)} of HCAs without a path`, number(wrong), wrong ? "dead" : "", "by the proof of the tables in force; loops and credit cycles are counted here too");
  add("last fault rerouted in", fault ? duration(fault.detected_to_programmed_ms) : "–", "", fault?.what);
  for (const [state, count] of Object.entries(s.nvswitch?.states ?? {}))
    if (count && state !== "HEALTHY" && state !== "UNKNOWN") add(`${plural("host", count)} with NVLinks ${state}`, number(count), state === "FATAL" ? "dead" : "part");
  return list;
}

function alertsOf(state) {
  const s = state.status, alerts = alertOrder(s.alerts ?? []).filter(alert => alert.what !== "hcas-cut-off" || !s.hcas_cut_off);
  if (alerts.length) return h("ul.alerts", {}, alerts.map(alert => h("li", {}, mark("dead"), h("b", {}, alert.what), " ", alert.text, " ", h("span.soft", {}, "since ", when(state, alert.since)))));
  if (s.hcas_cut_off) return null;
  if (s.state !== "up") return h("p.calm", {}, mark("unknown"), ` The fabric is not up: ${s.state}.`);
  const damaged = isDamaged(s);
  return h("p.calm", {}, mark(damaged ? "part" : "ok"), damaged ? " No alerts. What is down, in quarantine or isolated is listed below." : " No alerts.", s.at_risk ? h("span", {}, " At risk: ", s.at_risk.text, ".") : null);
}

// Who is cut off, and behind what.
function cutOff(state) {
  const s = state.status, alert = (s.alerts ?? []).find(one => one.what === "hcas-cut-off"), dead = (state.map?.switches ?? []).filter(sw => sw.state === "dead" && sw.hcas);
  const cut = host => hostVerdict(host) === "CUT_OFF";
  const hosts = (state.hosts ?? []).filter(cut);
  if (!s.hcas_cut_off) return null;
  return h("div.cutoff", { role: "alert" }, h("h2", {}, mark("dead"), " ", s.cut_off ?? alert?.text ?? `${number(s.hcas_cut_off)} ${plural("HCA", s.hcas_cut_off)} cut off`),
    s.lost ? h("p", {}, s.lost.text) : null,
    alert ? h("p", {}, "since ", when(state, alert.since)) : null,
    dead.length ? h("p", {}, "Look at: ", dead.slice(0, 12).map(sw => [link(sw.guid, sw.name), " "])) : null,
    hosts.length ? h("p", {}, `Hosts with no HCA reached: `, hosts.slice(0, 40).map(host => [link(host.name), " "]), hosts.length > 40 ? h("a", { href: "#/hosts" }, `and ${hosts.length - 40} more`) : null) : null);
}

export function fabricView(state, block) {
  const alerts = h("div", { id: "alerts" }), tiles = h("div.tiles", {}), legend = h("ul.legend", {}), faults = h("div", {}), events = h("div", {}), crumb = h("div.crumb", {}), picked = h("p.picked", { "aria-live": "polite" }, "");
  const open = place => {
    if (place.block !== undefined && !place.trunk) location.hash = "#/block/" + place.block;
    else if (place.sw) location.hash = showAddress(place.sw.guid);
    else pick(place);
  };
  const pick = ({ trunk, block: id }) => {
    const { switches } = state.map, lower = switches[trunk.lower], upper = switches[trunk.upper];
    picked.replaceChildren(mark(trunk.state), " ", trunkText(switches, trunk), ". Show ", link(lower.guid, lower.name), " or ", link(upper.guid, upper.name), id !== undefined ? [", or ", h("a", { href: "#/block/" + id }, "this block larger")] : "", ".");
  };
  const map = new FabricMap(open);
  const by = h("select", { "aria-label": "Colour by", onchange: () => { state.by = by.value; sessionStorage.setItem("by", by.value); redraw(); } },
    [["state", "state"], ["load", "load"], ["errors", "errors"]].map(([value, text]) => h("option", { value, selected: value === state.by }, text)));
  const redraw = () => {
    map.show(state.by, block ?? null);
    legend.replaceChildren(...map.legend(mark));
  };
  const update = what => {
    if (what === "status" || what === "hosts" || what === "clock") {
      alerts.replaceChildren(...[cutOff(state), alertsOf(state)].filter(Boolean));
      tiles.replaceChildren(...tilesOf(state.status));
    }
    if (what === "map" && state.status?.hcas_cut_off) update("status");
    if ((what === "map" || what === "clock") && state.map) {
      map.set(state.map);
      const part = state.map.blocks[block];
      crumb.replaceChildren(...(part ? [h("a", { href: "#/" }, "Whole fabric"), " › ", part.title] : [`${number(state.map.switches.length)} ${plural("switch", state.map.switches.length)} in ${state.map.levels} ${plural("tier", state.map.levels)}`]));
      faults.replaceChildren(...faultRows(state));
    }
    if (what === "events" || what === "clock") events.replaceChildren(eventTable(state, state.events.filtered({}, RECENT, Date.now()).rows), h("p", {}, h("a", { href: "#/events" }, "All events")));
  };
  const element = h("div.fabric", {}, alerts, tiles,
    section(null, { class: "wide", "aria-label": "Map" }, h("div.bar", {}, h("h2", {}, "Fabric"), crumb, h("label.right", {}, "colour by ", by)), map.element, legend, picked),
    section("Faults and maintenance", {}, faults), section("Latest events", {}, events));
  redraw();
  for (const what of ["status", "map", "events"]) if (state[what]) update(what);
  return { title: "Fabric", element, update };
}

function faultRows(state) {
  const { faults } = state.map;
  if (!faults.length) return [h("p", {}, mark("ok"), " All links of all switches are up; none is cordoned, in quarantine, isolated or unhealthy.")];
  const row = fault => h("li", {}, mark(fault.state), " ", fault.sw ? link(fault.sw.guid, fault.text) : link(state.map.switches[fault.trunk.lower].guid, fault.text));
  return [h("ul.plain", {}, faults.slice(0, FAULTS).map(row)), faults.length > FAULTS ? h("p.soft", {}, `and ${number(faults.length - FAULTS)} more`) : null].filter(Boolean);
}

// ---- Hosts

const verdictMark = verdict => mark({ HEALTHY: "ok", UNKNOWN: "unknown", DEGRADED: "part", NO_P2P: "part", FATAL: "dead", CUT_OFF: "dead" }[verdict] ?? "unknown");

function rails(host) {
  return h("span.rails", { role: "img", "aria-label": (host.hcas ?? []).map(hca => `${hca.name} ${hca.state}`).join(", ") },
    (host.hcas ?? []).map(hca => { const place = mark(hcaState(hca)); place.append(titled(`${hca.name}${hca.rail == null ? "" : `, rail ${hca.rail}`}: ${hca.state}, LID ${hca.lid}`)); return place; }));
}
function titled(text) {
  const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
  title.textContent = text;
  return title;
}

export function hostsView(state) {
  const find = h("input", { type: "search", placeholder: "name or reason", "aria-label": "Filter hosts", oninput: () => draw() }), rows = h("div", {}), count = h("span.soft", {});
  const verdict = h("select", { "aria-label": "Verdict", onchange: () => draw() }, h("option", { value: "" }, "any verdict"), h("option", { value: "!" }, "not HEALTHY"), VERDICTS.map(value => h("option", { value }, value)));
  let most = HOST_ROWS;
  const fits = host => (!verdict.value || (verdict.value === "!" ? hostVerdict(host) !== "HEALTHY" : hostVerdict(host) === verdict.value)) &&
    (host.name + " " + (host.reasons ?? []).join(" ")).toLowerCase().includes(find.value.trim().toLowerCase());
  const nvlink = host => host.nvlink?.state ?? host.nvlink ?? state.nvlink?.get(host.name) ?? "–";
  const draw = () => {
    if (!state.hosts) return;
    const list = worstFirst(state.hosts).filter(fits);
    count.textContent = `${number(list.length)} of ${number(state.hosts.length)}`;
    rows.replaceChildren(table([
      ["Verdict", host => [verdictMark(hostVerdict(host)), " ", hostVerdict(host)]], ["Host", host => link(host.name)], ["SU", host => host.su == null ? "" : host.su + 1, "extra"],
      ["HCAs by rail", rails], ["NVLinks", nvlink, "extra"], ["Reasons", host => (host.reasons ?? []).join("; "), "what"]], list.slice(0, most), { label: "Hosts", class: "hosts" }),
    list.length > most ? h("button", { type: "button", onclick: () => { most += 4 * HOST_ROWS; draw(); } }, `Show more (${number(list.length - most)})`) : "");
  };
  const element = section(null, { class: "wide" }, h("div.bar", {}, h("h2", {}, "Hosts"), find, verdict, count), rows);
  rows.append(h("p.soft", {}, "Asking …"));
  draw();
  return { title: "Hosts", element, needs: "hosts", update: what => { if (what === "hosts") draw(); } };
}

// ---- Switches: spines by pod, leaves by pod, cores by group

export function switchesView(state) {
  const element = h("div.fabric", {});
  const tile = sw => h("a.sw.s-" + sw.state, { href: showAddress(sw.guid), title: `${sw.guid}, LID ${sw.lid}` }, mark(sw.state), h("span", {}, sw.name),
    h("small", {}, `${sw.links}/${sw.links + sw.links_down}`), sw.hcas_down ? h("small.bad", {}, `${sw.hcas_down} ${plural("HCA", sw.hcas_down)} down`) : null);
  const part = (title, list) => h("div", {}, h("h3", {}, title), h("div.sws", {}, list.map(tile)));
  const draw = () => {
    const { switches, blocks, lonely } = state.map;
    element.replaceChildren(...blocks.map(block => section(block.title, { class: "wide" }, h("p", {}, h("a", { href: "#/block/" + block.id }, "On the map")),
      part(plural(switches[block.upper[0]].role, 2), block.upper.map(i => switches[i])), block.level ? "" : part(plural(switches[block.lower[0]].role, 2), block.lower.map(i => switches[i])))),
    ...(lonely.length ? [section("Without links to other switches", { class: "wide" }, part("", lonely.map(i => switches[i]).sort((a, b) => natural(a.name, b.name))))] : []));
  };
  if (state.map) draw();
  return { title: "Switches", element, update: what => { if (what === "map") draw(); } };
}

// ---- Events

export function eventsView(state) {
  const kind = h("select", { "aria-label": "Kind", onchange: () => { draw(); ask(); } }), text = h("input", { type: "search", placeholder: "node or words", "aria-label": "Filter events by node or words", oninput: () => draw() });
  const level = h("select", { "aria-label": "Level", onchange: () => { draw(); ask(); } }, h("option", { value: "" }, "any level"), LEVELS.slice(0, 4).map(value => h("option", { value }, value === "error" ? "errors" : `${value} and worse`)));
  const minutes = h("select", { "aria-label": "Time", onchange: () => { draw(); ask(); } }, [["", "any time"], [10, "last 10 minutes"], [60, "last hour"], [720, "last 12 hours"], [1440, "last day"], [10080, "last week"]].map(([value, words]) => h("option", { value }, words)));
  const rows = h("div", {}), count = h("span.soft", {});
  let kinds = "", due = null, past = [], asked = 0;
  // What fmd holds beyond what the page keeps, by its own filters.
  const ask = async () => {
    const mine = ++asked, query = { n: 2000, kind: kind.value, level: level.value, since: minutes.value && minutes.value + "m" };
    const found = kind.value || level.value || minutes.value ? await get("events", query).catch(() => []) : [];
    if (mine !== asked) return;
    past = found;
    draw();
  };
  const draw = () => {
    due = null;
    const all = state.events.kinds();
    if (all.join() !== kinds) {
      const chosen = kind.value;
      kinds = all.join();
      kind.replaceChildren(h("option", { value: "" }, "any kind"), ...all.map(value => h("option", { value, selected: value === chosen }, value)));
    }
    const found = state.events.filtered({ kind: kind.value, level: level.value, text: text.value, minutes: Number(minutes.value) }, ROWS, Date.now(), past);
    count.textContent = `${number(found.total)} of the latest ${number(found.of)}${found.total > ROWS ? `, ${ROWS} shown` : ""}`;
    rows.replaceChildren(eventTable(state, found.rows));
  };
  const element = section(null, { class: "wide" }, h("div.bar", {}, h("h2", {}, "Events"), kind, level, minutes, text, count), rows);
  draw();
  return { title: "Events", element, needs: "history", update: what => { if (what === "events") due ??= setTimeout(draw, 150); else if (what === "clock") draw(); }, leave: () => clearTimeout(due) };
}

// ---- Traffic: the hottest links and those with most errors

export function trafficView(state) {
  const element = h("div.fabric", {}), top = h("div.wide", {});
  const trunks = (title, key, unit) => {
    const { switches } = state.map, list = state.map.trunks.filter(trunk => trunk[key] > 0).sort((a, b) => b[key] - a[key]).slice(0, 25);
    if (!list.length) return section(title, {}, h("p.soft", {}, state.status?.health?.ports_read ? `No ${key} on links between switches.` : "Counters were not read yet (perf_interval)."));
    return section(title, {}, table([["Lower", t => link(switches[t.lower].guid, switches[t.lower].name)], ["Upper", t => link(switches[t.upper].guid, switches[t.upper].name)],
      [unit, t => h("span.meter", {}, h("meter", { min: 0, max: key === "load" ? 100 : list[0][key], value: t[key], "aria-hidden": "true" }), " ", number(t[key])), "num"]], list, { label: title }));
  };
  const draw = () => { if (state.map) element.replaceChildren(trunks("Busiest between switches", "load", "% of the rate"), trunks("Most errors between switches", "errors", "errors a minute"), top); };
  const ask = async () => {
    try {
      const document = await get("top", { n: 25 }), lists = Object.entries(document).filter(([, rows]) => Array.isArray(rows) && rows.length);
      top.replaceChildren(h("p.soft", {}, `${number(document.known)} of ${number(document.links)} ${plural("link", document.links)} that are up have a known load.`), ...lists.map(([key, rows]) => section(`Links: ${words(key).toLowerCase()}`, { class: "wide" }, genericTable(rows, words(key), null, key === "errors" ? "errors_per_s" : "load_percent"))));
    } catch (error) {
      top.replaceChildren(h("p.soft", {}, error.message));
    }
  };
  draw();
  ask();
  const timer = setInterval(ask, 5000);
  return { title: "Traffic", element, update: what => { if (what === "map") draw(); }, leave: () => clearInterval(timer) };
}

// ---- Rows of any document as a table

const LINKED = new Set(["name", "to", "of", "path_from", "guid", "node", "host", "peer", "switch", "leaf", "from", "mlid", "far_end", "peer_name", "member", "node_guid", "port_guid"]);
// A key as people write it (units and tiers count from 1 there); seconds and milliseconds stand with the value.
const SPELLED = { level: "tier", guid: "GUID", guids: "GUIDs", lid: "LID", lids: "LIDs", mlid: "MLID", mgid: "MGID", hca: "HCA", hcas: "HCAs", su: "SU", pkey: "P_Key", sl: "SL", lft: "LFT", mft: "MFT", nvlink: "NVLink", cables: "links", room: "capacity", gbps: "Gb/s", percent: "%", fec: "FEC", ber: "BER" };
const words = key => {
  const said = key.replace(/_per_s$/, "/s").replace(/_m?s$/, "").split("_").map(word => SPELLED[word] ?? word).join(" ");
  return said[0].toUpperCase() + said.slice(1);
};

// Rates have two decimals, so that a column of them is read at a glance; what is tiny (a bit error rate) has an exponent.
function figure(key, item) {
  const rate = /gbps$|percent$|_per_s$/.test(key), plain = Number.isInteger(item) && !rate;
  if (/_s$/.test(key) && !rate && item >= 120) return span(item);
  const text = plain ? (/lid|port|key/.test(key) ? String(item) : number(item)) : item && Math.abs(item) < 0.005 && !rate ? item.toPrecision(3) : item.toFixed(2);
  return /_ms$/.test(key) ? text + " ms" : /_s$/.test(key) && !rate ? text + " s" : text;
}

export function value(key, item) {
  if (item === null || item === undefined || item === "") return "–";
  if (typeof item === "boolean") return item ? "yes" : "no";
  if (Array.isArray(item)) return item.map((one, i) => [i ? ", " : "", value(key, one)]);
  if (typeof item === "object") {
    if (item.name !== undefined) return [link(item.guid ?? item.name, item.name), item.port ? `:${item.port}` : ""];
    return Object.entries(item).map(([name, one], i) => [i ? ", " : "", `${words(name)} `, value(name, one)]);
  }
  if (key === "width" && item > 0) return `${item}x`;
  if (typeof item === "number") return key === "su" || key === "level" ? String(item + 1) : figure(key, item);
  return LINKED.has(key) && item.length < 70 ? link(item) : item;
}

// A port's number leads to the port, where its node is known: `owner` of rows that do not say.
function cell(key, row, owner) {
  const node = key === "port" ? row.name ?? row.node ?? (row.hca ? null : owner) : key === "to_port" ? row.to : null;
  return node && row[key] ? link(`${node}:${row[key]}`, row[key]) : value(key, row[key]);
}

// first: the column that stands before all others.
export function genericTable(rows, label, owner, first) {
  const keys = [...new Set([first ?? [], rows.flatMap(row => row && typeof row === "object" ? Object.keys(row) : [])].flat())];
  if (!keys.length) return h("p", {}, rows.map((row, i) => [i ? ", " : "", value("name", row)]));
  const used = keys.filter(key => rows.some(row => row[key] !== null && row[key] !== undefined));
  return table(used.map(key => [words(key), row => cell(key, row, owner), rows.every(row => row[key] == null || typeof row[key] === "number") ? "num" : ""]), rows.slice(0, 500), { label });
}
export { words };
