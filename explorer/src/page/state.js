// The state of the page, all of it, and the link that restores it.

import { makeGame } from "../kernel/games.js";
import { KINDS, parseSeat, specOf } from "../kernel/seats.js";
import { LINEAR, SWAP } from "../data/trained.js";
import { startsFor } from "./starts.js";

export const PACES = { slow: 24_000, normal: 6000, fast: 1500 }; // milliseconds of a play
export const MAX_ROUNDS = 100_000;
const HORIZON = 200;
const JOINTS = ["play", "ce", "cce", "ce-minimum", "cce-minimum"];
const SCENE_COUNT = 8;
const STEP_COUNT = 5;

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

/** The state that belongs to a game; what belongs to the page is taken from `page`, the state before. */
export function freshState(given, page = {}) {
  const game = makeGame(given);
  return {
    game,
    seats: game.sizes.map(() => ({ kind: "hedge", value: 0.25 })),
    versus: null, // the learners of a second play
    starts: startsFor(game),
    rounds: 0,
    scene: 0, // none
    player: 0, // whose regret is shown
    plane: [0, 1],
    joint: "play",
    horizon: page.horizon ?? HORIZON,
    seed: page.seed ?? 1,
    drawn: page.drawn ?? false,
    pace: page.pace ?? "normal",
    isAverage: page.isAverage ?? false, // losses per round
    isHall: page.isHall ?? false,
    losses: page.losses ?? null, // painted, by round
    tour: page.tour ?? 1,
    training: page.training ?? 0,
    k: page.k ?? null,
  };
}

/** The part of the link after the #: names and numbers as text. */
export function encode(state, zoo) {
  const fields = new URLSearchParams();
  const put = (name, value, usual) => value !== usual && fields.set(name, value);
  if (isNamed(state.game, zoo)) fields.set("game", state.game.name);
  else fields.set("table", gameText(state.game));
  fields.set("seats", state.seats.map(seatText).join("|"));
  put("versus", state.versus?.map(seatText).join("|") ?? "", "");
  const starts = state.starts.map((start) => (start ? Array.from(start).join(",") : ""));
  put("start", starts.join("|"), starts.map(() => "").join("|"));
  fields.set("rounds", state.rounds);
  fields.set("horizon", state.horizon);
  if (state.drawn) fields.set("seed", state.seed);
  put("scene", state.scene, 0);
  put("pace", state.pace, "normal");
  put("player", state.player + 1, 1);
  put("view", state.isAverage ? "average" : "total", "total");
  put("plane", state.plane.map((n) => n + 1).join(), "1,2");
  put("joint", state.joint, "play");
  put("losses", state.losses?.map((row) => Array.from(row).join("_")).join("|") ?? "", "");
  put("step", state.tour, 1);
  put("training", state.training, 0);
  put("k", state.k, null);
  put("hall", Number(state.isHall), 0);
  return fields.toString();
}

/** True if the zoo has this game under its name. */
export function isNamed(game, zoo) {
  const known = zoo.find(({ name }) => name === game.name);
  return (
    Boolean(known) &&
    known.sizes.join() === game.sizes.join() &&
    known.payoffs.every((table, n) => table.every((u, a) => u === game.payoffs[n][a]))
  );
}

function gameText({ name, players, actions, sizes, payoffs }) {
  const tables = payoffs.map((table) => Array.from(table));
  return JSON.stringify({ name, players, actions, sizes, payoffs: tables });
}

function seatText(seat) {
  if (seat.kind === "hand") return `hand:${seat.actions.join("")}`;
  if (!seat.layer) return specOf(seat);
  return `${seat.kind}:${seat.layer.builtIn ? "" : packLayer(seat.layer)}`;
}

/** The state that a link holds; throws where it does not make sense. */
export function decode(text, zoo) {
  const fields = new URLSearchParams(text);
  const given = fields.has("table")
    ? JSON.parse(fields.get("table"))
    : zoo.find(({ name }) => name === fields.get("game"));
  if (!given) throw new Error(`no game here is named ${fields.get("game")}`);
  const state = freshState(given);
  const seats = (name) => fields.get(name)?.split("|").map(readSeat);
  const fit = (read) => (read?.length === state.seats.length ? read : null);
  state.seats = fit(seats("seats")) ?? state.seats;
  state.versus = fit(seats("versus"));
  [...state.seats, ...(state.versus ?? [])].forEach(({ actions }, n) => {
    if (actions && (n > 0 || actions.some((a) => !(a < state.game.sizes[0]))))
      throw new Error(`the moves of seat ${n + 1} do not fit this game`);
  });
  state.starts = state.game.sizes.map((d, n) => readStart(fields.get("start")?.split("|")[n], d));
  state.horizon = integer(fields, "horizon", 2, MAX_ROUNDS, HORIZON);
  state.rounds = integer(fields, "rounds", 0, MAX_ROUNDS, 0);
  state.drawn = fields.has("seed");
  state.seed = integer(fields, "seed", 0, 999_999, 1);
  state.scene = integer(fields, "scene", 1, SCENE_COUNT, 0);
  state.player = integer(fields, "player", 1, state.seats.length, 1) - 1;
  state.tour = integer(fields, "step", 1, STEP_COUNT, 1);
  state.training = integer(fields, "training", 0, LINEAR.length - 1, 0);
  state.isHall = fields.get("hall") === "1";
  state.isAverage = fields.get("view") === "average";
  if (Object.hasOwn(PACES, fields.get("pace") ?? "")) state.pace = fields.get("pace");
  if (JOINTS.includes(fields.get("joint"))) state.joint = fields.get("joint");
  const k = Number(fields.get("k"));
  if (k > 0 && k <= 1.2) state.k = k;
  const plane =
    fields
      .get("plane")
      ?.split(",")
      .map((n) => Number(n) - 1) ?? [];
  const isPlane = plane.length === 2 && plane.every((n) => n >= 0 && n < state.seats.length);
  if (isPlane) state.plane = plane;
  state.losses = readLosses(fields.get("losses"));
  return state;
}

function readLosses(text) {
  const rows = text?.split("|").map((row) => row.split("_").map(Number)) ?? [];
  const fits =
    rows.length === 20 && rows.every((row) => row.length === 3 && row.every(Number.isFinite));
  return fits ? rows : null;
}

function integer(fields, name, low, high, otherwise) {
  const value = Number(fields.get(name) ?? otherwise);
  return Number.isInteger(value) && value >= low && value <= high ? value : otherwise;
}

function readSeat(text) {
  const [kind, packed] = text.split(":");
  if (packed === undefined) return parseSeat(text);
  if (kind === "hand") return { kind, actions: Array.from(packed, Number) };
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
