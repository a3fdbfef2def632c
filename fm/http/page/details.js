// details: one thing with all that is known of it (the document `show`: what stands alone are facts, lists of objects are tables), and
// the path between two.
import { get } from "./api.js";
import { command, commandLine, h, link, mark, section, showAddress, svg, table } from "./dom.js";
import { plural, whyOf } from "./model.js";
import { historyPlot } from "./plot.js";
import { genericTable, prose, value, words } from "./views.js";

const AGAIN_MS = 5000;
const isRows = item => Array.isArray(item) && item.some(row => row && typeof row === "object");
const isPart = item => item && typeof item === "object" && !Array.isArray(item) && item.name === undefined;

// What the heading, the place in the tree or `7/8` shows already.
const TWICE = { kind: "kind", name: "kind", role: "place", level: "place", su: "place", rail: "place", hcas_up: "verdict", hcas_known: "verdict" };

const FLAGS = new Set(["cordoned", "quarantined", "isolated"]);  // worth a word where they are true
const ABOVE = new Set(["note", "reason", "blame", "why", "sick"]);  // stands above the facts of a link

// What is wrong with a link, and why: the first that is asked of it.
function wrong({ kind, up, note, sick, ...document }) {
  const text = [note ?? (up === false ? "down" : sick), whyOf(document)].filter(Boolean).join(": ");
  return (kind === "port" || kind === "cable") && text ? h("p.wrong", {}, mark(up === false ? "dead" : sick ? "unhealthy" : "cordoned"), " ", prose(text)) : null;
}

function facts(document) {
  const above = wrong(document), plain = Object.entries(document).filter(([key, item]) => !(above && ABOVE.has(key)) && !isRows(item) && !isPart(item) && item !== null && !(item === false && FLAGS.has(key)) && !(Array.isArray(item) && !item.length) && document[TWICE[key]] === undefined);
  return [above, h("dl.facts", {}, plain.map(([key, item]) => h("div", {}, h("dt", {}, words(key)), h("dd" + (/state|verdict/.test(key) ? ".strong" : ""), {}, key === "guid" ? item : value(key, item)))))].filter(Boolean);
}

function parts(document, level = 2, owner = document.node ?? document.name) {
  const out = [];
  for (const [key, item] of Object.entries(document)) {
    if (key === "counters" && isRows(item)) out.push(h("section.part", {}, h("h" + level, {}, words(key)), ...counters(item)));
    else if (isRows(item)) out.push(h("section.part", {}, h("h" + level, {}, `${words(key)} (${item.length})`), genericTable(item, words(key), owner)));
    else if (isPart(item) && Object.keys(item).length) out.push(h("section.part", {}, h("h" + level, {}, words(key)), facts(item), parts(item, Math.min(level + 1, 5), owner)));
  }
  return out;
}

// Counters that stand at 0 at both ends are named in one line.
function counters(rows) {
  const busy = rows.filter(row => row.here || row.there), idle = rows.filter(row => !busy.includes(row));
  return [busy.length ? genericTable(busy, "Counters") : null, idle.length ? h("p.soft", {}, `At 0: ${idle.map(row => row.counter.replaceAll("_", " ")).join(", ")}.`) : null];
}

// The port whose history is shown: of a link its first end, of an HCA with one port that.
const portOf = document => document.kind === "port" ? `${document.node}:${document.port}` : document.ends?.length ? `${document.ends[0].name}:${document.ends[0].port}` : null;

// Without the document `show`: what search knows of it.
async function found(what) {
  const rows = await get("search", { text: what });
  if (!rows.length) throw new Error(`nothing has ${what} in its name, GUID or LID`);
  return { kind: "found", matches: rows };
}

