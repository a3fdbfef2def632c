// lists: rows of what there is: hosts, switches, links, traffic, events, multicast groups, partitions. Filters stand in the address.
import { get } from "./api.js";
import { choice } from "./address.js";
import { command, commandLine, filterBar, grep, h, link, mark, section, showAddress, svg, table } from "./dom.js";
import { LEVELS, VERDICTS, hcaState, hostVerdict, natural, number, percent, plural, whyOf, worstFirst } from "./model.js";
import { eventTable, genericTable, when, words } from "./views.js";

const EVENT_ROWS = 200, ROWS = 120, LINK_ROWS = 200, CABLES_MOST = 2000, AGAIN_MS = 10000;

const holds = (text, filter) => text.toLowerCase().includes(filter.toLowerCase());

// The command that shows the same, beside a heading; it follows the filters.
function commandBox() {
  let now = "";
  const box = h("span.right", {});
  return { box, show: text => { if (now !== text) box.replaceChildren(commandLine(now = text)); } };
}

// The first rows of a list, and a button for more of them. draw() makes the list again with that many.
function moreRows(count, shown, draw) {
  return count > shown ? h("button", { type: "button", onclick: draw }, `Show more (${number(count - shown)})`) : "";
}

// ---- Hosts

const verdictMark = verdict => mark({ HEALTHY: "ok", UNKNOWN: "unknown", DEGRADED: "part", NO_P2P: "part", FATAL: "dead", CUT_OFF: "dead" }[verdict] ?? "unknown");

// HCAs in the order of rails. One behind a dead leaf is marked so: the leaf is the fault.
function rails(host, deadLeaves) {
  const of = hca => {
    const leaf = hca.state === "Active" || hca.rail == null ? null : deadLeaves.get(`${host.su} ${hca.rail}`), place = mark(leaf ? "behind" : hcaState(hca));
    place.append(svg("title", {}, `${hca.name}${hca.rail == null ? "" : `, rail ${hca.rail}`}: ${leaf ? `behind ${leaf}, which is down` : hca.state}, LID ${hca.lid}`));
    return place;
  };
  return h("span.rails", { role: "img", "aria-label": (host.hcas ?? []).map(hca => `${hca.name} ${hca.state}`).join(", ") }, (host.hcas ?? []).map(of));
}

export function hostsView(state) {
  const rows = h("div", {}), count = h("span.soft", {}), box = commandBox();
  const bar = filterBar([["text", "Filter hosts", "name or reason"], ["verdict", "Verdict", [["", "any verdict"], ["!", "not HEALTHY"], ...VERDICTS.map(value => [value, value])]]], () => draw());
  let most = ROWS;
  const fits = (host, verdict, text) => (!verdict || (verdict === "!" ? hostVerdict(host) !== "HEALTHY" : hostVerdict(host) === verdict)) && holds(host.name + " " + (host.reasons ?? []).join(" "), text);
  const nvlink = host => host.nvlink?.state ?? host.nvlink ?? state.nvlink?.get(host.name) ?? "–";
  const draw = () => {
    const verdict = bar.of("verdict"), text = bar.of("text");
    box.show(command("hosts", verdict && verdict !== "HEALTHY" ? "--unhealthy" : "") + grep(verdict === "!" ? "" : verdict) + grep(text));
    if (!state.hosts) return;
    const list = worstFirst(state.hosts).filter(host => fits(host, verdict, text));
    const dead = new Map((state.map?.switches ?? []).filter(sw => sw.state === "dead" && sw.rail != null).map(sw => [`${sw.su} ${sw.rail}`, sw.name]));
    count.textContent = `${number(list.length)} of ${number(state.hosts.length)}`;
    rows.replaceChildren(table([
      ["Verdict", host => [verdictMark(hostVerdict(host)), " ", hostVerdict(host)]], ["Host", host => link(host.name)], ["SU", host => host.su == null ? "" : host.su + 1, "extra"],
      ["HCAs by rail", host => rails(host, dead)], ["NVLinks", nvlink, "extra"], ["Reasons", host => (host.reasons ?? []).join("; "), "what"]], list.slice(0, most), { label: "Hosts", class: "hosts" }),
    moreRows(list.length, most, () => { most += 4 * ROWS; draw(); }));
  };
  const element = section(null, { class: "wide" }, h("div.bar", {}, h("h2", {}, "Hosts"), bar.elements, count, box.box), rows);
  rows.append(h("p.soft", {}, "Asking …"));
  draw();
  return { title: "Hosts", element, needs: "hosts", update: what => { if (what === "hosts" || what === "map") draw(); } };
}

