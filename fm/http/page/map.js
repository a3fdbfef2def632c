// map: the fabric on a canvas. A drawing of tiers where there are up to DRAWN leaves, else a matrix of each block: rows are its
// lower switches, columns its upper ones, a cell is the trunk between them. What is whole is drawn pale and by the block, what is not
// by its own colour and shape, so a fabric of 16,384 HCAs costs what its faults cost.
import { h, say } from "./dom.js";
import { LOAD_STEPS, ERROR_STEPS, STATES, errorStep, loadStep, plural, trunkText } from "./model.js";

const DRAWN = 64, GAP = 22, TITLE = 18, SIDE = 6, NAMED = 58, LEAST = 7, DENSE = 256;

let marked = false;  // when the first map was drawn, for those who measure

const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
function palette() {
  const names = ["ok", "pale", "cordoned", "aside", "unhealthy", "part", "dead", "ink", "soft", "line", "card", "back", "note"];
  const out = Object.fromEntries(names.map(name => [name, css("--" + name)]));
  out.load = [0, 1, 2, 3, 4].map(step => css("--load" + step));
  out.error = [0, 1, 2, 3, 4].map(step => css("--error" + step));
  return out;
}

// A state's shape in a square of that size; the same shapes as in dom.js.
function drawState(g, state, x, y, size, colors) {
  const s = Math.max(size, 3), right = x + s, low = y + s;
  g.fillStyle = g.strokeStyle = colors[state];
  g.beginPath();
  if (state === "dead") {
    g.lineWidth = Math.max(1.5, s / 4);
    g.moveTo(x, y); g.lineTo(right, low); g.moveTo(right, y); g.lineTo(x, low);
    g.stroke();
    return;
  }
  if (state === "cordoned") {
    g.lineWidth = Math.max(1.5, s / 4);
    g.strokeRect(x + g.lineWidth / 2, y + g.lineWidth / 2, s - g.lineWidth, s - g.lineWidth);
    return;
  }
  if (state === "part") { g.moveTo(x, y); g.lineTo(right, y); g.lineTo(x, low); }
  else if (state === "aside") { g.moveTo(x + s / 2, y); g.lineTo(right, y + s / 2); g.lineTo(x + s / 2, low); g.lineTo(x, y + s / 2); }
  else if (state === "unhealthy") { g.moveTo(x + s / 2, y); g.lineTo(right, low); g.lineTo(x, low); }
  else g.rect(x, y, s, s);
  g.fill();
}

// Load and errors: the fuller the square, the more; the colour says it again.
function drawStep(g, step, ramp, x, y, size) {
  const s = Math.max(1, size * (step + 1) / 5);
  g.fillStyle = ramp[step];
  g.fillRect(x + (size - s) / 2, y + (size - s) / 2, s, s);
}

// ---- Where things stand

// Blocks side by side, row by row, the lower tiers first under a title of their own.
function placeBlocks(blocks, width, cell) {
  const items = [], titles = [];
  let x = SIDE, y = 0, high = 0, level = -1;
  for (const block of blocks) {
    const w = Math.max(block.upper.length * cell, 46);
    if (x > SIDE && (x + w > width || block.level !== level)) { x = SIDE; y += high + GAP / 2; high = 0; }
    if (block.level !== level) {
      level = block.level;
      y += TITLE;
      titles.push({ y: y - 4, block, count: blocks.filter(other => other.level === level).length });
    }
    items.push({ block, x, y: y + TITLE, cell, w: block.upper.length * cell, h: block.lower.length * cell });
    x += w + GAP;
    high = Math.max(high, block.lower.length * cell + TITLE);
  }
  return { items, titles, height: y + high + 4 };
}

// The cells are as large as lets all of it be seen at once, as far as it can.
function layMatrix(blocks, width) {
  const widest = Math.max(...blocks.map(block => block.upper.length)), most = Math.max(360, innerHeight * 0.62);
  let cell = Math.max(2, Math.min(14, Math.floor((width - 2 * SIDE) / widest))), plan = placeBlocks(blocks, width, cell);
  while (cell > 3 && plan.height > most) plan = placeBlocks(blocks, width, --cell);
  return plan;
}

