// Changes of games and seats that a click asks for.

import { parseSeat } from "../kernel/seats.js";
import { stationaryStep } from "../kernel/steps.js";
import { builtInLayer } from "./state.js";

/** A seat that fits a number of actions: trained layers are for their own, and a hand starts again. */
export function fitting(seat, actions) {
  if (seat.kind === "hand") return { kind: "hand", actions: [] };
  return seat.layer && seat.layer.heads[0].bias.length !== actions
    ? { kind: "hedge", value: 0.25 }
    : seat;
}

export function asGiven({ name, players, actions, payoffs, sizes }) {
  return { name, players, actions, sizes, payoffs: payoffs.map((table) => Array.from(table)) };
}

/** A third player with two actions, paid nothing, whose choice changes nothing until it is edited. */
export function withThird({ players, actions, payoffs, sizes }) {
  const twice = payoffs.map((table) => table.flatMap((u) => [u, u]));
  return {
    name: "",
    players: [...players, "player 3"],
    actions: [...actions, ["left", "right"]],
    sizes: [...sizes, 2],
    payoffs: [...twice, twice[0].map(() => 0)],
  };
}

/** The game that is left when the third player always plays its first action. */
export function withoutThird({ players, actions, payoffs, sizes }) {
  const tables = payoffs.slice(0, 2).map((table) => table.filter((_, a) => a % sizes[2] === 0));
  return {
    name: "",
    players: players.slice(0, 2),
    actions: actions.slice(0, 2),
    sizes: sizes.slice(0, 2),
    payoffs: tables,
  };
}

export function tourSeat(text, actions, horizon) {
  if (text === "layer")
    return { kind: "linear_attention", layer: builtInLayer("linear_attention") };
  if (text === "star")
    return { kind: "hedge", value: Number(stationaryStep(actions, horizon).toPrecision(10)) };
  return parseSeat(text);
}