// ---- Switches: spines by pod, leaves by pod, cores by group

export function switchesView(state) {
  const body = h("div.fabric", {}), count = h("span.soft", {}), box = commandBox();
  const bar = filterBar([["text", "Filter switches", "name"], ["state", "State", [["", "any state"], ["!", "with faults"], ["cordoned", "cordoned"]]]], () => draw());
  const tile = sw => h("a.sw.s-" + sw.state, { href: showAddress(sw.guid), title: `${sw.name}, ${sw.guid}, LID ${sw.lid}` }, mark(sw.state), h("span", {}, sw.name),
    h("small", {}, `${sw.links}/${sw.links + sw.links_down} links`, sw.behind && sw.state !== "dead" ? `, ${sw.behind} behind a dead switch` : null, sw.hcas_down ? h("b" + (sw.state === "dead" ? "" : ".bad"), {}, `, ${sw.hcas_down} ${plural("HCA", sw.hcas_down)} down`) : null));
  const part = (title, list) => list.length ? h("div", {}, h("h3", {}, title), h("div.sws", {}, list.map(tile))) : "";
  const draw = () => {
    const { switches, blocks, lonely } = state.map, wanted = bar.of("state"), text = bar.of("text");
    const fits = sw => (!wanted || (wanted === "!" ? sw.state === "dead" || sw.state === "part" : sw.state === wanted)) && holds(sw.name, text);
    const of = list => list.map(i => switches[i]).filter(fits), found = switches.filter(fits).length;
    box.show(command("switches", wanted === "!" ? "--down" : "") + grep(text));
    count.textContent = `${number(found)} of ${number(switches.length)}`;
    const alone = of(lonely).sort((a, b) => natural(a.name, b.name));
    body.replaceChildren(...blocks.map(block => {
      const upper = of(block.upper), lower = block.level ? [] : of(block.lower);
      return upper.length + lower.length ? section(null, { class: "wide" }, h("div.bar", {}, h("h2", {}, block.title), h("a", { href: "#/block/" + block.id }, "on the map")),
        part(plural(switches[block.upper[0]].role, 2), upper), part(plural(switches[block.lower[0]].role, 2), lower)) : "";
    }), alone.length ? section("Without links to other switches", { class: "wide" }, part("", alone)) : "", found ? "" : h("p.soft.wide", {}, "No switch is so."));
  };
  const element = h("div", {}, section(null, { class: "head" }, h("div.bar", {}, h("h2", {}, "Switches"), bar.elements, count, box.box)), body);
  if (state.map) draw();
  return { title: "Switches", element, update: what => { if (what === "map") draw(); } };
}

// ---- Lists that fmd is asked for while they are seen

// of: {title, fields, ask(bar) => document, rows(document, bar), columns, note(document, rows), text(bar) => command}. A list of rows, or several by `draw`.
function askedView(state, of) {
  const body = h("div", {}, h("p.soft", {}, "Asking …")), count = h("span.soft", {}), box = commandBox();
  let timer = null, gone = false, mine = 0, document = null, most = of.most ?? ROWS;
  const bar = filterBar(of.fields, key => { most = of.most ?? ROWS; if (of.local?.includes(key)) draw(); else { body.setAttribute("aria-busy", "true"); clearTimeout(timer); timer = setTimeout(ask, 150); } show(); });
  const show = () => box.show(of.command(bar));
  const draw = () => {
    if (!document) return;
    const list = of.rows(document, bar);
    count.textContent = of.count(document, list);
    body.replaceChildren(...(of.before?.(document) ?? []), ...(list.length ? [table(of.columns(bar, document), list.slice(0, most), { label: of.title, class: of.class })] : [h("p", {}, of.none(document, bar))]),
      moreRows(list.length, most, () => { most += 4 * ROWS; draw(); }));
  };
  const ask = async () => {
    const turn = ++mine;
    clearTimeout(timer);
    try {
      const answer = await of.ask(bar);
      if (gone || turn !== mine) return;
      if (answer !== document) { document = answer; draw(); }
    } catch (error) {
      if (!gone && turn === mine) { document = null; body.replaceChildren(h("p.bad", { role: "alert" }, error.message)); }
    }
    body.removeAttribute("aria-busy");
    if (!gone && turn === mine) timer = setTimeout(ask, AGAIN_MS);
  };
  const element = section(null, { class: "wide" }, h("div.bar", {}, h("h2", {}, of.title), bar.elements, count, box.box), body);
  show();
  ask();
  return { title: of.title, element, update: what => { if (what === "map" && of.follows) ask(); else if (what === "clock") draw(); }, leave: () => { gone = true; clearTimeout(timer); } };
}

