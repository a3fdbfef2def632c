// model: what is made of fmd's documents, without a screen. Pure.
export const KEPT_EVENTS = 2000, KEPT_AT_FIRST = 40;
const LOWER = 0, UPPER = 1, LINKS = 2, DOWN = 3, CORDONED = 4, ASIDE = 5, UNHEALTHY = 6, LOAD = 7, ERRORS = 8, LOAD_UP = 9, LOAD_DOWN = 10, WAIT = 11;

// ---- States: each has a word, a rank (the worst is shown first) and, in map.js and style.css, a colour and a shape.

export const STATES = {
  ok: { rank: 0, text: "all links up" }, behind: { rank: 1, text: "behind a switch that is down" }, cordoned: { rank: 2, text: "cordoned" }, aside: { rank: 3, text: "in quarantine or isolated" },
  unhealthy: { rank: 4, text: "unhealthy" }, part: { rank: 5, text: "some links down" }, dead: { rank: 6, text: "all links down" },
};

// A link to a dead switch is not the fault: that switch is.
export function trunkState(trunk, behind) {
  if (trunk.down >= trunk.links) return behind ? "behind" : "dead";
  if (trunk.down) return "part";
  if (trunk.unhealthy) return "unhealthy";
  if (trunk.aside) return "aside";
  return trunk.cordoned ? "cordoned" : "ok";
}

export function switchState(sw) {
  if (!sw.links) return "dead";
  if (sw.links_down > sw.behind) return "part";
  return sw.cordoned ? "cordoned" : "ok";
}

// ---- What trunks are coloured by, beside their state: where steps begin, and the colours, --load0 .. --load6 or --error0 .. --error4.

export const RAMPS = {
  load: { text: "load", of: trunk => trunk.load, bounds: [1, 20, 40, 60, 80, 95], unit: "%", colours: "load" },
  up: { text: "load upwards", of: trunk => trunk.loadUp, bounds: [1, 20, 40, 60, 80, 95], unit: "%", colours: "load" },
  down: { text: "load downwards", of: trunk => trunk.loadDown, bounds: [1, 20, 40, 60, 80, 95], unit: "%", colours: "load" },
  wait: { text: "time waiting to send", of: trunk => trunk.wait, bounds: [1, 5, 10, 25, 50, 75], unit: "%", colours: "load" },
  errors: { text: "errors", of: trunk => trunk.errors, bounds: [1, 10, 100, 1000], unit: " a minute", colours: "error" },
};
export const stepOf = (bounds, value) => bounds.filter(bound => value >= bound).length;

// Bounds that make the most of the steps: from the least to the most that there is.
export function fittedBounds(ramp, trunks) {
  const values = trunks.map(ramp.of).filter(value => value >= 1), { length } = ramp.bounds;
  if (!values.length) return ramp.bounds;
  const least = values.reduce((a, b) => Math.min(a, b)), most = values.reduce((a, b) => Math.max(a, b));
  return [...ramp.bounds.keys()].map(i => Math.round((least + (most - least) * i / length) * 10) / 10);
}
export const stepText = (bounds, step, unit) => (step ? step < bounds.length ? `${number(bounds[step - 1])}–${number(bounds[step])}${unit}` : `from ${number(bounds[step - 1])}${unit}` : `below ${number(bounds[0])}${unit}`);

// ---- The map

// A trunk's own members are those that are not 0, so a whole one takes little memory and no time.
const ROW = { lower: LOWER, upper: UPPER, links: LINKS, down: DOWN, cordoned: CORDONED, aside: ASIDE, unhealthy: UNHEALTHY, load: LOAD, errors: ERRORS, loadUp: LOAD_UP, loadDown: LOAD_DOWN, wait: WAIT };
class Trunk {
  constructor(row) {
    this.lower = row[LOWER];
    this.upper = row[UPPER];
    this.links = row[LINKS];
    if (row.length > DOWN) for (const key of Object.keys(ROW)) if (row[ROW[key]]) this[key] = row[ROW[key]];
  }
}
Object.assign(Trunk.prototype, { down: 0, cordoned: 0, aside: 0, unhealthy: 0, load: 0, errors: 0, loadUp: 0, loadDown: 0, wait: 0, state: "ok" });

