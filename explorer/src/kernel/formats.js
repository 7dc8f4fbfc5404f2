// Files: games as Gambit's .nfg (both forms) and as JSON. What a file says is data; labels are text and nothing else.

import { makeGame } from "./games.js";

export const MAX_FILE_BYTES = 4_000_000;
const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|([{},])|([^\s{},"]+))/sy;
const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/;
const MAX_DIGITS = 400;

/** The game of a file, by what its name ends in. */
export function readGame(name, text) {
  if (/\.nfg$/i.test(name)) return readNfg(text);
  if (/\.json$/i.test(name)) return readJson(text);
  throw new Error(`expected a .nfg, .json or .safetensors file, got ${name}`);
}

export function readJson(text) {
  let table;
  try {
    table = JSON.parse(text);
  } catch {
    throw new Error("a JSON game must be valid JSON");
  }
  if (!Array.isArray(table?.payoffs))
    throw new Error('a JSON game must be an object with "payoffs"');
  checkRectangular(table.payoffs);
  return makeGame({ ...pick(table), payoffs: table.payoffs });
}

function pick({ name, players, actions }) {
  return { name: typeof name === "string" ? name : "", players, actions };
}

/** Every list at one depth has the same length, and the leaves are numbers. */
function checkRectangular(nested) {
  if (!nested.some(Array.isArray)) {
    if (!nested.every((value) => typeof value === "number"))
      throw new Error("payoffs must be numbers");
    return;
  }
  const same = nested.every((part) => Array.isArray(part) && part.length === nested[0].length);
  if (!same) throw new Error("payoffs must be a rectangular table");
  checkRectangular(nested.flat());
}

/** A number as people write it: an integer, a decimal, or a ratio of integers. */
export function parseNumber(text) {
  const ratio = /^\s*([-+]?\d+)\s*\/\s*(\d+)\s*$/.exec(text);
  const plain = String(text).trim();
  let value = NUMBER.test(plain) ? Number(plain) : NaN;
  if (ratio) value = Number(ratio[1]) / Number(ratio[2]);
  if (!Number.isFinite(value) || plain.length > MAX_DIGITS)
    throw new Error(`expected a number, got ${plain || "nothing"}`);
  return value;
}

/** Gambit's format; the first player's action changes fastest. */
export function readNfg(text) {
  const reader = new Reader(text.replace(/^\uFEFF/, ""));
  reader.expect(["NFG"]);
  reader.expect(["1"]);
  reader.expect(["R", "D"]);
  const name = reader.quoted("the title in quotes");
  const players = reader.list(() => reader.quoted("the name of a player in quotes"));
  const { sizes, actions } = reader.shape(players.length);
  if (reader.peek()?.startsWith('"')) reader.next();
  const rows =
    reader.peek() === "{"
      ? reader.outcomes(players.length, sizes)
      : reader.payoffs(players.length, sizes);
  if (reader.peek() !== null) reader.fail("the end of the file");
  return makeGame({ name, players, actions, sizes, payoffs: reordered(rows, sizes) });
}

/** From rows of joint actions, the first player fastest, to a flat table per player, the first player slowest. */
function reordered(rows, sizes) {
  const order = [];
  const walk = (n, index, stride) => {
    if (n === sizes.length) return order.push(index);
    for (let a = 0; a < sizes[n]; a++) walk(n + 1, index + a * stride, stride * sizes[n]);
  };
  walk(0, 0, 1);
  return sizes.map((_, n) => order.map((index) => rows[index][n]));
}

class Reader {
  constructor(text) {
    this.text = text;
    this.position = 0;
  }

  peek() {
    TOKEN.lastIndex = this.position;
    const match = TOKEN.exec(this.text);
    if (!match && this.text.slice(this.position).trim()) this.fail("a text that ends in a quote");
    return match ? (match[1] ?? match[2] ?? match[3]) : null;
  }

  next() {
    const token = this.peek();
    this.position = token === null ? this.text.length : TOKEN.lastIndex;
    return token;
  }

  expect(words) {
    if (!words.includes(this.peek())) this.fail(words.join(" or "));
    return this.next();
  }

  quoted(what) {
    if (!this.peek()?.startsWith('"')) this.fail(what);
    return this.next()
      .slice(1, -1)
      .replace(/\\(["\\])/g, "$1");
  }

  list(item) {
    this.expect(["{"]);
    const items = [];
    while (this.peek() !== "}") items.push(item());
    this.next();
    return items;
  }

  shape(players) {
    this.expect(["{"]);
    const named = this.peek() === "{";
    const read = () =>
      named ? this.list(() => this.quoted("the name of an action in quotes")) : this.integer();
    const parts = Array.from({ length: players }, read);
    this.expect(["}"]);
    return {
      sizes: parts.map((part) => (named ? part.length : part)),
      actions: named ? parts : undefined,
    };
  }

  integer() {
    if (!/^\d{1,9}$/.test(this.peek() ?? "")) this.fail("an integer");
    return Number(this.next());
  }

  number() {
    try {
      const value = parseNumber(this.peek() ?? "");
      this.next();
      return value;
    } catch {
      return this.fail("a number");
    }
  }

  payoffs(players, sizes) {
    return Array.from({ length: this.cells(sizes) }, () =>
      Array.from({ length: players }, () => this.number()),
    );
  }

  outcomes(players, sizes) {
    const outcomes = [new Array(players).fill(0), ...this.list(() => this.outcome(players))];
    return Array.from(
      { length: this.cells(sizes) },
      () => outcomes[this.integer()] ?? this.fail("the number of an outcome"),
    );
  }

  outcome(players) {
    this.expect(["{"]);
    this.quoted("the name of an outcome in quotes");
    const paid = Array.from({ length: players }, () => {
      if (this.peek() === ",") this.next();
      return this.number();
    });
    this.expect(["}"]);
    return paid;
  }

  cells(sizes) {
    const count = sizes.reduce((product, d) => product * d, 1);
    return count <= 1000 ? count : this.fail("a game that fits the page", `${count} joint actions`);
  }

  fail(expected, got) {
    const before = this.text.slice(0, this.position).split("\n");
    const shown = this.text.slice(this.position).trim().slice(0, 20) || "the end";
    throw new Error(`expected ${expected} at line ${before.length}, got ${got ?? shown}`);
  }
}