// ---- Links: those that are down or not trusted, with since when and why; or all

const LINK_STATES = { down: "down", sick: "unhealthy or in quarantine", all: "all" };
const endOf = end => end ? h("span.nowrap", {}, link(end.port ? `${end.name}:${end.port}` : end.guid ?? end.name, end.name), end.port ? h("span.soft", {}, ` p${end.port}`) : "") : "–";
const linkState = row => row.behind ? "behind" : row.up === false ? "dead" : row.quarantined || row.isolated || row.sick === "quarantined" ? "aside" : row.sick ? "unhealthy" : row.cordoned ? "cordoned" : "ok";
const linkWord = row => row.up === false ? "down" : row.sick ?? (row.quarantined ? "quarantined" : row.isolated ? "isolated" : row.cordoned ? "cordoned" : row.state);
// The dead switch that a link is behind, if its other end is not the fault itself: these come last.
function withBehind(rows, map) {
  const dead = new Map((map?.switches ?? []).filter(sw => sw.state === "dead").map(sw => [sw.guid, sw.name]));
  for (const row of rows) row.behind = row.up === false ? dead.get(row.a?.guid) ?? dead.get(row.b?.guid) : undefined;
  return [...rows.filter(row => !row.behind), ...rows.filter(row => row.behind)];
}
const reasonOf = row => row.behind ? h("span.soft", {}, `${row.behind} is down`) : whyOf(row) || (row.up === false ? h("span.soft", {}, "not reported by its ports") : "");

export const linksView = state => askedView(state, {
  title: "Links", class: "links", follows: true, local: ["text"], most: LINK_ROWS,
  fields: [["show", "Which links", Object.entries(LINK_STATES).map(([value, text]) => [value === "down" ? "" : value, text])], ["what", "Of a node, host or port", "of node, host or NODE:PORT"], ["text", "Filter links", "name or reason"]],
  ask: bar => get("links", { [bar.of("show") || "down"]: bar.of("show") === "all" ? undefined : 1, what: bar.of("what"), limit: bar.of("show") === "all" && !bar.of("what") ? 4000 : undefined }, { keep: true }),
  command: bar => command("links", bar.of("what"), { "": "--down", sick: "--sick" }[bar.of("show")]) + grep(bar.of("text")),
  rows: (rows, bar) => withBehind(rows, state.map).filter(row => row.a && holds(`${row.a.name} ${row.b?.name} ${row.reason ?? ""} ${row.blame ?? ""} ${row.why ?? ""} ${row.sick ?? ""}`, bar.of("text"))),
  count: (rows, list) => `${number(list.length)} of ${number(rows.length)}`,
  none: (rows, bar) => [mark("ok"), rows.length ? " No link has that in its names or its reason." : { "": " No link is down.", sick: " No link is unhealthy or in quarantine.", all: " There are no links." }[bar.of("show")]],
  columns: bar => [["State", row => h("span.nowrap", {}, mark(linkState(row)), " ", linkWord(row))], ["From", row => endOf(row.a)], ["To", row => endOf(row.b)], ["Rate", row => row.speed && row.speed !== "-" ? `${row.speed} ${row.width}x` : "–", "kind"],
    ...(bar.of("show") === "" ? [["Since", row => row.since ? when(state, row.since) : "–", "when"]] : []), ["Why", reasonOf, "what"]],
});

// ---- Cables: the module in each port

const SORTS = { "": "-temperature", flaps: "-flaps", port: undefined };
const isHot = row => row.limit_c != null && row.temperature_c >= row.limit_c;
const module = row => [row.kind, row.length_m ? `${row.length_m} m` : null, row.identifier, row.vendor, row.part].filter(text => text != null && text !== "").join(", ");
const dbm = value => value == null ? "–" : value.toFixed(1);

