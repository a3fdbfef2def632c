// views: the fabric, and rows of any document. A view is {title, element, update(what)}: it is made again when it is gone to, and hears
// what has changed ("status", "map", "faults", "events", "hosts", "clock") as long as it is shown.
import { chosen } from "./address.js";
import { command, copyButton, filterBar, h, link, mark, section, showAddress, table } from "./dom.js";
import { FabricMap } from "./map.js";
import { RAMPS, alertOrder, clock, duration, hostVerdict, isDamaged, isGrave, number, plural, span, trunkText } from "./model.js";

const RECENT = 12, FAULTS = 40;

export const when = (state, time) => h("time", { datetime: time, title: time }, clock(time, state.utc));
export const eventTable = (state, rows, kinds = true) => table([["Time", event => when(state, event.time), "when"], ...(kinds ? [["Kind", event => event.kind, "kind"]] : []), ["What", event => event.text, "what"]],
  rows, { label: "Events", rowClass: event => "." + event.level });

// ---- Fabric: figures in a line; what is wrong, beside the map; what happened

function tilesOf(s) {
  const fault = s.last_fault, proof = s.proof ?? {}, wrong = (proof.unreachable ?? 0) + (proof.loops ?? 0) + (proof.credit_cycles ?? 0), list = [];
  const add = (text, value, state, title) => list.push(h("div.tile", { title }, state ? mark(state) : null, h("b", {}, value), " ", h("span", {}, text)));
  add(plural("HCA", s.hcas), number(s.hcas));
  if (s.hcas_off) add(plural("HCA", s.hcas_off) + " off (own link down)", number(s.hcas_off), "part");
  add(plural("switch", s.switches), number(s.switches));
  add(`${plural("link", s.links)}, ${number(s.links_down)} down`, number(s.links), s.links_down ? "part" : "");
  if (s.links_cordoned) add(`${plural("link", s.links_cordoned)} cordoned`, number(s.links_cordoned), "cordoned");
  if (s.links_quarantined) add(`${plural("link", s.links_quarantined)} in quarantine`, number(s.links_quarantined), "aside");
  if (s.links_held) add(`${plural("link", s.links_held)} held, not admitted`, number(s.links_held), "aside");
  if (s.links_missing > s.links_down) add(`${plural("known link", s.links_missing)} missing`, number(s.links_missing), "part");
  if (s.links_isolated) add(`${plural("link", s.links_isolated)} isolated`, number(s.links_isolated), "aside");
  if (s.health?.sick) add(`${plural("port", s.health.sick)} unhealthy`, number(s.health.sick), "unhealthy");
  add(`cabled ${plural("pair", wrong)} of HCAs without a path`, number(wrong), wrong ? "dead" : "", "by the proof of the tables in force; loops and credit cycles are counted here too");
  if (fault) add("last reroute", duration(fault.detected_to_programmed_ms), "", fault.what);
  for (const [state, count] of Object.entries(s.nvswitch?.states ?? {}))
    if (count && state !== "HEALTHY" && state !== "UNKNOWN") add(`${plural("host", count)} with NVLinks ${state}`, number(count), state === "FATAL" ? "dead" : "part");
  return list;
}

function alertsOf(state) {
  const s = state.status, alerts = alertOrder(s.alerts ?? []).filter(alert => alert.what !== "hcas-cut-off" || !s.hcas_cut_off);
  if (alerts.length) return h("ul.alerts", {}, alerts.map(alert => h("li" + (isGrave(alert) ? ".grave" : ""), {}, mark(isGrave(alert) ? "dead" : "part"), h("b", {}, alert.what), " ", alert.text, " ", h("span.soft", {}, "since ", when(state, alert.since)))));
  if (s.hcas_cut_off) return null;
  if (s.state !== "up") return h("p.calm", {}, mark("unknown"), ` The fabric is not up: ${s.state}.`);
  const damaged = isDamaged(s);
  return h("p.calm", {}, mark(damaged ? "part" : "ok"), " No alerts.", damaged || !state.map || state.map.faults.length ? "" : " All links of all switches are up; none is cordoned, in quarantine, isolated or unhealthy.", s.at_risk ? h("span", {}, " At risk: ", s.at_risk.text, ".") : null);
}