// Tiers as rows, the highest on top; of a block, or of all switches.
function layTiers(switches, members, width) {
  const levels = new Map();
  for (const i of members) {
    const level = switches[i].level;
    if (!levels.has(level)) levels.set(level, []);
    levels.get(level).push(i);
  }
  const order = [...levels.keys()].sort((a, b) => b - a), nodes = new Map(), labels = [];
  let y = 44;
  for (const level of order) {
    const row = levels.get(level), step = width / row.length, size = Math.max(4, Math.min(20, step * 0.62));
    row.forEach((i, n) => nodes.set(i, { x: (n + 0.5) * step, y, size, step }));
    labels.push({ y: level === order[order.length - 1] ? y + (step > NAMED ? 46 : 32) : y - 32, text: `${row.length} ${plural(switches[row[0]].role, row.length)}` });
    y += order.length > 2 ? 130 : 170;
  }
  const rows = order.length, apart = rows > 2 ? 130 : 170, step = width / levels.get(order[rows - 1]).length;
  return { nodes, labels, top: order[0], height: y - apart + (step > NAMED ? 56 : 42) };
}

// ---- The map

export class FabricMap {
  constructor(open) {
    this.open = open;
    this.by = "state";
    this.block = null;
    this.focus = -1;
    this.canvas = h("canvas", { tabindex: 0, role: "application", "aria-roledescription": "map of the fabric",
      "aria-label": "Map of the fabric. Arrow keys go from place to place, N to the next fault, Enter opens." });
    this.canvas.onmousemove = event => this.point(event);
    this.canvas.onmouseleave = () => this.tip(null);
    this.canvas.onclick = event => this.click(event);
    this.canvas.onkeydown = event => this.key(event);
    this.canvas.onblur = () => { this.focus = -1; this.tip(null); this.paint(); };
    this.element = h("div.map", {}, this.canvas);
    this.observer = new ResizeObserver(() => this.redraw());
    this.observer.observe(this.element);
  }

  set(map) { this.map = map; this.redraw(); }

  show(by, block) { this.by = by; this.block = block; this.redraw(); }

  // Where all stands, and then the picture of it.
  redraw() {
    const width = Math.floor(this.element.clientWidth);
    if (!this.map || width < 40) return;
    const { map } = this, block = map.blocks[this.block];
    this.colors = palette();
    this.trunks = block ? block.trunks : map.trunks;
    const tiers = this.trunks.every(trunk => map.switches[trunk.lower].level !== map.switches[trunk.upper].level);
    this.drawn = tiers && (block ? block.lower.length : map.leaves) <= DRAWN;
    const members = block ? [...block.lower, ...block.upper] : map.switches.map(sw => sw.index).filter(i => map.switches[i].links || map.switches[i].links_down);
    const plan = this.drawn ? layTiers(map.switches, members, width) : layMatrix(block ? [block] : map.blocks, width);
    Object.assign(this, { items: null, titles: null, nodes: null, labels: null }, plan);
    this.width = width;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = plan.height * ratio;
    this.canvas.style.width = width + "px";
    this.canvas.style.height = plan.height + "px";
    this.still = null;
    this.places = null;
    this.paint();
  }