function switchesOf(columns) {
  const keys = Object.keys(columns);
  return (columns.name ?? []).map((_, index) => {
    const sw = { index };
    for (const key of keys) sw[key] = columns[key][index];
    return sw;
  });
}

function finder(count) {
  const parent = Int32Array.from({ length: count }, (_, i) => i);
  const find = i => { while (parent[i] !== i) i = parent[i] = parent[parent[i]]; return i; };
  return { find, join: (a, b) => { parent[find(a)] = find(b); } };
}

const NUMBERS = /(\d+)/, partsOf = text => String(text).split(NUMBERS);
export const natural = (a, b) => partsInOrder(partsOf(a), partsOf(b));
function partsInOrder(x, y) {
  for (let i = 0; i < x.length && i < y.length; i++) {
    const order = i % 2 ? x[i] - y[i] : x[i] < y[i] ? -1 : x[i] > y[i] ? 1 : 0;
    if (order) return order;
  }
  return x.length - y.length;
}

// Rails, units and names of a block's members make its title.
function titleOf(block, switches, index) {
  const units = [...new Set(block.lower.map(i => switches[i].su).filter(su => su != null))].sort((a, b) => a - b);
  const spine = switches[block.upper[0]], leaf = switches[block.lower[0]];
  const roles = `${block.lower.length} ${plural(leaf.role, block.lower.length)} × ${block.upper.length} ${plural(spine.role, block.upper.length)}`;
  const rails = [...new Set(block.lower.map(i => switches[i].rail))];
  if (!block.level && units.length && rails.length === 1 && rails[0] != null) return `Rail ${rails[0]}, SU ${ranges(units.map(su => su + 1))}: ${roles}`;
  if (!block.level && units.length && units.length < 12) return `Pod ${index + 1} (SU ${ranges(units.map(su => su + 1))}): ${roles}`;
  return `${block.level ? "Group" : "Pod"} ${index + 1}: ${roles}`;
}

export const plural = (word, count) => count === 1 ? word : word.endsWith("h") ? word + "es" : word === "leaf" ? "leaves" : word + "s";

export function ranges(numbers) {
  const out = [];
  for (const n of numbers) {
    const last = out[out.length - 1];
    if (last && last[1] === n - 1) last[1] = n;
    else out.push([n, n]);
  }
  return out.map(([a, b]) => a === b ? `${a}` : `${a}–${b}`).join(", ");
}

// Trunks between the same two tiers that hang together are a block: a pod, or cores with their spines.
function blocksOf(switches, trunks) {
  const blocks = [], parts = switches.map(sw => partsOf(sw.name)), order = (a, b) => partsInOrder(parts[a], parts[b]);
  const tiersOf = trunk => switches[trunk.lower].level * 16 + switches[trunk.upper].level, tiers = new Set();
  for (const trunk of trunks) tiers.add(tiersOf(trunk));
  for (const key of [...tiers].sort((a, b) => a - b)) {
    const sets = finder(switches.length), found = [], below = new Uint8Array(switches.length), above = new Uint8Array(switches.length);
    for (const trunk of trunks) if (tiersOf(trunk) === key) sets.join(trunk.lower, trunk.upper);
    for (const trunk of trunks) {
      if (tiersOf(trunk) !== key) continue;
      const block = found[sets.find(trunk.lower)] ??= { level: key >> 4, lower: [], upper: [], trunks: [] };
      if (!below[trunk.lower]) block.lower.push(trunk.lower);
      if (!above[trunk.upper]) block.upper.push(trunk.upper);
      below[trunk.lower] = above[trunk.upper] = 1;
      block.trunks.push(trunk);
    }
    const list = found.filter(Boolean);
    for (const block of list) { block.lower.sort(order); block.upper.sort(order); }
    list.sort((a, b) => order(a.lower[0], b.lower[0])).forEach((block, index) => { block.title = titleOf(block, switches, index); });
    blocks.push(...list);
  }
  blocks.forEach((block, index) => { block.id = index; });
  return blocks;
}