export function showView(state, what) {
  const body = h("div.show", { "aria-busy": "true" }, h("p.soft", {}, "Asking …"));
  const hops = h("a", { href: "#/path/" + encodeURIComponent(what) + "/" }, "Path from here …");
  const element = section(null, { class: "wide" }, h("div.bar", {}, h("h2", {}, what), h("button", { type: "button", onclick: () => history.back() }, "Back"), hops, h("span.right", {}, commandLine(command("show", what)))), body);
  let text = "", gone = false, timer = null, plot = null;
  const ask = async () => {
    clearTimeout(timer);
    try {
      const document = await get("show", { what }, { keep: true }).catch(error => error.status === 404 ? found(what) : Promise.reject(error));
      const now = JSON.stringify(document);
      if (gone) return;
      if (now !== text) draw(document);
      text = now;
    } catch (error) {
      if (!gone) body.replaceChildren(h("p.bad", { role: "alert" }, error.message));
      text = "";
    }
    body.removeAttribute("aria-busy");
    if (!gone) timer = setTimeout(ask, AGAIN_MS);
  };
  const draw = document => {
    const { kind, name } = document, scroll = scrollY;
    element.querySelector("h2").textContent = [kind, name ?? what].filter(Boolean).join(" ");
    hops.href = "#/path/" + encodeURIComponent(document.of ?? name ?? what) + "/";
    const port = portOf(document);
    if (port) plot ??= historyPlot(state, port);
    body.replaceChildren(...facts(document), ...(plot ? [plot.element] : []), ...parts(document).flat(Infinity));
    scrollTo(0, scroll);
  };
  ask();
  return { title: what, element, update: part => { if (part === "map") ask(); else if (part === "clock") plot?.redraw(); }, leave: () => { gone = true; clearTimeout(timer); plot?.leave(); } };
}

// ---- Paths

const HEIGHTS = { core: 3, spine: 2, leaf: 1 };
const height = hop => HEIGHTS[hop.role] ?? 0;

// Where a cable comes out of a box, as a share of its length.
const HALF = { x: 66, y: 17 }, STEP = 200, RISE = 100;
const exit = (dx, dy) => Math.min(HALF.x / Math.abs(dx), dy ? HALF.y / Math.abs(dy) : 1);

function cable(hop, next, ax, ay, bx, by) {
  const dx = bx - ax, dy = by - ay, out = exit(dx, dy) + 0.12, back = dx < 0, side = back ? 17 : dy > 0 ? 16 : dy < 0 ? -16 : 0;
  const down = share => share > 0.5 ? -3 : dy < RISE ? 5 : 0; // close together, the first number keeps clear of the box above
  const at = share => ({ x: ax + dx * share + side, y: ay + dy * share + (back ? (share > 0.5 ? 3 : 8) : dy > 0 ? down(share) : share < 0.5 ? -3 : 0) });
  return [svg("line", { x1: ax, y1: ay, x2: bx, y2: by, class: "cable" }), svg("text", { ...at(out), class: "port" }, `${hop.out_port ?? ""}`), svg("text", { ...at(1 - out), class: "port" }, `${next.in_port ?? ""}`),
    svg("text", { x: (ax + bx) / 2 + (back ? -42 : dy > 0 ? -30 : dy < 0 ? 30 : 0), y: (ay + by) / 2 + (back ? 0 : 13), class: "speed" }, hop.speed ? `${hop.speed} ${hop.width}x` : "")];
}

// Hops from left to right, as high as their tier; where it is narrow from top to bottom, as far to the right. The numbers are ports.
function drawing(hops, backward) {
  const narrow = innerWidth < 600, top = Math.max(...hops.map(height)), last = hops.length - 1;
  const x = i => HALF.x + 8 + (narrow ? height(hops[i]) * Math.min(68, 200 / (top || 1)) : i * STEP), y = i => 24 + (narrow ? i * 74 : (top - height(hops[i])) * RISE);
  const width = narrow ? 2 * HALF.x + 16 + 204 : x(last) + HALF.x + 8, tall = narrow ? y(last) + 24 : top * RISE + 48;
  const cables = hops.slice(0, -1).map((hop, i) => cable(hop, hops[i + 1], x(i), y(i), x(i + 1), y(i + 1)));
  const nodes = hops.map((hop, i) => svg("a", { href: showAddress(hop.guid), class: "hop" }, svg("rect", { x: x(i) - HALF.x, y: y(i) - HALF.y, width: 2 * HALF.x, height: 2 * HALF.y, rx: height(hop) ? 3 : 15 }),
    svg("text", { x: x(i), y: y(i) - 1, textLength: hop.name.length > 19 ? 124 : null, lengthAdjust: "spacingAndGlyphs" }, hop.name), svg("text", { x: x(i), y: y(i) + 12, class: "role" }, `${hop.role}, LID ${hop.lid}`)));
  return h("div.scroll", { tabindex: 0, role: "region", "aria-label": backward ? "The path back" : "The path" },
    svg("svg", { class: "path" + (backward ? " back" : ""), viewBox: `0 0 ${width} ${tall}`, width, height: tall, role: "img", "aria-label": hops.map(hop => hop.name).join(", then ") }, cables, nodes));
}