export const cablesView = state => askedView(state, {
  title: "Cables", class: "links", local: ["text"], most: LINK_ROWS,
  fields: [["sort", "Order", [["", "hottest first"], ["flaps", "most flaps first"], ["port", "by port"]]], ["what", "Of a node, host or port", "of node, host or NODE:PORT"], ["text", "Filter cables", "name, part or serial number"]],
  ask: bar => get("cables", { what: bar.of("what"), sort: SORTS[bar.of("sort")], limit: CABLES_MOST }, { keep: true }),
  command: bar => command("cables", bar.of("what"), SORTS[bar.of("sort")] ? ["--sort", SORTS[bar.of("sort")]] : []) + grep(bar.of("text")),
  rows: (rows, bar) => rows.filter(row => holds(`${row.name} ${row.to?.name} ${module(row)} ${row.serial}`, bar.of("text"))),
  count: (rows, list) => `${number(list.length)} of ${rows.length < CABLES_MOST ? "" : "the first "}${number(rows.length)}`,
  none: rows => rows.length ? "No module has that in its names." : "No module reports itself: the devices do not answer AccessRegister, or were not read yet.",
  columns: () => [["Port", endOf], ["To", row => endOf(row.to)], ["Temperature", row => row.temperature_c == null ? "–" : [isHot(row) ? mark("part", "hotter than its limit") : null, ` ${row.temperature_c}`, row.limit_c == null ? " °C" : h("span.soft", {}, ` of ${row.limit_c} °C`)], "when"],
    ["Module", module, "what"], ["Serial", row => row.serial ?? "–"], ["Firmware", row => row.firmware ?? "–", "kind"], ["RX dBm", row => dbm(row.rx_dbm), "kind"], ["TX dBm", row => dbm(row.tx_dbm), "kind"],
    ["Flaps", row => row.flaps ? `${number(row.flaps)} at ${number(row.flap_ports)} ${plural("port", row.flap_ports)}` : h("span.soft", {}, "no flaps")]],
});

// ---- Multicast groups and partitions

const textFilter = (label, what) => ["text", label, what];
export const groupsView = state => askedView(state, {
  title: "Multicast groups", fields: [textFilter("Filter groups", "MGID, MLID, P_Key or member")], local: ["text"],
  ask: () => get("groups", {}, { keep: true }), command: bar => command("groups") + grep(bar.of("text")),
  rows: (rows, bar) => rows.filter(row => holds([row.mgid, row.mlid, row.pkey, ...(row.members ?? []).map(member => member.name)].join(" "), bar.of("text"))),
  count: (rows, list) => `${number(list.length)} of ${number(rows.length)}`, none: rows => rows.length ? "No group is so." : "There is no multicast group.",
  columns: () => [["MLID", row => link(row.mlid)], ["MGID", row => row.mgid, "what"], ["P_Key", row => row.pkey], ["Full members", row => number(row.full), "num"], ["Senders", row => number(row.senders), "num"],
    ["Waiting", row => row.waiting ? [mark("part", "unreachable at present"), " ", number(row.waiting)] : "0", "num"], ["Root", row => row.tree?.root ? link(row.tree.root) : "–"], ["Switches", row => number(row.tree?.switches), "num"]],
});
export const partitionsView = state => askedView(state, {
  title: "Partitions", fields: [textFilter("Filter partitions", "name or P_Key")], local: ["text"],
  ask: () => get("partitions", {}, { keep: true }), command: bar => command("partitions") + grep(bar.of("text")),
  rows: (rows, bar) => rows.filter(row => holds(`${row.name} ${row.pkey}`, bar.of("text"))),
  count: (rows, list) => `${number(list.length)} of ${number(rows.length)}`, none: () => "No partition is so.",
  columns: () => [["P_Key", row => row.pkey], ["Name", row => link(row.name)], ["Full members", row => number(row.full), "num"], ["Limited members", row => number(row.limited), "num"], ["IPoIB", row => row.ipoib ? "yes" : "no"], ["SL", row => row.sl, "num"]],
});

// ---- Events

