// What can sit in a seat: every learner by its name, its one parameter, its bound, and its spec as text.
//
// A seat is {kind, value, base, layer}: `hedge(0.45)` is {kind: "hedge", value: 0.45}. `layer` is a trained layer.

import { linearAttention, swapAttention } from "./attention.js";
import {
  blumMansour,
  fictitiousPlay,
  hedge,
  optimal,
  optimisticHedge,
  recorded,
  regretMatching,
  uniformPlay,
} from "./learners.js";
import {
  classicalStep,
  hedgeBound,
  matchingBound,
  optimisticBound,
  stationaryStep,
} from "./steps.js";

const STEP = { name: "step", low: 0.01, high: 10, log: true };

/** name -> {label, about, parameter, make, bound, regret, marks}. */
export const KINDS = {
  hedge: {
    label: "Hedge",
    about: "smoothed fictitious play: softmax of minus the step times past losses",
    parameter: STEP,
    make: (seat) => hedge(seat.value),
    bound: (seat, d, T, w, start) => hedgeBound(seat.value, d, T, w, start),
    marks: (d, T, w) => ({ star: stationaryStep(d, T), classical: classicalStep(d, T, w) }),
  },
  optimistic_hedge: {
    label: "Optimistic Hedge",
    about: "Hedge that counts the last loss twice, as a forecast of the next",
    parameter: STEP,
    make: (seat) => optimisticHedge(seat.value),
    bound: (seat, d, T, w, start) => optimisticBound(seat.value, d, T, w, start),
    marks: (d, T, w) => ({ star: stationaryStep(d, T), classical: classicalStep(d, T, w) / 2 }),
  },
  regret_matching: {
    label: "Regret matching",
    about: "play in proportion to positive regret",
    make: () => regretMatching(),
    bound: (seat, d, T, w) => matchingBound(d, T, w),
  },
  regret_matching_plus: {
    label: "Regret matching+",
    about: "regret matching that forgets negative regret",
    make: () => regretMatching(true),
    bound: (seat, d, T, w) => matchingBound(d, T, w),
  },
  fictitious_play: {
    label: "Fictitious play",
    about: "the best action so far, ties shared",
    make: () => fictitiousPlay(),
  },
  blum_mansour: {
    label: "Blum-Mansour",
    about: "a copy of Hedge per action, and their fixed point: no swap regret",
    parameter: STEP,
    regret: "swap",
    make: (seat) => blumMansour(hedge(seat.value)),
    // sum_i pi_i^2 <= 1, so the copies share the squared widths
    bound: (seat, d, T, w, start) => d * hedgeBound(seat.value, d, T, w / Math.sqrt(d), start),
    marks: (d, T, w) => ({
      star: d * (stationaryStep(d, T) ?? NaN),
      classical: Math.sqrt(d) * classicalStep(d, T, w),
    }),
  },
  optimal: {
    label: "Best possible policy",
    about: "no policy has less squared regret against Gaussian losses over this horizon",
    parameter: { name: "horizon", low: 1, high: 10000, log: true, integer: true },
    make: (seat) => optimal(seat.value),
  },
  uniform: {
    label: "Uniform",
    about: "every action alike, whatever happens",
    make: () => uniformPlay(),
  },
  hand: {
    label: "You",
    about: "you choose an action each round",
    isSpec: false,
    make: (seat) => recorded(seat.actions),
  },
  linear_attention: {
    isSpec: false,
    label: "Trained linear layer",
    about: "one layer of linear attention, trained on regret",
    trained: true,
    make: (seat) => linearAttention(seat.layer.heads[0]),
  },
  swap_attention: {
    isSpec: false,
    label: "Trained swap layer",
    about: "linear-attention heads with a fixed point, trained on swap regret",
    trained: true,
    regret: "swap",
    make: (seat) => swapAttention(seat.layer.heads, seat.layer.calibrated),
  },
};

export const learnerOf = (seat) => KINDS[seat.kind].make(seat);

/** The bound on the regret that the seat's learner is made for, or null. */
export function boundOf(seat, actions, rounds, width, start) {
  const { bound } = KINDS[seat.kind];
  return bound ? bound(seat, actions, rounds, width, start) : null;
}

export const regretOf = (seat) => KINDS[seat.kind].regret ?? "external";

/** The spec that the command line and `rx.play` read. */
export function specOf(seat) {
  if (seat.layer) {
    const scaled = seat.layer.calibrated ? ", calibrated=true" : "";
    return `checkpoint(${JSON.stringify(seat.layer.name)}${scaled})`;
  }
  if (seat.kind === "blum_mansour") return `blum_mansour(hedge(${decimal(seat.value)}))`;
  const { parameter } = KINDS[seat.kind];
  if (!parameter) return `${seat.kind}()`;
  return `${seat.kind}(${parameter.integer ? seat.value : decimal(seat.value)})`;
}

/** A number that reads back as the same double, always with a point: a step of 1 is `1.0`. */
export function decimal(value) {
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

/** The seat that a spec names; learners with other arguments are refused. */
export function parseSeat(text) {
  const match = /^\s*(\w+)\s*(?:\(\s*(?:(hedge)\s*\(\s*)?([-+.\deE]*)\s*\)?\s*\))?\s*$/.exec(text);
  const kind = (match && { follow_the_leader: "fictitious_play" }[match[1]]) || match?.[1];
  const known = Object.hasOwn(KINDS, kind ?? "") && KINDS[kind].isSpec !== false;
  if (!known || Boolean(match[2]) !== (kind === "blum_mansour"))
    throw new Error(`no learner here is ${text}`);
  const { parameter } = KINDS[kind];
  if (!parameter) return { kind };
  const value = Number(match[3]);
  if (!(value > 0 && Number.isFinite(value)) || match[3] === "") {
    throw new Error(`${parameter.name} must be above 0, got ${match[3] || "nothing"}`);
  }
  return { kind, value };
}