// Who is cut off, behind what, and what is lost by it.
function cutOff(state) {
  const s = state.status, alert = (s.alerts ?? []).find(one => one.what === "hcas-cut-off"), dead = (state.map?.faults ?? []).filter(fault => fault.state === "dead" && fault.sw?.hcas);
  const hosts = state.unhealthy.filter(host => hostVerdict(host) === "CUT_OFF");
  if (!s.hcas_cut_off) return null;
  const why = dead.find(fault => fault.why)?.why;
  return h("div.cutoff", { role: "alert" }, h("h2", {}, mark("dead"), " ", s.cut_off ?? alert?.text ?? `${number(s.hcas_cut_off)} ${plural("HCA", s.hcas_cut_off)} cut off`),
    alert || why ? h("p", {}, alert ? ["since ", when(state, alert.since)] : null, why ? ` – ${why}` : null) : null,
    s.lost ? h("p", {}, s.lost.text) : null,
    dead.length ? h("p", {}, dead.slice(0, 12).map(({ sw }) => [link(sw.guid, sw.name), " ", copyButton(command("show", sw.name)), " "])) : null,
    hosts.length ? h("p", {}, `Hosts with no HCA reached: `, hosts.slice(0, 40).map(host => [link(host.name), " "]), hosts.length > 40 ? h("a", { href: "#/hosts?verdict=CUT_OFF" }, `and ${hosts.length - 40} more`) : null) : null);
}