export function eventsView(state) {
  const rows = h("div", {}), count = h("span.soft", {}), box = commandBox();
  let kinds = "", due = null, past = [], asked = 0;
  const ages = [["", "any time"], ["10m", "last 10 minutes"], ["1h", "last hour"], ["12h", "last 12 hours"], ["1d", "last day"], ["7d", "last week"]], minutes = { "10m": 10, "1h": 60, "12h": 720, "1d": 1440, "7d": 10080 };
  const bar = filterBar([["kind", "Kind", [["", "any kind"]]], ["level", "Level", [["", "any level"], ...LEVELS.slice(0, 4).map(value => [value, value === "error" ? "errors" : `${value} and worse`])]], ["since", "Time", ages],
    ["text", "Filter events by node or words", "node or words"]], key => { draw(); if (key !== "text") ask(); });
  // What fmd holds beyond what the page keeps, by its own filters.
  const ask = async () => {
    const mine = ++asked, query = { n: 2000, kind: bar.of("kind"), level: bar.of("level"), since: bar.of("since") };
    const found = query.kind || query.level || query.since ? await get("events", query).catch(() => []) : [];
    if (mine !== asked) return;
    past = found;
    draw();
  };
  const draw = () => {
    due = null;
    const all = state.events.kinds();
    if (all.join() !== kinds) {
      kinds = all.join();
      bar.select("kind", [["", "any kind"], ...all.map(value => [value, value])]);
    }
    const [kind, level, since, text] = ["kind", "level", "since", "text"].map(bar.of);
    box.show(command("events", kind ? ["--kind", kind] : [], level ? ["--level", level] : [], since ? ["--since", since] : ["-n", String(EVENT_ROWS)]) + grep(text));
    const found = state.events.filtered({ kind, level, text, minutes: minutes[since] }, EVENT_ROWS, Date.now(), past);
    count.textContent = `${number(found.total)} of the latest ${number(found.of)}${found.total > EVENT_ROWS ? `, ${EVENT_ROWS} shown` : ""}`;
    rows.replaceChildren(eventTable(state, found.rows));
  };
  const element = section(null, { class: "wide" }, h("div.bar", {}, h("h2", {}, "Events"), bar.elements, count, box.box), rows);
  draw();
  if (choice("kind") || choice("level") || choice("since")) ask();
  return { title: "Events", element, needs: "history", update: what => { if (what === "events") due ??= setTimeout(draw, 150); else if (what === "clock") draw(); }, leave: () => clearTimeout(due) };
}

// ---- Traffic: the hottest links and those with most errors

const meter = (value, most) => h("span.meter", {}, h("meter", { min: 0, max: most || 1, value, "aria-hidden": "true" }), " ", percent(value));

export function trafficView(state) {
  const element = h("div.fabric", {}), top = h("div.wide.stack", {}), box = commandBox();
  const bar = filterBar([["what", "Of a node, host or port", "of node, host or NODE:PORT"]], () => { clearTimeout(due); due = setTimeout(ask, 200); });
  let timer = null, due = null, gone = false;
  const ends = [["Lower", t => link(state.map.switches[t.lower].guid, state.map.switches[t.lower].name)], ["Upper", t => link(state.map.switches[t.upper].guid, state.map.switches[t.upper].name)]];
  const trunks = (title, key, none, columns) => {
    const list = state.map.trunks.filter(trunk => trunk[key] > 0).sort((a, b) => b[key] - a[key]).slice(0, 25);
    if (!list.length) return section(title, {}, h("p.soft", {}, state.status?.health?.ports_read ? none : "Counters were not read yet (perf_interval)."));
    return section(title, {}, table([...ends, ...columns], list, { label: title }));
  };
  const draw = () => {
    if (state.map) element.replaceChildren(section(null, { class: "wide head" }, h("div.bar", {}, h("h2", {}, "Traffic"), bar.elements, h("a", { href: "#/?colour=load" }, "on the map"), box.box)), top,
      trunks("Busiest between switches", "load", "No load on links between switches.", [["Up", t => meter(t.loadUp, 100), "num"], ["Down", t => meter(t.loadDown, 100), "num"], ["Waiting", t => t.wait ? percent(t.wait) : "–", "num"]]),
      trunks("Most errors between switches", "errors", "No errors on links between switches.", [["Errors a minute", t => number(t.errors), "num"]]));
  };
  const ask = async () => {
    const what = bar.of("what");
    clearTimeout(timer);
    box.show(command("top", what, "-n", "25"));
    try {
      const document = await get("top", { n: 25, what }), lists = Object.entries(document).filter(([, rows]) => Array.isArray(rows) && rows.length);
      top.replaceChildren(h("p.soft", {}, `${number(document.known)} of ${number(document.links)} ${plural("link", document.links)} that are up have a known load.`), ...lists.map(([key, rows]) => section(`Links: ${words(key).toLowerCase()}`, { class: "wide" }, genericTable(rows, words(key), null, key === "errors" ? "errors_per_s" : "load_percent"))));
    } catch (error) {
      top.replaceChildren(h("p.bad", {}, error.message));
    }
    if (!gone) timer = setTimeout(ask, 5000);
  };
  draw();
  ask();
  return { title: "Traffic", element, update: what => { if (what === "map") draw(); }, leave: () => { gone = true; clearTimeout(timer); clearTimeout(due); } };
}
