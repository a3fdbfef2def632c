// map: the fabric on a canvas. A drawing of tiers where there are up to DRAWN leaves, else a matrix of each block: rows are its
// lower switches, columns its upper ones, a cell is the trunk between them. Loads of more than LINES trunks are a matrix too. What is whole
// is drawn pale and by the block, what is not by its own colour and shape, so a fabric of 16,384 HCAs costs what its faults cost.
import { h, say } from "./dom.js";
import { RAMPS, STATES, fittedBounds, number, plural, stepOf, stepText, trunkText } from "./model.js";

const DRAWN = 64, GAP = 22, TITLE = 18, SIDE = 6, NAMED = 58, LEAST = 7, DENSE = 256, BARS = 8, LINES = 128, LARGEST = 24;
const ROW_NAMES = 124, COLUMN_NAMES = 62, LEAST_NAMED = 10, WIDEST = 44;  // of a block that stands alone

let marked = false;  // when the first map was drawn, for those who measure

function palette() {
  const style = getComputedStyle(document.documentElement), css = name => style.getPropertyValue(name).trim();
  const names = ["ok", "pale", "behind", "cordoned", "aside", "unhealthy", "part", "dead", "ink", "soft", "line", "card", "back", "note"];
  const out = Object.fromEntries(names.map(name => [name, css("--" + name)]));
  out.load = [0, 1, 2, 3, 4, 5, 6].map(step => css("--load" + step));
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
function drawStep(g, share, color, x, y, size) {
  const s = Math.max(1, size * share);
  g.fillStyle = color;
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
    items.push({ block, x, y: y + TITLE, cell, across: cell, w: block.upper.length * cell, h: block.lower.length * cell });
    x += w + GAP;
    high = Math.max(high, block.lower.length * cell + TITLE);
  }
  return { items, titles, height: y + high + 4 };
}

// The cells are as large as lets all of it be seen at once, as far as it can. A block that stands alone has the names of its switches.
function layMatrix(blocks, width) {
  const widest = Math.max(...blocks.map(block => block.upper.length)), most = Math.max(360, innerHeight * 0.62), largest = blocks.length > 1 ? 14 : LARGEST;
  const lay = named => {
    const wide = width - (named ? ROW_NAMES : 0);
    let cell = Math.max(2, Math.min(largest, Math.floor((wide - 2 * SIDE) / widest))), plan = placeBlocks(blocks, wide, cell);
    while (cell > 3 && plan.height > most - (named ? COLUMN_NAMES - TITLE : 0)) plan = placeBlocks(blocks, wide, --cell);
    if (!named) return plan;
    const [item] = plan.items, across = Math.max(cell, Math.min(WIDEST, Math.floor((wide - 2 * SIDE) / widest)));
    Object.assign(item, { x: item.x + ROW_NAMES, y: item.y + COLUMN_NAMES - TITLE, w: across * widest, across, named: true });
    return cell < LEAST_NAMED ? lay(false) : { ...plan, height: plan.height + COLUMN_NAMES - TITLE };
  };
  return lay(blocks.length === 1);
}