// `cordoned` of a switch: its links to other switches that are up, where all of them are cordoned; else 0.
function noteCordons(switches, trunks) {
  for (const sw of switches) sw.cordoned = sw.uncordoned = 0;
  for (const trunk of trunks) {
    const key = trunk.cordoned === trunk.links ? "cordoned" : "uncordoned", up = trunk.links - trunk.down;
    switches[trunk.lower][key] += up;
    switches[trunk.upper][key] += up;
  }
  for (const sw of switches) if (sw.uncordoned) sw.cordoned = 0;
}

export function makeMap(document, links = []) {
  const switches = switchesOf(document.switches), trunks = document.trunks.map(row => new Trunk(row)), joined = new Uint8Array(switches.length);
  // Links that are down as the switch at their other end is dead: that one is shown as the fault, and its neighbours are not.
  for (const sw of switches) sw.behind = 0;
  for (const trunk of trunks) {
    const lower = switches[trunk.lower], upper = switches[trunk.upper];
    joined[trunk.lower] = joined[trunk.upper] = 1;
    const state = trunkState(trunk, !lower.links || !upper.links);
    if (state !== "ok") trunk.state = state;
    if (!lower.links) upper.behind += trunk.down;
    if (!upper.links) lower.behind += trunk.down;
  }
  noteCordons(switches, trunks);
  for (const sw of switches) sw.state = switchState(sw);
  const map = { levels: document.levels, switches, trunks, blocks: blocksOf(switches, trunks), lonely: [...switches.keys()].filter(i => !joined[i]), leaves: switches.filter(sw => sw.level === 0).length };
  map.faults = faultsOf(map, links);
  return map;
}

// ---- Faults and maintenance, the worst first: dead switches, HCAs down, trunks. What is behind a dead switch is not a fault of its own, and a
// switch that is cordoned is one row, not one for each of its trunks.

const endName = end => `${end.name}${end.port ? ` p${end.port}` : ""}`;
const linkText = row => `${endName(row.b)} – ${endName(row.a)}`;
const pairKey = (a, b) => a < b ? a + b : b + a;

// Why a link is down or not trusted, as its ports report it: the end to blame is named once.
export const whyOf = ({ reason, blame, why }) => [reason && (!blame ? reason : reason.endsWith(`by ${blame}`) ? `${reason}, the end to blame` : `${reason}; to blame: ${blame}`), why].filter(Boolean).join("; ");

// Since when, and why, by rows of `links?down` and `links?sick`: the earliest, and what most of them have. Of several links each is
// reported by another port, which says nothing of the whole.
function becauseOf(rows) {
  const counts = new Map(), since = rows.map(row => row.since).filter(Boolean).sort()[0];
  for (const row of rows) {
    const why = whyOf(rows.length > 1 ? { reason: row.reason?.replace(/, reported by .*/, ""), why: row.why } : row);
    if (why) counts.set(why, (counts.get(why) ?? 0) + 1);
  }
  const [why] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [];
  return { since, why };
}

