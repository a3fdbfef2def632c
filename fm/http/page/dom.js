// dom: elements, tables and links, made of text alone: nothing that fmd sends is ever read as HTML.
import { choice, choose } from "./address.js";

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
  behind: "M1 6h3v2H1zM5.5 6h3v2H5.5zM10 6h3v2H10z",
};
export const mark = (state, label) => svg("svg", { class: "mark s-" + state, viewBox: "0 0 14 14", width: 14, height: 14, role: label ? "img" : null, "aria-label": label, "aria-hidden": label ? null : "true" },
  label ? svg("title", {}, label) : null, svg("path", { d: SHAPES[state] ?? SHAPES.unknown, "fill-rule": "evenodd" }));

export function section(title, attributes, ...children) {
  return h("section", attributes, title ? h("h2", {}, title) : null, children);
}

export const say = text => { $("said").textContent = text; };

// ---- The command that shows the same

const shell = word => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${String(word).replaceAll("'", "'\\''")}'`;
export const command = (...words) => "fmctl " + words.flat().filter(word => word !== "" && word != null).map(shell).join(" ");
export const grep = text => text ? ` | grep -i ${shell(text)}` : "";

// Without TLS a browser has no clipboard for scripts, only for what is selected.
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = h("textarea", { readonly: true }, text);
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
const COPY = "M4.7 4.7h7.6v7.6H4.7zM9.3 4.7V1.7H1.7v7.6h3", COPIED = "M2 7.5l3.5 3.5L12 3.5";
export function copyButton(text) {
  const button = h("button.copy", { type: "button", title: `Copy: ${text}`, "aria-label": `Copy the command: ${text}` }), icon = path => button.replaceChildren(svg("svg", { width: 14, height: 14, viewBox: "0 0 14 14" }, svg("path", { d: path })));
  icon(COPY);
  button.onclick = () => copy(text).then(() => {
    icon(COPIED);
    say(`Copied: ${text}`);
    setTimeout(() => icon(COPY), 1500);
  });
  return button;
}
export const commandLine = text => h("span.command", {}, h("code", {}, text), copyButton(text));

// ---- Filters of a view, which stand in its address

// fields: [[key, label, placeholder or [[value, text], ..]], ..]; changed(key) behind each change. {elements, of(key), select(key, options)}.
export function filterBar(fields, changed) {
  const controls = new Map();
  const select = (key, options) => {
    const now = choice(key), list = options.some(([value]) => value === now) ? options : [...options, [now, now]];
    controls.get(key).replaceChildren(...list.map(([value, text]) => h("option", { value, selected: value === now }, text)));
  };
  for (const [key, label, what] of fields) {
    const isText = typeof what === "string";
    const control = h(isText ? "input" : "select", isText ? { type: "search", placeholder: what, "aria-label": label, value: choice(key), spellcheck: "false" } : { "aria-label": label });
    control[isText ? "oninput" : "onchange"] = () => { choose(key, control.value.trim(), isText); changed(key); };
    controls.set(key, control);
    if (!isText) select(key, what);
  }
  return { elements: [...controls.values()], select, of: key => controls.get(key).value.trim() };
}