const pathAddress = (from, to) => `#/path/${encodeURIComponent(from)}/${encodeURIComponent(to)}`;
const hopTable = hops => table([["Node", hop => link(hop.guid, hop.name)], ["Role", hop => hop.role], ["LID", hop => hop.lid, "num"], ["In", hop => hop.in_port ?? "–", "num"], ["Out", hop => hop.out_port ?? "–", "num"],
  ["Rate", hop => hop.speed ? `${hop.speed} ${hop.width}x` : "–"]], hops, { label: "Hops" });

export function pathView(state, from = "", to = "") {
  const list = h("datalist", { id: "ends" }), body = h("div", {});
  const end = (label, text) => h("input", { type: "search", list: "ends", "aria-label": label, placeholder: label, value: text, required: true, spellcheck: "false", oninput: event => suggest(event.target.value) });
  const a = end("From", from), b = end("To", to);
  let asked = 0;
  const suggest = async text => {
    const mine = ++asked;
    if (text.length < 2) return;
    const rows = await get("search", { text }).catch(() => []);
    if (mine === asked) list.replaceChildren(...rows.filter(row => row.kind !== "group" && row.kind !== "partition").map(row => h("option", { value: row.name })));
  };
  const go = event => {
    event?.preventDefault();
    location.hash = pathAddress(a.value.trim(), b.value.trim());
  };
  const one = async (x, y) => (await get("path", { from: x, to: y })).hops;
  // Of two hosts: each HCA's path, of which the first that there is will be drawn.
  const several = paths => paths?.length > 1 ? [h("h3", {}, paths.some(path => path.error) ? `${paths.filter(path => path.error).length} of ${paths.length} HCAs have no path` : `${paths.length} paths, one from each HCA; the first is drawn`),
    table([["From", path => h("a", { href: pathAddress(path.from, path.to) }, path.from)], ["To", path => path.to], ["By", path => path.via?.length ? path.via.join(", ") : h("span.bad", {}, mark("dead"), " ", path.error ?? "no path"), "what"]], paths, { label: "Paths of all HCAs" })] : [];
  const none = text => h("p.bad", { role: "alert" }, mark("dead"), " ", text);
  const ask = async () => {
    if (!from || !to) return body.replaceChildren(h("p.soft", {}, "Two names, GUIDs or LIDs: hosts, all of whose HCAs are traced, or an HCA (dgx-su01-01 mlx5_0)."));
    try {
      const { hops, paths } = await get("path", { from, to }), whole = paths?.find(path => path.via?.length), ends = hops.length || !whole ? [from, to] : [whole.from, whole.to];
      const [there, back] = await Promise.all([hops.length || !whole ? hops : one(...ends), one(ends[1], ends[0]).catch(error => error.message)]), found = Array.isArray(back) && back.length > 0;
      const same = found && back.length === there.length && back.every((hop, i) => hop.guid === there[there.length - 1 - i].guid);
      body.replaceChildren(...several(paths), ...(there.length ? [h("h3", {}, mark("ok"), ` ${there.length - 1} ${plural("link", there.length - 1)} from ${there[0].name} to ${there[there.length - 1].name}`), drawing(there, false), hopTable(there),
        ...(found ? [h("h3", {}, same ? "The path back goes by the same switches" : `The path back goes by other switches, ${back.length - 1} ${plural("link", back.length - 1)}`), ...(same ? [] : [drawing(back, true), hopTable(back)])] : [none(`There is no path back: ${back}`)])]
        : paths?.length > 1 ? [] : [none(paths?.[0]?.error ?? "There is no path.")]));
    } catch (error) {
      body.replaceChildren(none(error.message));
    }
  };
  const swap = () => { [a.value, b.value] = [b.value, a.value]; go(); };
  const element = section(null, { class: "wide" }, h("form.bar", { onsubmit: go }, h("h2", {}, "Path"), a, h("button", { type: "button", onclick: swap, title: "Swap", "aria-label": "Swap the ends" }, "⇄"), b, h("button", { type: "submit" }, "Trace"), list, from && to ? h("span.right", {}, commandLine(command("path", from, to))) : null), body);
  ask();
  return { title: "Path", element, update: what => { if (what === "map") ask(); }, focus: from ? b : a };
}
