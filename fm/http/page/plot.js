// plot: what a port carried: what it sent above the axis, what it received below it, and marks where errors were counted. Darker is the
// mean of a row's time, lighter the most in it. Where nothing was read there is a gap.
import { get } from "./api.js";
import { choice, chosen } from "./address.js";
import { command, copyButton, h, svg, table } from "./dom.js";
import { clock, number, percent, plural } from "./model.js";

// step: seconds of a row; span: of the plot; apart: between two marks of the time axis.
const SPANS = { hour: { step: 10, span: 3600, apart: 600 }, day: { step: 300, span: 86400, apart: 4 * 3600 }, week: { step: 3600, span: 7 * 86400, apart: 86400 } };
const TALL = 190, SIDE = 42, AXIS = TALL / 2 - 9, HALF = AXIS - 8, AGAIN_MS = 10000, EVERY_STEP = 2.5;

const secondsOf = row => Date.parse(row.time) / 1000;

// The outline of rows by one of their figures: a bar a row, as wide as until the next one that follows it.
function outline(rows, key, step, x, y) {
  let path = "";
  rows.forEach((row, i) => {
    if (row[key] == null) return;
    const at = secondsOf(row), next = i + 1 < rows.length ? secondsOf(rows[i + 1]) : Infinity;
    path += `M${x(at)} ${y(0)}V${y(row[key])}H${x(next - at < step * EVERY_STEP ? next : at + step)}V${y(0)}Z`;
  });
  return path;
}

const described = row => `sent ${percent(row.sent_percent)} (most ${percent(row.sent_most_percent)}), received ${percent(row.received_percent)} (most ${percent(row.received_most_percent)})` +
  (row.errors ? `, ${number(row.errors)} ${plural("error", row.errors)}` : "") + (row.changes ? `: ${row.changes}` : "");

const shortTime = (at, span, utc) => {
  const text = clock(at * 1000, utc, new Date(at * 1000));
  return span > 2 * 86400 ? new Date(at * 1000).toLocaleDateString("en", { weekday: "short", day: "numeric", timeZone: utc ? "UTC" : undefined }) : text.slice(0, 5);
};

function drawing(rows, { step, span, apart }, utc, width, point) {
  const end = Math.max(Date.now() / 1000, rows.length ? secondsOf(rows[rows.length - 1]) + step : 0), begin = end - span;
  const x = at => Math.round((SIDE + (width - SIDE - 4) * Math.max(0, at - begin) / span) * 10) / 10, up = value => Math.round((AXIS - HALF * value / 100) * 10) / 10, down = value => Math.round((AXIS + HALF * value / 100) * 10) / 10;
  const shift = utc ? 0 : new Date().getTimezoneOffset() * 60, marks = [];
  for (let at = Math.ceil((begin - shift) / apart) * apart + shift; at < end; at += apart) marks.push(at);
  const label = (y, text) => svg("text", { x: SIDE - 6, y: y + 4, class: "y" }, text), rule = value => [up(value), down(value)].map(y => svg("line", { x1: SIDE, x2: width - 4, y1: y, y2: y, class: "rule" }));
  const areas = [["sent", up], ["received", down]].flatMap(([way, y]) => ["_most_percent", "_percent"].map(kind => svg("path", { d: outline(rows, way + kind, step, x, y), class: way + (kind === "_percent" ? " mean" : " most") })));
  const errors = rows.filter(row => row.errors || row.changes).map(row => svg("path", { d: `M${x(secondsOf(row) + step / 2)} ${AXIS - 6}l5 9h-10z`, class: row.errors ? "errors" : "changes" }, svg("title", {}, described(row))));
  const drawn = svg("svg", { class: "history", viewBox: `0 0 ${width} ${TALL}`, width, height: TALL, role: "img", "aria-label": "Load of the port by time" },
    rule(50), rule(100), areas, svg("line", { x1: SIDE, x2: width - 4, y1: AXIS, y2: AXIS, class: "axis" }), errors, label(up(100), "100%"), label(up(50), "sent"), label(AXIS, "0"), label(down(50), "recv."), label(down(100), "100%"),
    marks.map(at => [svg("line", { x1: x(at), x2: x(at), y1: up(100), y2: down(100), class: "rule" }), svg("text", { x: x(at), y: TALL - 2, class: "x" }, shortTime(at, span, utc))]), svg("line", { class: "cursor", x1: -9, x2: -9, y1: up(100), y2: down(100) }));
  drawn.onmousemove = event => {
    const at = begin + (event.clientX - drawn.getBoundingClientRect().left - SIDE) * span / (width - SIDE - 4);
    const row = rows.find(one => at >= secondsOf(one) && at < secondsOf(one) + step);
    const cursor = drawn.querySelector(".cursor");
    cursor.setAttribute("x1", row ? x(secondsOf(row) + step / 2) : -9);
    cursor.setAttribute("x2", row ? x(secondsOf(row) + step / 2) : -9);
    point(row);
  };
  return drawn;
}