// Tiers as rows, the highest on top; of a block, or of all switches.
function layTiers(switches, members, width) {
  const levels = new Map();
  for (const i of members) {
    const level = switches[i].level;
    if (!levels.has(level)) levels.set(level, []);
    levels.get(level).push(i);
  }
  const order = [...levels.keys()].sort((a, b) => b - a), nodes = new Map(), labels = [], rows = order.length;
  const apart = Math.max(rows > 2 ? 120 : 160, Math.min(280, Math.floor((innerHeight - 390) / Math.max(1, rows - 1))));
  let y = 44;
  for (const level of order) {
    const row = levels.get(level), step = width / row.length, size = Math.max(4, Math.min(20, step * 0.62));
    row.forEach((i, n) => nodes.set(i, { x: (n + 0.5) * step, y, size, step }));
    labels.push({ y: level === order[order.length - 1] ? y + (step > NAMED ? 46 : 32) : y - 32, text: `${row.length} ${plural(switches[row[0]].role, row.length)}` });
    y += apart;
  }
  const step = width / levels.get(order[rows - 1]).length;
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
    this.observer = new ResizeObserver(() => { if (Math.floor(this.element.clientWidth) !== this.width) this.redraw(); });
    this.observer.observe(this.element);
  }

  set(map) { this.map = map; this.redraw(); }

  // by: "state" or one of RAMPS; fit: its steps from the least to the most that there is.
  show(by, block, fit) { Object.assign(this, { by: RAMPS[by] ? by : "state", block, fit }); this.redraw(); }

  // Where all stands, and then the picture of it.
  redraw() {
    const width = Math.floor(this.element.clientWidth);
    if (!this.map || width < 40) return;
    const { map } = this, block = map.blocks[this.block];
    this.colors = palette();
    this.trunks = block ? block.trunks : map.trunks;
    this.ramp = RAMPS[this.by];
    this.bounds = this.ramp && (this.fit ? fittedBounds(this.ramp, this.trunks) : this.ramp.bounds);
    const tiers = this.trunks.every(trunk => map.switches[trunk.lower].level !== map.switches[trunk.upper].level);
    this.drawn = tiers && (block ? block.lower.length : map.leaves) <= DRAWN && !(this.ramp && this.trunks.length > LINES);
    const members = block ? [...block.lower, ...block.upper] : map.switches.map(sw => sw.index).filter(i => map.switches[i].links || map.switches[i].links_down);
    const plan = this.drawn ? layTiers(map.switches, members, width) : layMatrix(block ? [block] : map.blocks, width);
    Object.assign(this, { items: null, titles: null, nodes: null, labels: null }, plan);
    this.width = width;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = plan.height * ratio;
    this.canvas.style.width = width + "px";
    this.canvas.style.height = plan.height + "px";
    this.painted = this.still = this.places = this.pointed = null;
    this.paint();
  }

  // The picture is drawn once; for rings it is kept beside, without them.
  paint() {
    if (!this.map || !this.width) return;
    const g = this.canvas.getContext("2d"), ratio = devicePixelRatio || 1, rings = [this.place(), this.pointed].filter(Boolean);
    g.setTransform(1, 0, 0, 1, 0, 0);
    if (!this.painted) {
      g.clearRect(0, 0, this.canvas.width, this.canvas.height);
      g.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.drawn ? this.paintTiers(g) : this.paintMatrix(g);
      this.painted = true;
      if (!marked) performance.mark("drawn");
      marked = true;
    } else if (this.still) {
      g.clearRect(0, 0, this.canvas.width, this.canvas.height);
      g.drawImage(this.still, 0, 0);
    }
    if (!rings.length) return;
    if (!this.still) {
      this.still = document.createElement("canvas");
      this.still.width = this.canvas.width;
      this.still.height = this.canvas.height;
      this.still.getContext("2d").drawImage(this.canvas, 0, 0);
    }
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (const place of rings) this.ring(g, place);
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
    const { block, x, y, cell, across } = item, { switches } = this.map, { colors } = this;
    const row = new Map(block.lower.map((i, n) => [i, n])), column = new Map(block.upper.map((i, n) => [i, n])), size = cell > 4 ? cell - 1 : cell, wide = across > 4 ? across - 1 : across;
    if (this.ramp) { g.fillStyle = colors.back; g.fillRect(x, y, item.w, item.h); }
    g.font = "11px system-ui, sans-serif";
    g.fillStyle = colors.soft;
    if (!item.named) g.fillText(item.w < 260 ? item.w < 120 ? block.title.replace(/[:(].*/, "") : block.title.replace(/:.*/, "") : block.title, x, y - 5);
    const place = trunk => [x + column.get(trunk.upper) * across, y + row.get(trunk.lower) * cell];
    const full = !this.ramp && block.trunks.length === block.lower.length * block.upper.length;
    g.fillStyle = colors.pale;
    if (full) { // one square, and the gaps between its cells
      g.fillRect(x, y, item.w, item.h);
      if (size < cell) for (let n = 0; n < block.lower.length; n++) g.clearRect(x, y + n * cell + size, item.w, cell - size);
      if (wide < across) for (let n = 0; n < block.upper.length; n++) g.clearRect(x + n * across + wide, y, across - wide, item.h);
    }
    for (const trunk of block.trunks) {
      if (this.ramp) this.paintLoad(g, trunk, ...place(trunk), wide, size);
      else if (full && trunk.state === "behind") g.clearRect(...place(trunk), wide, size);
      else if (!full && trunk.state !== "behind") g.fillRect(...place(trunk), wide, size);
    }
    if (!this.ramp)
      for (const trunk of block.trunks)
        if (trunk.state !== "ok" && trunk.state !== "behind") this.paintFault(g, trunk, place(trunk)[0] + (wide - size) / 2, place(trunk)[1], size);
    if (item.named) this.paintNames(g, item);
    // A dead switch is one bar through its row or column, and what is behind it is empty.
    const bar = Math.max(2, Math.round(size * 0.4)), off = (size - bar) / 2;
    block.lower.forEach((i, n) => {
      if (switches[i].state === "dead") this.fill(g, "dead", x - SIDE, y + n * cell + off, item.w + SIDE - (across - wide), bar);
      else if (switches[i].hcas_down) this.fill(g, "part", x - SIDE, y + n * cell - 1, SIDE - 1, Math.max(size, 4));
    });
    block.upper.forEach((i, n) => { if (switches[i].state === "dead") this.fill(g, "dead", x + n * across + (wide - bar) / 2, y - 4, bar, item.h + 4 - (cell - size)); });
  }

  paintNames(g, { block, x, y, cell, across }) {
    const { switches } = this.map, short = name => name.length > 19 ? "…" + name.slice(-18) : name;
    g.font = `${Math.min(11, cell)}px system-ui, sans-serif`;
    g.fillStyle = this.colors.ink;
    g.textAlign = "right";
    block.lower.forEach((i, n) => g.fillText(short(switches[i].name), x - SIDE - 4, y + n * cell + cell / 2 + 3.5));
    g.textAlign = "left";
    block.upper.forEach((i, n) => {
      g.save();
      g.translate(x + n * across + across / 2 + 4, y - 8);
      g.rotate(-Math.PI / 2);
      g.fillText(short(switches[i].name).slice(-12), 0, 0);
      g.restore();
    });
  }

  fill(g, state, ...box) {
    g.fillStyle = this.colors[state];
    g.fillRect(...box);
  }

  // Both directions as two bars in a cell, upwards on the left, where there is room for them.
  paintLoad(g, trunk, x, y, wide, size) {
    if (this.by !== "load" || size < BARS - 1) return drawStep(g, (this.stepOf(trunk) + 1) / (this.bounds.length + 1), this.color(trunk), x + (wide - size) / 2, y, size);
    const half = Math.floor((wide - 1) / 2);
    [trunk.loadUp, trunk.loadDown].forEach((load, i) => {
      const tall = Math.max(1, Math.round(size * Math.min(100, load) / 100));
      g.fillStyle = this.colors.load[stepOf(this.bounds, load)];
      g.fillRect(x + i * (half + 1), y + size - tall, half, tall);
    });
  }

  // Never smaller than one can see.
  paintFault(g, trunk, x, y, size) {
    const s = Math.max(size, LEAST), out = (s - size) / 2;
    drawState(g, trunk.state, x - out, y - out, s, this.colors);
  }

  // ---- Tiers

  paintTiers(g) {
    const { switches } = this.map, { colors, nodes } = this;
    const rank = trunk => this.ramp ? this.stepOf(trunk) : STATES[trunk.state].rank;
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
    const a = this.nodes.get(trunk.lower), b = this.nodes.get(trunk.upper), { colors, ramp } = this;
    if (!a || !b) return;
    const from = { x: a.x, y: a.y - a.size / 2 }, to = { x: b.x, y: b.y + b.size / 2 }, middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
    if (ramp && this.by === "load") { // each end's half shows what that end sends
      this.line(g, from, middle, trunk.loadUp);
      this.line(g, middle, to, trunk.loadDown);
      return;
    }
    if (ramp) return this.line(g, from, to, ramp.of(trunk));
    const { state } = trunk, bad = state !== "ok" && state !== "behind";
    g.strokeStyle = state === "ok" ? colors.pale : colors[state];
    g.lineWidth = bad ? 2.2 : 1;
    if (!bad && this.trunks.length > DENSE) g.globalAlpha = 0.45;
    g.setLineDash(state === "ok" ? [] : state === "behind" ? [1.5, 4] : state === "dead" ? [2, 5] : state === "part" ? [9, 4] : [5, 2]);
    g.beginPath();
    g.moveTo(from.x, from.y);
    g.lineTo(to.x, to.y);
    g.stroke();
    g.setLineDash([]);
    g.globalAlpha = 1;
    if (bad) {
      const near = 0.22;
      drawState(g, state, a.x + (b.x - a.x) * near - 5, a.y + (b.y - a.y) * near - 5, 10, colors);
    }
  }

  line(g, from, to, value) {
    const step = stepOf(this.bounds, value), share = step / this.bounds.length;
    g.strokeStyle = this.colors[this.ramp.colours][step];
    g.lineWidth = 0.8 + share * 3.2;
    g.beginPath();
    g.moveTo(from.x, from.y);
    g.lineTo(to.x, to.y);
    g.stroke();
  }

  paintNode(g, sw, node) {
    const { colors } = this, { x, y, size, step } = node, half = size / 2;
    g.fillStyle = colors.card;
    g.fillRect(x - half - 2, y - half - 2, size + 4, size + 4);
    drawState(g, sw.state, x - half, y - half, size, colors);
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
    const dead = sw.state === "dead"; // the switch is what is red then
    g.fillStyle = dead ? this.colors.line : this.colors.part;
    if (sw.hcas_down) g.fillRect(x - w / 2 + up, y - (dead ? 0 : 2), Math.max(2, w - up), dead ? 5 : 9);
  }

  stepOf(trunk) { return stepOf(this.bounds, this.ramp.of(trunk)); }
  color(trunk) { return this.colors[this.ramp.colours][this.stepOf(trunk)]; }

  // ---- Pointing, clicking, keys

  at(x, y) {
    if (this.drawn) return this.nearest(x, y);
    for (const item of this.items) {
      const c = Math.floor((x - item.x) / item.across), r = Math.floor((y - item.y) / item.cell);
      if (r >= 0 && r < item.block.lower.length && c >= -1 && c < item.block.upper.length && x > item.x - SIDE) return this.cellPlace(item, r, c);
      if (x >= item.x && x < item.x + Math.max(item.w, 46) && y < item.y && y > item.y - TITLE) return this.titlePlace(item);
    }
    return null;
  }

  // Trunks by their cells, once somebody points at one.
  cells(item) {
    if (item.cells) return item.cells;
    const { block } = item, row = new Map(block.lower.map((i, n) => [i, n])), column = new Map(block.upper.map((i, n) => [i, n]));
    return item.cells = new Map(block.trunks.map(trunk => [row.get(trunk.lower) * block.upper.length + column.get(trunk.upper), trunk]));
  }

  titlePlace(item) { return { item, x: item.x, y: item.y - TITLE + 3, w: Math.max(item.w, 46), h: 13, block: item.block }; }

  cellPlace(item, r, c) {
    const { block, cell, across } = item, place = { item, r, c, x: item.x + c * across, y: item.y + r * cell, w: across, h: cell };
    if (c < 0) return { ...place, x: item.x - SIDE, w: SIDE, sw: this.map.switches[block.lower[r]] };
    return { ...place, trunk: this.cells(item).get(r * block.upper.length + c), lower: block.lower[r], upper: block.upper[c] };
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
      for (const [key, trunk] of this.cells(item))
        if (this.ramp ? this.stepOf(trunk) > 1 : this.isFault({ trunk }))
          this.places.push(this.cellPlace(item, Math.floor(key / block.upper.length), key % block.upper.length));
    }
    return this.places;
  }

  place() { return this.focus < 0 ? null : this.list()[this.focus]; }

  isFault(place) {
    return place.sw ? place.sw.state !== "ok" || place.sw.hcas_down > 0 : Boolean(place.trunk && place.trunk.state !== "ok" && place.trunk.state !== "behind");
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

  // Rings what a row of the list is about, as long as it is pointed at; null ends it.
  pointAt(what) {
    this.pointed = what && this.map ? this.find(what) : null;
    this.paint();
  }

  find({ sw, trunk }) {
    if (this.drawn) return this.nodes.has(sw?.index ?? trunk.lower) ? this.nodePlace(sw?.index ?? trunk.lower) : null;
    for (const item of this.items ?? []) {
      const r = item.block.lower.indexOf(trunk ? trunk.lower : sw.index), c = item.block.upper.indexOf(trunk ? trunk.upper : sw.index);
      if (trunk && r >= 0 && c >= 0) return this.cellPlace(item, r, c);
      if (sw && r >= 0) return { x: item.x - SIDE, y: item.y + r * item.cell, w: item.w + SIDE, h: item.cell };
      if (sw && c >= 0) return { x: item.x + c * item.across, y: item.y - 4, w: item.across, h: item.h + 4 };
    }
    return null;
  }

  // What the colours and shapes mean, and how many trunks have them: the states that there are, or a scale.
  legend(mark) {
    const counts = [], count = at => { counts[at] = (counts[at] ?? 0) + 1; };
    if (!this.ramp) {
      const states = {};
      for (const { state } of this.trunks ?? []) states[state] = (states[state] ?? 0) + 1;
      for (const sw of this.map?.switches ?? []) if (sw.state !== "ok") states[sw.state] ??= 0;
      return Object.entries(STATES).filter(([state]) => state === "ok" || state in states).map(([state, { text }]) => h("li", {}, mark(state), ` ${text}`, states[state] ? h("b", {}, ` ${number(states[state])}`) : null));
    }
    for (const trunk of this.trunks ?? []) count(this.stepOf(trunk));
    return [...(this.bounds ?? this.ramp.bounds), null].map((_, step) => h("li.scale", {}, h(`i.step.${this.ramp.colours}${step}`, { "aria-hidden": "true" }), h("span", {}, stepText(this.bounds, step, this.ramp.unit)), h("b", {}, counts[step] ? number(counts[step]) : "")));
  }
}
