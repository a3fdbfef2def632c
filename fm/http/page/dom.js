// dom: elements, tables and links, made of text alone: nothing that fmd sends is ever read as HTML.
export const $ = id => document.getElementById(id);

// h("td.when", {title: ..}, child, ..): a tag with classes; on* are handlers, others attributes; null children are left out.
export function h(tag, attributes, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value == null || value === false) continue;
    if (key.startsWith("on")) element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter(child => child != null && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";
export function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes ?? {})) if (value != null) element.setAttribute(key, value);
  element.append(...children.flat(Infinity).filter(child => child != null));
  return element;
}

export const showAddress = what => "#/show/" + encodeURIComponent(what);
export const link = (what, text = what) => h("a", { href: showAddress(what) }, String(text));

// columns: [[title, row => child, class], ..]
export function table(columns, rows, attributes = {}) {
  return h("div.scroll", { tabindex: 0, role: "region", "aria-label": attributes.label }, h("table", { class: attributes.class },
    h("thead", {}, h("tr", {}, columns.map(([title, , cls]) => h("th" + (cls ? "." + cls : ""), { scope: "col" }, title)))),
    h("tbody", {}, rows.map(row => h("tr" + (attributes.rowClass?.(row) ?? ""), {}, columns.map(([, cell, cls]) => h("td" + (cls ? "." + cls : ""), {}, cell(row))))))));
}

// A small drawing of a state beside its word: shape and colour.
const SHAPES = {
  ok: "M2 2h10v10H2z", cordoned: "M2 2h10v10H2zM5 5v4h4V5z", aside: "M7 0.5L13.5 7L7 13.5L0.5 7z", unhealthy: "M7 1.5L13 12.5H1z", part: "M2 2h10L2 12z",
  dead: "M2 0.5L7 5.2L12 0.5L13.5 2L8.8 7L13.5 12L12 13.5L7 8.8L2 13.5L0.5 12L5.2 7L0.5 2z", unknown: "M7 1.5a5.5 5.5 0 1 0 0.01 0zM7 4a3 3 0 1 1-0.01 0z",
};
export const mark = (state, label) => svg("svg", { class: "mark s-" + state, viewBox: "0 0 14 14", width: 14, height: 14, role: label ? "img" : null, "aria-label": label, "aria-hidden": label ? null : "true" },
  label ? svg("title", {}, label) : null, svg("path", { d: SHAPES[state] ?? SHAPES.unknown, "fill-rule": "evenodd" }));
export const shapeOf = state => SHAPES[state] ?? SHAPES.unknown;

export function section(title, attributes, ...children) {
  return h("section", attributes, title ? h("h2", {}, title) : null, children);
}

export const say = text => { $("said").textContent = text; };