// port: "NODE:PORT". {element, leave()}.
export function historyPlot(state, port) {
  const now = choice("span"), chosenSpan = SPANS[now] ? now : "hour", { step } = SPANS[chosenSpan], body = h("div", {}), line = h("p.soft", { "aria-live": "off" }, " ");
  let timer = null, gone = false, rows = null;
  const words = command("history", port, "--step", String(step));
  const when = row => `${clock(row.time, state.utc)}: ${described(row)}`;
  const point = row => { line.textContent = row ? when(row) : rows.length ? `Latest, ${when(rows[rows.length - 1])}` : ""; };
  const draw = () => {
    if (!rows) return;
    const since = Date.now() / 1000 - SPANS[chosenSpan].span, shown = rows.filter(row => secondsOf(row) >= since);
    if (!shown.length) body.replaceChildren(h("p.soft", {}, "Nothing is kept of this time yet: each pass over the counters adds a row (perf_interval)."));
    else body.replaceChildren(drawing(shown, SPANS[chosenSpan], state.utc, Math.max(280, Math.floor(body.clientWidth)), point));
    point(null);
  };
  const ask = async () => {
    try {
      rows = (await get("history", { port, step }, { keep: true })).rows;
      if (!gone) draw();
    } catch (error) {
      body.replaceChildren(h("p.bad", {}, error.message));
    }
    if (!gone) timer = setTimeout(ask, AGAIN_MS);
  };
  const figures = h("details", {}, h("summary", {}, "Figures"));
  figures.ontoggle = () => {
    if (figures.open) figures.replaceChildren(figures.firstChild, table([["Time", row => clock(row.time, state.utc), "when"], ["Sent", row => percent(row.sent_percent), "num"], ["most", row => percent(row.sent_most_percent), "num"],
      ["Received", row => percent(row.received_percent), "num"], ["most", row => percent(row.received_most_percent), "num"], ["Errors", row => row.errors || "", "num"], ["Changes", row => row.changes ?? "", "what"]], [...rows ?? []].reverse().slice(0, 400), { label: "History" }));
  };
  const observer = new ResizeObserver(draw);
  const element = h("section.part", {}, h("div.bar", {}, h("h2", {}, `Load of ${port}`), h("span.choices", { role: "group", "aria-label": "Time" }, Object.keys(SPANS).map(name => h("a", { href: chosen("span", name === "hour" ? "" : name), "aria-current": name === chosenSpan ? "true" : null }, name))),
    h("span.key", {}, h("i.sent", {}), " sent ", h("i.received", {}), " received; pale: the most within a row's time; ", svg("svg", { width: 12, height: 10, class: "history" }, svg("path", { d: "M6 0l5 9h-10z", class: "errors" })), " errors"), h("span.right", {}, copyButton(words))), body, line, figures);
  ask();
  queueMicrotask(() => observer.observe(body));
  return { element, redraw: draw, leave: () => { gone = true; clearTimeout(timer); observer.disconnect(); } };
}
