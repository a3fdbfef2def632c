// api: what the page asks of fmd. Documents by fetch, with the token and the tag of what is had; events by a stream.
const DOCUMENTS = "/api/v1/", SILENT_MS = 6000, AGAIN_MS = [250, 500, 1000, 2000, 4000];

export class Refused extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

let token = sessionStorage.getItem("token"), asking = null;
const had = new Map();  // by address: {tag, value}; only those that are asked for again and again

// One question at a time, whoever needs the token; the answer is for all of them.
function askToken() {
  asking ??= Promise.resolve().then(() => {
    token = prompt("fmd asks for its token (the first line of http_token_file):") || null;
    token ? sessionStorage.setItem("token", token) : sessionStorage.removeItem("token");
    asking = null;
  });
  return asking;
}

function forget() {
  token = null;
  sessionStorage.removeItem("token");
}

async function ask(address, headers, signal) {
  for (let tries = 0; ; tries++) {
    const used = token;
    const answer = await fetch(address, { headers: used ? { ...headers, Authorization: "Bearer " + used } : headers, signal, cache: "no-store" });
    if (answer.status !== 401 || tries === 2) return answer;
    if (used && used === token) forget();
    if (!token) await askToken();
    if (!token) return answer;
  }
}

export function address(name, query = {}) {
  const words = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  return DOCUMENTS + name + (words.length ? "?" + new URLSearchParams(words) : "");
}

async function refusal(answer) {
  let text = `status ${answer.status}`;
  try { text = (await answer.json()).error ?? text; } catch { /* no document */ }
  return new Refused(answer.status, text);
}

// The document; `keep`: it is asked for often, and comes only when it has changed (then another object).
export async function get(name, query, { keep = false, signal } = {}) {
  const where = address(name, query), known = keep ? had.get(where) : undefined;
  const answer = await ask(where, known ? { "If-None-Match": known.tag } : {}, signal);
  if (answer.status === 304 && known) return known.value;
  if (!answer.ok) throw await refusal(answer);
  const value = await answer.json(), tag = answer.headers.get("ETag");
  if (keep && tag) had.set(where, { tag, value });
  return value;
}

// Text of server-sent events to frames {event, id, data}; what is not whole yet is kept for the next piece.
export function frames() {
  let rest = "";
  return piece => {
    const parts = (rest + piece).split("\n\n");
    rest = parts.pop();
    return parts.map(part => {
      const frame = { event: "message", data: "" };
      for (const line of part.split("\n")) {
        const at = line.indexOf(": ");
        if (at > 0) frame[line.slice(0, at)] = line.slice(at + 2);
      }
      return frame;
    }).filter(frame => frame.data);
  };
}

// Follows the fabric for ever. on.frame(event, data), on.alive(), on.lost(reason); `last`: the newest event that is had.
export class Stream {
  constructor(on) {
    this.on = on;
    this.last = null;
    this.failed = 0;
    this.heard = 0;  // when, by performance.now()
    this.stop = null;
    setInterval(() => this.watch(), 1000);
  }

  start(last) {
    this.last = last ?? this.last;
    this.stop?.abort();
    this.run(this.stop = new AbortController());
  }

  // A connection that says nothing is dead, whatever the system thinks of it.
  watch() {
    if (this.stop && this.heard && performance.now() - this.heard > SILENT_MS && !this.waiting) this.stop.abort(new Error("silence"));
  }

  async run(stop) {
    let why = "the connection ended";
    try {
      await this.read(stop);
    } catch (error) {
      why = error.message || String(error);
    }
    if (stop !== this.stop) return;
    this.on.lost(why);
    this.waiting = setTimeout(() => { this.waiting = null; this.start(); }, AGAIN_MS[Math.min(this.failed++, AGAIN_MS.length - 1)]);
  }

  async read(stop) {
    this.heard = performance.now();
    const answer = await ask(address("stream"), this.last === null ? {} : { "Last-Event-ID": this.last }, stop.signal);
    if (!answer.ok) throw await refusal(answer);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader(), cut = frames();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      this.heard = performance.now();
      this.failed = 0;
      this.on.alive();
      for (const frame of cut(value)) {
        if (frame.id !== undefined) this.last = frame.id;
        this.on.frame(frame.event, JSON.parse(frame.data));
      }
    }
  }
}
