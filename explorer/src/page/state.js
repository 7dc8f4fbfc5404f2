// The state of the page, all of it, and the link that restores it.

import { makeGame } from "../kernel/games.js";
import { KINDS, parseSeat, specOf } from "../kernel/seats.js";
import { LINEAR, SWAP } from "../data/trained.js";

export const SPEEDS = [1 / 12, 0.5, 1, 10, 100]; // rounds per frame
export const MAX_ROUNDS = 100_000;
export const DEFAULTS = { game: "weighted-rps", horizon: 200, speed: 2 };

/** The layers that come with the page: three actions, twenty rounds. */
export function builtInLayer(kind) {
  if (kind === "linear_attention")
    return { kind, name: "", builtIn: true, heads: [LINEAR.at(-1)], calibrated: false };
  const heads = SWAP.values.map((values, j) => ({
    values,
    scores: SWAP.scores[j],
    bias: SWAP.bias[j],
  }));
  return { kind, name: "", builtIn: true, heads, calibrated: true };
}

export function freshState(zoo, game = null) {
  const chosen = game ?? zoo.find((one) => one.name === DEFAULTS.game) ?? zoo[0];
  const made = makeGame(chosen);
  return {
    game: made,
    seats: made.sizes.map(() => ({ kind: "hedge", value: 0.25 })),
    starts: made.sizes.map(() => null),
    rounds: 0,
    horizon: DEFAULTS.horizon,
    seed: 1,
    drawn: false,
    speed: DEFAULTS.speed,
    player: 0,
    plane: [0, 1],
    tour: 1,
  };
}

/** The part of the link after the #: names and numbers as text. */
export function encode(state, zoo) {
  const fields = new URLSearchParams();
  if (isNamed(state.game, zoo)) fields.set("game", state.game.name);
  else encodeGame(fields, state.game);
  fields.set("seats", state.seats.map(seatText).join("|"));
  if (state.starts.some(Boolean))
    fields.set(
      "start",
      state.starts.map((start) => (start ? Array.from(start).join(",") : "")).join("|"),
    );
  fields.set("rounds", state.rounds);
  fields.set("horizon", state.horizon);
  if (state.drawn) fields.set("seed", state.seed);
  if (state.speed !== DEFAULTS.speed) fields.set("speed", state.speed);
  if (state.player) fields.set("player", state.player + 1);
  if (state.plane.join() !== "0,1") fields.set("plane", state.plane.map((n) => n + 1).join());
  fields.set("step", state.tour);
  return fields.toString();
}

/** Whether the game is the one of the zoo that its name says. */
export function isNamed(game, zoo) {
  const known = zoo.find((one) => one.name === game.name);
  return (
    Boolean(known) &&
    known.sizes.join() === game.sizes.join() &&
    known.payoffs.every((table, n) => table.every((u, a) => u === game.payoffs[n][a]))
  );
}

function encodeGame(fields, game) {
  const { name, players, actions, sizes } = game;
  const payoffs = game.payoffs.map((table) => Array.from(table));
  fields.set("table", JSON.stringify({ name, players, actions, sizes, payoffs }));
}

function seatText(seat) {
  if (!seat.layer) return specOf(seat);
  return `${seat.kind}:${seat.layer.builtIn ? "" : packLayer(seat.layer)}`;
}

/** The state that a link holds; throws where it does not make sense. */
export function decode(text, zoo) {
  const fields = new URLSearchParams(text);
  const given = fields.has("table")
    ? JSON.parse(fields.get("table"))
    : zoo.find((one) => one.name === fields.get("game"));
  if (!given) throw new Error(`no game here is named ${fields.get("game")}`);
  const state = freshState(zoo, given);
  const seats = fields.get("seats")?.split("|").map(readSeat);
  if (seats?.length === state.seats.length) state.seats = seats;
  state.starts = state.game.sizes.map((d, n) => readStart(fields.get("start")?.split("|")[n], d));
  state.horizon = integer(fields, "horizon", 2, MAX_ROUNDS, DEFAULTS.horizon);
  state.rounds = integer(fields, "rounds", 0, MAX_ROUNDS, 0);
  state.drawn = fields.has("seed");
  state.seed = integer(fields, "seed", 0, 999_999, 1);
  state.speed = integer(fields, "speed", 0, SPEEDS.length - 1, DEFAULTS.speed);
  state.player = integer(fields, "player", 1, state.seats.length, 1) - 1;
  const plane = fields
    .get("plane")
    ?.split(",")
    .map((n) => Number(n) - 1) ?? [0, 1];
  state.plane =
    plane.length === 2 && plane.every((n) => n >= 0 && n < state.seats.length) ? plane : [0, 1];
  state.tour = integer(fields, "step", 1, 5, 1);
  return state;
}

function integer(fields, name, low, high, otherwise) {
  const value = Number(fields.get(name) ?? otherwise);
  return Number.isInteger(value) && value >= low && value <= high ? value : otherwise;
}

function readSeat(text) {
  const [kind, packed] = text.split(":");
  if (packed === undefined) return parseSeat(text);
  if (!Object.hasOwn(KINDS, kind) || !KINDS[kind].trained)
    throw new Error(`no layer here is ${kind}`);
  return { kind, layer: packed ? unpackLayer(kind, packed) : builtInLayer(kind) };
}

function readStart(text, actions) {
  if (!text) return null;
  const start = text.split(",").map(Number);
  const total = start.reduce((x, y) => x + y, 0);
  const fits = start.length === actions && start.every((p) => p > 0) && Math.abs(total - 1) < 1e-6;
  return fits ? start : null;
}

/** A layer in a link: its numbers as they are, in base64. */
function packLayer({ name, heads, calibrated }) {
  const numbers = Float64Array.from(
    heads.flatMap((head) => [
      ...head.values.flatMap((row) => [...row]),
      ...head.scores,
      ...head.bias,
    ]),
  );
  let bytes = "";
  for (const byte of new Uint8Array(numbers.buffer)) bytes += String.fromCharCode(byte);
  return [calibrated ? 1 : 0, heads[0].bias.length, btoa(bytes), encodeURIComponent(name)].join(
    "~",
  );
}

function unpackLayer(kind, text) {
  const [calibrated, size, packed, name] = text.split("~");
  const d = Number(size);
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const numbers = Array.from(new Float64Array(bytes.buffer));
  const [count, features] = kind === "linear_attention" ? [1, d] : [d, d * d];
  if (numbers.length !== count * (d * features + features + d))
    throw new Error("the layer of this link is damaged");
  const take = (n) => numbers.splice(0, n);
  const heads = Array.from({ length: count }, () => ({
    values: Array.from({ length: d }, () => take(features)),
    scores: take(features),
    bias: take(d),
  }));
  return { kind, name: decodeURIComponent(name), heads, calibrated: calibrated === "1" };
}