// rows: those of `links?down` and `links?sick` as far as they have come. A fault is {rank, state, text, what, since, why, sw or trunk}.
export function faultsOf({ switches, trunks }, rows) {
  const list = [], byGuid = new Map(switches.map(sw => [sw.guid, sw])), byPair = new Map(), ofSwitch = new Map();
  const add = (map, key, row) => map.has(key) ? map.get(key).push(row) : map.set(key, [row]);
  for (const row of rows) {
    if (!row.a || !row.b) continue;
    const [a, b] = [byGuid.get(row.a.guid), byGuid.get(row.b.guid)];
    if (a && b) add(byPair, pairKey(row.a.guid, row.b.guid), row);
    for (const sw of [a, b]) if (sw) add(ofSwitch, sw, row);
  }
  for (const sw of switches) {
    const mine = ofSwitch.get(sw) ?? [], hosts = sw.state === "dead" ? [] : mine.filter(row => !byGuid.has(row.a.guid) || !byGuid.has(row.b.guid)), down = hosts.filter(row => row.up === false);
    if (sw.state === "dead") list.push({ rank: 20, state: "dead", sw, what: sw.guid, text: `${sw.name}: all ${sw.links_down} links down`, ...becauseOf(mine) });
    else if (sw.hcas_down && down.length < sw.hcas_down) list.push({ rank: 8, state: "part", sw, what: sw.guid, text: `${sw.name}: ${sw.hcas_down} of ${sw.hcas} ${plural("HCA", sw.hcas)} down`, ...becauseOf(down) });
    else for (const row of down) list.push({ rank: 8, state: "part", sw, what: `${row.a.name}:${row.a.port}`, text: `${linkText(row)}: down`, ...becauseOf([row]) });
    for (const row of hosts)
      if (row.up !== false && row.sick) list.push({ rank: 4, state: row.sick === "quarantined" ? "aside" : "unhealthy", sw, what: `${row.a.name}:${row.a.port}`, text: `${linkText(row)}: ${row.sick}`, ...becauseOf([row]) });
    if (sw.cordoned) list.push({ rank: STATES.cordoned.rank, state: "cordoned", sw, what: sw.guid, text: `${sw.name}: ${sw.cordoned === 1 ? "its link to a switch is" : `all ${sw.cordoned} links to switches are`} cordoned` });
  }
  for (const trunk of trunks) {
    const { state } = trunk;
    if (state === "ok" || state === "behind") continue;
    const lower = switches[trunk.lower], upper = switches[trunk.upper];
    if (state === "cordoned" && (lower.cordoned || upper.cordoned)) continue;
    const mine = byPair.get(pairKey(lower.guid, upper.guid)) ?? [], down = mine.filter(row => row.up === false), shown = down.length ? down : mine;
    const ports = shown.length && shown.length < 5 ? shown.map(row => row.a.guid === lower.guid ? `p${row.a.port} – p${row.b.port}` : `p${row.b.port} – p${row.a.port}`).join(", ") : "";
    list.push({ rank: STATES[state].rank, state, trunk, ports, what: shown.length === 1 ? `${shown[0].a.name}:${shown[0].a.port}` : lower.guid, text: trunkText(switches, trunk), ...becauseOf(shown) });
  }
  return list.sort((a, b) => b.rank - a.rank);
}

export function trunkText(switches, trunk) {
  const parts = [`${trunk.links - trunk.down} of ${trunk.links} ${plural("link", trunk.links)} up`];
  if (trunk.cordoned) parts.push(`${trunk.cordoned} cordoned`);
  if (trunk.aside) parts.push(`${trunk.aside} in quarantine or isolated`);
  if (trunk.unhealthy) parts.push(`${trunk.unhealthy} unhealthy`);
  if (trunk.load) parts.push(`busiest ${trunk.loadUp}% up, ${trunk.loadDown}% down`);
  if (trunk.wait) parts.push(`waiting to send ${trunk.wait}% of the time`);
  if (trunk.errors) parts.push(`${number(trunk.errors)} ${plural("error", trunk.errors)} a minute`);
  return `${switches[trunk.lower].name} – ${switches[trunk.upper].name}: ${parts.join(", ")}`;
}

// ---- Hosts

export const VERDICTS = ["CUT_OFF", "FATAL", "NO_P2P", "DEGRADED", "UNKNOWN", "HEALTHY"];
const LINK_STATES = ["Down", "Init", "Armed", "Active"];

export const hcaState = hca => hca.state === "Active" ? "ok" : LINK_STATES.indexOf(hca.state) > 0 ? "part" : "dead";

export function hostVerdict(host) {
  if (host.verdict) return host.verdict;
  const states = (host.hcas ?? []).map(hcaState);
  return states.every(state => state === "dead") ? "CUT_OFF" : states.some(state => state !== "ok") ? "DEGRADED" : "HEALTHY";
}