  paint() {
    if (!this.map || !this.width) return;
    const g = this.canvas.getContext("2d"), ratio = devicePixelRatio || 1;
    if (!this.still) {
      g.setTransform(ratio, 0, 0, ratio, 0, 0);
      g.clearRect(0, 0, this.width, this.height);
      this.drawn ? this.paintTiers(g) : this.paintMatrix(g);
      this.still = document.createElement("canvas");
      this.still.width = this.canvas.width;
      this.still.height = this.canvas.height;
      this.still.getContext("2d").drawImage(this.canvas, 0, 0);
      if (!marked) performance.mark("drawn");
      marked = true;
    } else {
      g.setTransform(1, 0, 0, 1, 0, 0);
      g.clearRect(0, 0, this.canvas.width, this.canvas.height);
      g.drawImage(this.still, 0, 0);
      g.setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    const place = this.place();
    if (place) this.ring(g, place);
  }

  ring(g, place) {
    g.strokeStyle = this.colors.note;
    g.lineWidth = 2.5;
    g.strokeRect(place.x - 3, place.y - 3, place.w + 6, place.h + 6);
  }

  // ---- Matrix

  paintMatrix(g) {
    g.font = "600 12px system-ui, sans-serif";
    for (const { y, block, count } of this.titles) {
      const { switches } = this.map, name = i => plural(switches[i].role, 2);
      g.fillStyle = this.colors.soft;
      const long = `${name(block.lower[0])} (rows) and ${name(block.upper[0])} (columns)${count > 1 ? `: ${count} blocks, each linked in itself` : ""}`;
      g.fillText(g.measureText(long).width < this.element.clientWidth - 2 * SIDE ? long : `${name(block.lower[0])} × ${name(block.upper[0])}${count > 1 ? `, ${count} blocks` : ""}`, SIDE, y);
    }
    for (const item of this.items) this.paintBlock(g, item);
  }

  paintBlock(g, item) {
    const { block, x, y, cell } = item, { switches } = this.map, { colors } = this;
    const row = new Map(block.lower.map((i, n) => [i, n])), column = new Map(block.upper.map((i, n) => [i, n])), size = cell > 4 ? cell - 1 : cell;
    item.cells = new Map();
    if (this.by !== "state") { g.fillStyle = colors.back; g.fillRect(x, y, item.w, item.h); }
    g.font = "11px system-ui, sans-serif";
    g.fillStyle = colors.soft;
    g.fillText(item.w < 260 ? item.w < 120 ? block.title.replace(/[:(].*/, "") : block.title.replace(/:.*/, "") : block.title, x, y - 5);
    for (const trunk of block.trunks) {
      const r = row.get(trunk.lower), c = column.get(trunk.upper);
      item.cells.set(r * block.upper.length + c, trunk);
      if (this.by === "state") {
        g.fillStyle = colors.pale;
        g.fillRect(x + c * cell, y + r * cell, size, size);
      } else {
        drawStep(g, this.stepOf(trunk), this.ramp(), x + c * cell, y + r * cell, size);
      }
    }
    if (this.by === "state")
      for (const trunk of block.trunks)
        if (trunk.state !== "ok") this.paintFault(g, trunk, x + column.get(trunk.upper) * cell, y + row.get(trunk.lower) * cell, size);
    block.lower.forEach((i, n) => this.paintEdge(g, switches[i], x - SIDE, y + n * cell - 1, SIDE - 1, Math.max(size, 4)));
    block.upper.forEach((i, n) => { if (switches[i].state === "dead") this.paintEdge(g, switches[i], x + n * cell, y - SIDE + 1, size, SIDE - 2); });
  }

  // Never smaller than one can see.
  paintFault(g, trunk, x, y, size) {
    const s = Math.max(size, LEAST), out = (s - size) / 2;
    drawState(g, trunk.state, x - out, y - out, s, this.colors);
  }

  // At a row's beginning: its switch is dead, or some of its HCAs are down.
  paintEdge(g, sw, x, y, w, tall) {
    if (sw.state !== "dead" && !sw.hcas_down) return;
    g.fillStyle = this.colors[sw.state === "dead" ? "dead" : "part"];
    g.fillRect(x, y, w, tall);
  }

  // ---- Tiers

  paintTiers(g) {
    const { switches } = this.map, { colors, nodes } = this;
    const rank = trunk => this.by === "state" ? STATES[trunk.state].rank : this.stepOf(trunk);
    for (const trunk of [...this.trunks].sort((a, b) => rank(a) - rank(b))) this.paintTrunk(g, trunk);
    g.textAlign = "left";
    g.font = "12px system-ui, sans-serif";
    for (const label of this.labels) {
      g.fillStyle = colors.card;
      g.fillRect(0, label.y - 8, g.measureText(label.text).width + 8, 16);
      g.fillStyle = colors.soft;
      g.fillText(label.text, 2, label.y + 4);
    }
    for (const [i, node] of nodes) this.paintNode(g, switches[i], node);
  }

  paintTrunk(g, trunk) {
    const a = this.nodes.get(trunk.lower), b = this.nodes.get(trunk.upper), { colors } = this;
    if (!a || !b) return;
    const state = this.by === "state", step = state ? 0 : this.stepOf(trunk), bad = state ? trunk.state !== "ok" : step > 0;
    g.strokeStyle = state ? (bad ? colors[trunk.state] : colors.pale) : this.ramp()[step];
    g.lineWidth = state ? (bad ? 2.2 : 1) : 0.8 + step * 0.9;
    if (!bad && this.trunks.length > DENSE) g.globalAlpha = 0.45;
    g.setLineDash(!state || !bad ? [] : trunk.state === "dead" ? [2, 5] : trunk.state === "part" ? [9, 4] : [5, 2]);
    g.beginPath();
    g.moveTo(a.x, a.y - a.size / 2);
    g.lineTo(b.x, b.y + b.size / 2);
    g.stroke();
    g.setLineDash([]);
    g.globalAlpha = 1;
    if (state && bad) {
      const near = 0.22;
      drawState(g, trunk.state, a.x + (b.x - a.x) * near - 5, a.y + (b.y - a.y) * near - 5, 10, colors);
    }
  }

  paintNode(g, sw, node) {
    const { colors } = this, { x, y, size, step } = node, half = size / 2;
    g.fillStyle = colors.card;
    g.fillRect(x - half - 2, y - half - 2, size + 4, size + 4);
    drawState(g, sw.state === "ok" ? "ok" : sw.state, x - half, y - half, size, colors);
    if (step > NAMED) this.paintName(g, sw, x, sw.level && sw.level === this.top ? y - half - 6 : y + half + 13, step);
    if (sw.hcas) this.paintHcas(g, sw, x, y + half + (step > NAMED ? 20 : 6), Math.min(step * 0.8, 60));
  }

  paintName(g, sw, x, y, step) {
    g.font = "11px system-ui, sans-serif";
    g.textAlign = "center";
    g.fillStyle = this.colors.ink;
    let name = sw.name;
    while (name.length > 3 && g.measureText(name).width > step - 4) name = name.startsWith("…") ? "…" + name.slice(2) : "…" + name.slice(1);
    g.fillText(name, x, y);
    g.textAlign = "left";
  }

  // How many of a leaf's HCAs are there: a bar with the rest cut out of it.
  paintHcas(g, sw, x, y, w) {
    const up = w * (sw.hcas - sw.hcas_down) / sw.hcas;
    g.fillStyle = this.colors.ok;
    g.fillRect(x - w / 2, y, up, 5);
    g.fillStyle = this.colors.dead;
    if (sw.hcas_down) g.fillRect(x - w / 2 + up, y - 2, Math.max(2, w - up), 9);
  }

  stepOf(trunk) { return this.by === "load" ? loadStep(trunk.load) : errorStep(trunk.errors); }
  ramp() { return this.by === "load" ? this.colors.load : this.colors.error; }

  // ---- Pointing, clicking, keys

  at(x, y) {
    if (this.drawn) return this.nearest(x, y);
    for (const item of this.items) {
      const c = Math.floor((x - item.x) / item.cell), r = Math.floor((y - item.y) / item.cell);
      if (r >= 0 && r < item.block.lower.length && c >= -1 && c < item.block.upper.length && x > item.x - SIDE) return this.cellPlace(item, r, c);
      if (x >= item.x && x < item.x + Math.max(item.w, 46) && y < item.y && y > item.y - TITLE) return this.titlePlace(item);
    }
    return null;
  }

  titlePlace(item) { return { item, x: item.x, y: item.y - TITLE + 3, w: Math.max(item.w, 46), h: 13, block: item.block }; }

  cellPlace(item, r, c) {
    const { block, cell } = item, place = { item, r, c, x: item.x + c * cell, y: item.y + r * cell, w: cell, h: cell };
    if (c < 0) return { ...place, x: item.x - SIDE, w: SIDE, sw: this.map.switches[block.lower[r]] };
    return { ...place, trunk: item.cells?.get(r * block.upper.length + c), lower: block.lower[r], upper: block.upper[c] };
  }

  nearest(x, y) {
    let best = null, least = 400;
    for (const [i, node] of this.nodes) {
      const far = (node.x - x) ** 2 + (node.y - y) ** 2;
      if (far < least) { least = far; best = this.nodePlace(i); }
    }
    return best;
  }

  nodePlace(i) {
    const node = this.nodes.get(i);
    return { x: node.x - node.size / 2, y: node.y - node.size / 2, w: node.size, h: node.size, sw: this.map.switches[i] };
  }

  describe(place) {
    const { switches } = this.map;
    if (!place) return "";
    if (place.block) return place.block.title + ". Enter or click: larger.";
    if (place.trunk) return trunkText(switches, place.trunk);
    if (!place.sw) return `${switches[place.lower].name} – ${switches[place.upper].name}: no link is known`;
    const { sw } = place, links = sw.links + sw.links_down, hcas = sw.hcas ? `, ${sw.hcas - sw.hcas_down} of ${sw.hcas} ${plural("HCA", sw.hcas)} up` : "";
    return `${sw.name}, ${sw.role}, LID ${sw.lid}: ${sw.links} of ${links} ${plural("link", links)} up${hcas}${sw.cordoned ? ", cordoned" : ""}`;
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect(), place = this.at(event.clientX - box.left, event.clientY - box.top);
    this.canvas.style.cursor = place ? "pointer" : "";
    this.tip(place, event.clientX, event.clientY);
  }

  tip(place, x, y) {
    const tip = document.getElementById("tip");
    tip.hidden = !place;
    if (!place) return;
    tip.textContent = this.describe(place);
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = (y + 22 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 12 : y + 18) + "px";
  }

  click(event) {
    const box = this.canvas.getBoundingClientRect(), place = this.at(event.clientX - box.left, event.clientY - box.top);
    if (place) this.go(place);
  }

  go(place) {
    this.tip(null);
    if (place.block) this.open({ block: place.block.id });
    else if (place.trunk) this.open({ trunk: place.trunk, block: this.block === null ? place.item?.block.id : undefined });
    else if (place.sw) this.open({ sw: place.sw });
  }

  // Places that keys go to: blocks and the faults in them, or all switches.
  list() {
    if (this.places) return this.places;
    if (this.drawn) return this.places = [...this.nodes.keys()].map(i => this.nodePlace(i));
    this.places = [];
    for (const item of this.items) {
      const { block } = item;
      this.places.push(this.titlePlace(item));
      for (const [key, trunk] of item.cells)
        if (this.by === "state" ? trunk.state !== "ok" : this.stepOf(trunk) > 1)
          this.places.push(this.cellPlace(item, Math.floor(key / block.upper.length), key % block.upper.length));
    }
    return this.places;
  }

  place() { return this.focus < 0 ? null : this.list()[this.focus]; }

  isFault(place) {
    return place.sw ? place.sw.state !== "ok" || place.sw.hcas_down > 0 : Boolean(place.trunk && place.trunk.state !== "ok");
  }

  key(event) {
    const list = this.list(), count = list.length, from = this.focus;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.drawn ? 1 : 8, ArrowUp: this.drawn ? -1 : -8 };
    if (!count || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key in steps) this.focus = from < 0 ? 0 : Math.max(0, Math.min(count - 1, from + steps[event.key]));
    else if (event.key === "Home") this.focus = 0;
    else if (event.key === "End") this.focus = count - 1;
    else if (event.key === "n") {
      for (let step = 1; step <= count; step++) if (this.isFault(list[(from + step + count) % count])) { this.focus = (from + step + count) % count; break; }
    } else if (event.key === "Enter" && this.place()) return this.go(this.place());
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.tell();
  }

  tell() {
    const place = this.place();
    this.paint();
    if (!place) return;
    const box = this.canvas.getBoundingClientRect();
    say(this.describe(place));
    this.tip(place, box.left + place.x, box.top + place.y + place.h);
  }

  // What the colours and shapes mean.
  legend(mark) {
    if (this.by === "state")
      return Object.entries(STATES).map(([state, { text }]) => h("li", {}, mark(state), " ", text));
    const steps = this.by === "load" ? LOAD_STEPS : ERROR_STEPS;
    return steps.map((text, step) => h(`li`, {}, h(`span.step.${this.by}${step}`, { "aria-hidden": "true" }, h("i", {})), " ", text));
  }
}