export function fabricView(state, block) {
  const alerts = h("div", { id: "alerts" }), tiles = h("div.tiles", {}), legend = h("ul.legend", {}), faults = h("div", {}), events = h("div", {}), crumb = h("div.crumb", {}), picked = h("p.picked", { "aria-live": "polite" }, "");
  const open = place => {
    if (place.block !== undefined && !place.trunk) location.hash = blockAddress(place.block);
    else if (place.sw) location.hash = showAddress(place.sw.guid);
    else pick(place);
  };
  const blockAddress = id => chosen("", "").replace(/^#\/[^?]*/, "#/block/" + id);
  const pick = ({ trunk, block: id }) => {
    const { switches } = state.map, lower = switches[trunk.lower], upper = switches[trunk.upper], fault = state.map.faults.find(one => one.trunk === trunk);
    picked.replaceChildren(mark(trunk.state), " ", trunkText(switches, trunk), ". ", fault ? because(state, fault) : "", " Show ", link(lower.guid, lower.name), " or ", link(upper.guid, upper.name), id !== undefined ? [", or ", h("a", { href: blockAddress(id) }, "this block larger")] : "", ".");
  };
  let cut = 0;
  const map = new FabricMap(open);
  const bar = filterBar([["colour", "Colour by", [["", "colour by state"], ["load", "load, both ways"], ["up", "load upwards"], ["down", "load downwards"], ["wait", "waiting to send"], ["errors", "errors"]]],
    ["scale", "Scale", [["", "0–100%"], ["fit", "least to most"]]]], () => redraw());
  const redraw = () => {
    const ramp = RAMPS[bar.of("colour")];
    map.show(bar.of("colour"), block ?? null, bar.of("scale") === "fit");
    bar.elements[1].hidden = !ramp;
    legend.classList.toggle("scaled", Boolean(ramp));
    legend.replaceChildren(...map.legend(mark));
  };
  const update = what => {
    if (what === "status" || what === "hosts" || what === "clock" || what === "faults") {
      alerts.replaceChildren(...[cutOff(state), alertsOf(state)].filter(Boolean));
      tiles.replaceChildren(...tilesOf(state.status));
      if (cut !== state.status.hcas_cut_off && state.map) faults.replaceChildren(...faultRows(state, map));
      cut = state.status.hcas_cut_off;
    }
    if (what === "map" && state.status?.hcas_cut_off) update("status");
    if ((what === "map" || what === "clock") && state.map) {
      map.set(state.map);
      legend.replaceChildren(...map.legend(mark));
      const part = state.map.blocks[block];
      crumb.replaceChildren(...(part ? [h("a", { href: "#/" }, "Whole fabric"), " › ", part.title] : [`${number(state.map.switches.length)} ${plural("switch", state.map.switches.length)} in ${state.map.levels} ${plural("tier", state.map.levels)}`]));
    }
    if ((what === "map" || what === "clock" || what === "faults") && state.map) faults.replaceChildren(...faultRows(state, map));
    if (what === "events" || what === "clock") events.replaceChildren(eventTable(state, state.events.filtered({}, RECENT, Date.now()).rows, false), h("p", {}, h("a", { href: "#/events" }, "All events")));
  };
  const element = h("div.fabric.first", {}, tiles,
    section(null, { class: "faults" }, h("div.bar", {}, h("h2", {}, "Faults and maintenance"), h("span.right", {}, copyButton("fmctl status"))), alerts, faults),
    section(null, { class: "mapped", "aria-label": "Map" }, h("div.bar", {}, h("h2", {}, "Fabric"), crumb, h("span.right", {}, bar.elements)), map.element, legend, picked),
    section("Latest events", { class: "latest" }, events));
  redraw();
  return { title: "Fabric", element, update };  // who goes to it asks for all of it
}

// Since when and why, as far as fmd knows.
const because = (state, { since, why, ports }) => [ports || since || why ? [[ports, since ? ["since ", when(state, since)] : null, why].filter(Boolean).map((part, i) => [i ? ", " : "", part])] : []];

function faultRows(state, map) {
  const { faults } = state.map, shown = faults.filter(fault => !(fault.state === "dead" && fault.sw?.hcas && state.status?.hcas_cut_off));
  const row = fault => {
    const more = because(state, fault).flat(Infinity), what = fault.sw && fault.what === fault.sw.guid ? fault.sw.name : fault.what;
    return h("li", { onmouseenter: () => map.pointAt(fault), onmouseleave: () => map.pointAt(null) }, mark(fault.state), h("div", {}, link(fault.what, fault.text), more.length ? h("div.soft", {}, more) : null), copyButton(command("show", what)));
  };
  return [h("ul.plain", {}, shown.slice(0, FAULTS).map(row)), shown.length > FAULTS ? h("p", {}, h("a", { href: "#/links" }, `and ${number(shown.length - FAULTS)} more`)) : null].filter(Boolean);
}

// ---- Rows of any document as a table

const LINKED = new Set(["name", "to", "of", "path_from", "guid", "node", "host", "peer", "switch", "leaf", "from", "mlid", "far_end", "peer_name", "member", "node_guid", "port_guid"]);
// A key as people write it (units and tiers count from 1 there); seconds and milliseconds stand with the value.
const SPELLED = { level: "tier", mtu: "MTU", fec: "FEC", guid: "GUID", guids: "GUIDs", lid: "LID", lids: "LIDs", mlid: "MLID", mgid: "MGID", hca: "HCA", hcas: "HCAs", su: "SU", pkey: "P_Key", sl: "SL", lft: "LFT", mft: "MFT", nvlink: "NVLink", cables: "links", room: "capacity", gbps: "Gb/s", percent: "%", ber: "BER", c: "°C", rx: "RX", tx: "TX", dbm: "dBm" };
const words = key => {
  const text = key.replace(/_per_s$/, "/s").replace(/_m?s$/, "").split("_").map(word => SPELLED[word] ?? word).join(" ");
  return text[0].toUpperCase() + text.slice(1);
};

// Rates have two decimals, so that a column of them is read at a glance; what is tiny (a bit error rate) has an exponent.
function figure(key, item) {
  const rate = /gbps$|percent$|_per_s$/.test(key), plain = Number.isInteger(item) && !rate;
  if (/_s$/.test(key) && !rate && item >= 120) return span(item);
  const text = plain ? (/lid|port|key/.test(key) ? String(item) : number(item)) : item && Math.abs(item) < 0.005 && !rate ? item.toPrecision(3) : item.toFixed(2);
  return /_ms$/.test(key) ? text + " ms" : /_s$/.test(key) && !rate ? text + " s" : text;
}

// Times in sentences are the reader's, as everywhere on the page.
export const prose = text => text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, time => clock(time, localStorage.getItem("utc") === "1"));

export function value(key, item) {
  if (item === null || item === undefined || item === "") return "–";
  if (typeof item === "boolean") return item ? "yes" : "no";
  if (Array.isArray(item)) return item.map((one, i) => [i ? ", " : "", value(key, one)]);
  if (typeof item === "object") {
    if (item.name !== undefined) return [link(item.guid ?? item.name, item.name), item.port ? `:${item.port}` : ""];
    return Object.entries(item).map(([name, one], i) => [i ? ", " : "", `${words(name)} `, value(name, one)]);
  }
  if (key === "width") return item > 0 ? `${item}x` : "–";
  if (typeof item === "number") return key === "su" || key === "level" ? String(item + 1) : figure(key, item);
  return LINKED.has(key) && item.length < 70 ? link(item) : prose(item);
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
  return table(used.map(key => [key === "level" && isNaN(rows[0][key]) ? "Level" : words(key), row => cell(key, row, owner), rows.every(row => row[key] == null || typeof row[key] === "number") ? "num" : ""]), rows.slice(0, 500), { label });
}
export { words };