export const worstFirst = hosts => [...hosts].sort((a, b) => rankOf(a) - rankOf(b) || natural(a.name, b.name));
const rankOf = host => { const rank = VERDICTS.indexOf(hostVerdict(host)); return rank < 0 ? 0 : rank; };

// ---- Events: the newest, each once, oldest first; what the page shows of them

const shown = ({ seq, time, level, kind, text }) => ({ seq, time, level, kind, text });

export class Events {
  constructor() { this.list = []; this.most = KEPT_AT_FIRST; }

  get newest() { return this.list.length ? this.list[this.list.length - 1].seq : null; }

  add(events) {
    for (const event of events)
      if (this.newest === null || event.seq > this.newest) this.list.push(shown(event));
    if (this.list.length > this.most * 1.25) this.list = this.list.slice(-this.most);
  }

  // All that fmd has of them; from then on more are kept, for who looks at the history.
  replace(events, most = this.most) {
    this.most = most;
    this.list = [];
    this.add(events);
  }

  // {kind, level, text, minutes}: those that fit all, newest first, at most `most`; `now` in ms.
  // `past`: others, oldest first, of which those that are older than all of these are looked at too.
  filtered({ kind, level, text, minutes }, most, now, past = []) {
    const out = [], words = (text ?? "").toLowerCase().split(/\s+/).filter(Boolean), since = minutes ? now - minutes * 60000 : 0;
    const oldest = this.list.length ? this.list[0].seq : Infinity, list = [...past.filter(event => event.seq < oldest), ...this.list];
    let total = 0;
    for (let i = list.length - 1; i >= 0; i--) {
      const event = list[i];
      if (kind && event.kind !== kind || level && LEVELS.indexOf(event.level) > LEVELS.indexOf(level)) continue;
      if (since && Date.parse(event.time) < since) continue;
      if (words.length && !words.every(word => event.text.toLowerCase().includes(word))) continue;
      if (out.length < most) out.push(event);
      total++;
    }
    return { rows: out, total, of: list.length };
  }

  kinds() { return [...new Set(this.list.map(event => event.kind))].sort(); }
}
export const LEVELS = ["error", "warning", "notice", "info", "debug"];

// ---- Alerts: who is cut off comes first, whatever else is older

const FIRST = ["hcas-cut-off", "no-link", "no-device", "unreachable"];
export const isGrave = alert => FIRST.includes(alert.what);
export const alertOrder = alerts => [...alerts].sort((a, b) => place(a) - place(b) || String(b.since).localeCompare(String(a.since)));
const place = alert => { const i = FIRST.indexOf(alert.what); return i < 0 ? FIRST.length : i; };

// Whether something is down or out of service, of a status without alerts too.
export const isDamaged = s => Boolean(s.links_down || s.hcas_off || s.links_quarantined || s.links_isolated || s.links_held || s.at_risk);

// ---- Figures for people

export const percent = value => value == null ? "–" : `${value < 10 && value % 1 ? value.toFixed(1) : Math.round(value)}%`;
// With commas between thousands; toLocaleString() takes a tenth of a second before its first.
export function number(n) {
  if (n == null) return "–";
  const [whole, part] = String(Math.round(Number(n) * 1000) / 1000).split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? "." + part : "");
}
export const duration = ms => ms == null ? "–" : ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1e4 ? `${Math.round(ms)} ms` : `${(ms / 1e3).toFixed(1)} s`;
export function span(s) {
  if (s == null) return "–";
  if (s < 120) return `${Math.round(s)} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  return s < 172800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} days`;
}

const two = n => String(n).padStart(2, "0");
// The time of day, with the date where it is not today's.
export function clock(time, utc, now = new Date()) {
  const at = new Date(time);
  if (isNaN(at)) return String(time ?? "");
  const date = utc ? at.toISOString().slice(0, 10) : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const today = utc ? now.toISOString().slice(0, 10) : `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  const hours = utc ? at.toISOString().slice(11, 19) : `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return date === today ? hours : `${date} ${hours}`;
}
