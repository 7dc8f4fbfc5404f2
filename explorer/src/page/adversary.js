// Be the adversary: losses painted by hand, and the regret that learners have on them.

import { linearAttention } from "../kernel/attention.js";
import { hedge, optimal } from "../kernel/learners.js";
import { generator, normal } from "../kernel/random.js";
import { stationaryStep } from "../kernel/steps.js";
import { dot, smallest, softmax, zeros } from "../kernel/vectors.js";
import { worstCase } from "../kernel/worst.js";
import { Chart } from "./chart.js";
import { frame, html, pointIn, say, set, short, svg, tipOn, watchWidth } from "./dom.js";
import { ADVERSARY_SCENE } from "./scenes.js";
import { builtInLayer } from "./state.js";

const ACTIONS = 3;
const ROUNDS = 20;
const NAMES = ["A", "B", "C"];
const STEP = 0.5; // of a key
const LIMIT = 2; // losses lie between -2 and 2
const HIGH = 66; // units of a row
const LEVELS = [-1, 0, 1, 2]; // that painting goes through
const LINES = {
  hedge: { label: "Hedge with step k*", style: "s-n0 beneath" },
  optimal: { label: "best possible policy", style: "s-n1 dashed" },
  layer: { label: "trained layer", style: "s-n2 dotted" },
};

const PRESETS = {
  "Gaussian noise": (next) => () => normal(next),
  "Worst for Hedge": null, // computed
  Alternate: () => (t, j) => [t % 2 ? 1 : -1, t % 2 ? -1 : 1, 0.5][j],
  "A late turn": () => (t, j) => [t < 12 ? -1 : 1.5, 0, 0.8][j],
  Nothing: () => () => 0,
};

export class Adversary {
  /** `painted(losses)` is called for every change by hand. */
  constructor({ grid, presets, body, note }, painted) {
    Object.assign(this, { note, painted, rounds: ROUNDS, shown: ROUNDS });
    this.losses = Array.from({ length: ROUNDS }, () => zeros(ACTIONS));
    this.learners = {
      hedge: hedge(stationaryStep(ACTIONS, ROUNDS)),
      optimal: optimal(ROUNDS),
      layer: linearAttention(builtInLayer("linear_attention").heads[0]),
    };
    this.chart = new Chart(body, {
      lines: LINES,
      label: "Regret of three learners on the painted losses",
      height: 260,
    });
    this.makeGrid(grid);
    presets.append(
      ...Object.keys(PRESETS).map((name) =>
        html("button", { type: "button", onclick: () => this.preset(name) }, name),
      ),
    );
    this.seed = 3;
  }

  /** The losses of a state: painted ones, or those of a preset. */
  load({ losses, scene }) {
    if (losses) this.losses = losses.map((row) => Float64Array.from(row, clip));
    else if (scene === ADVERSARY_SCENE) this.setWorst();
    else this.fill("Gaussian noise", 3);
    this.refresh();
  }

  preset(name) {
    if (PRESETS[name]) this.fill(name, this.seed++);
    else this.setWorst();
    this.changed();
  }

  fill(name, seed) {
    const loss = PRESETS[name](generator(seed));
    this.losses.forEach((row, t) => row.forEach((_, j) => (row[j] = clip(loss(t, j)))));
  }

  changed() {
    this.shown = ROUNDS;
    this.refresh();
    this.painted(this.losses.map((row) => Array.from(row)));
  }

  /** Show the first rounds only. */
  reveal(rounds) {
    if (rounds === this.shown) return;
    this.shown = Math.min(rounds, ROUNDS);
    this.refresh();
  }

  /** The losses of 0 or 1 that force the largest regret on Hedge. */
  setWorst() {
    const step = stationaryStep(ACTIONS, ROUNDS);
    this.worst ??= worstCase((sums) => softmax(sums.map((sum) => -step * sum)), ACTIONS, ROUNDS);
    this.losses = this.worst.losses.map((row) => Float64Array.from(row));
  }

  makeGrid(body) {
    this.cells = [];
    this.picture = svg("svg", {
      class: "paint",
      role: "grid",
      "aria-label": "Losses by action and round",
    });
    const rows = NAMES.map((name, j) =>
      svg("g", { role: "row" }, ...Array.from({ length: ROUNDS }, (_, t) => this.makeCell(t, j))),
    );
    this.labels = NAMES.map((name) => svg("text", { class: "strong end" }, name));
    this.ticks = [1, 5, 10, 15, 20].map((t) => svg("text", { class: "middle" }, String(t)));
    this.picture.append(...this.labels, ...this.ticks, ...rows);
    body.append(this.picture);
    this.picture.addEventListener("pointerdown", (event) => this.begin(event));
    this.picture.addEventListener(
      "pointermove",
      (event) => this.brush !== null && this.paint(event),
    );
    for (const end of ["pointerup", "pointercancel"])
      this.picture.addEventListener(end, () => (this.brush = null));
    this.brush = null;
    tipOn(this.picture, (point) => this.textAt(point));
    watchWidth(body, (width) => this.layOut(width));
  }

  makeCell(t, j) {
    const cell = svg("rect", { role: "gridcell", class: "f-n1", rx: 3, tabindex: t + j ? -1 : 0 });
    cell.addEventListener("keydown", (event) => this.key(event, t, j));
    this.cells[t * ACTIONS + j] = cell;
    return cell;
  }

  layOut(width) {
    const left = 22;
    this.size = { left, wide: (width - left) / ROUNDS, high: HIGH };
    const height = ACTIONS * HIGH + 22;
    frame(this.picture, width, height);
    this.labels.forEach((label, j) => set(label, { x: left - 7, y: (j + 0.5) * HIGH + 4 }));
    this.ticks.forEach((tick) =>
      set(tick, { x: left + (Number(tick.textContent) - 0.5) * this.size.wide, y: height - 5 }),
    );
    this.cells.forEach((cell, i) => {
      const [t, j] = [Math.floor(i / ACTIONS), i % ACTIONS];
      set(cell, { x: left + t * this.size.wide, y: j * HIGH, width: this.size.wide, height: HIGH });
    });
  }

  textAt([x, y]) {
    const t = Math.floor((x - this.size.left) / this.size.wide);
    return (
      this.cells[t * ACTIONS + Math.floor(y / this.size.high)]?.getAttribute("aria-label") ?? ""
    );
  }

  place(event) {
    const [x, y] = pointIn(this.picture, event);
    const t = Math.floor((x - this.size.left) / this.size.wide);
    const j = Math.floor(y / this.size.high);
    return t >= 0 && t < ROUNDS && j >= 0 && j < ACTIONS ? [t, j] : null;
  }

  /** The first cell decides what the stroke paints: the next of a few levels. */
  begin(event) {
    const at = this.place(event);
    if (!at) return;
    event.preventDefault();
    this.picture.setPointerCapture(event.pointerId);
    const now = this.losses[at[0]][at[1]];
    const level = LEVELS.findIndex((loss) => now <= loss + 0.5);
    this.brush = LEVELS[(level + 1) % LEVELS.length];
    this.paint(event);
  }

  paint(event) {
    const at = this.place(event);
    if (at) this.put(...at, this.brush);
  }

  put(t, j, loss) {
    this.losses[t][j] = clip(loss);
    this.changed();
  }

  key(event, t, j) {
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[
      event.key
    ];
    const change = { "+": STEP, "=": STEP, "-": -STEP, "−": -STEP }[event.key];
    if (!move && !change) return;
    event.preventDefault();
    if (change) return this.put(t, j, this.losses[t][j] + change);
    const [to, row] = [t + move[0], j + move[1]];
    if (to >= 0 && to < ROUNDS && row >= 0 && row < ACTIONS) this.focus(to, row);
  }

  focus(t, j) {
    this.cells.forEach((cell) => cell.setAttribute("tabindex", -1));
    const cell = this.cells[t * ACTIONS + j];
    cell.setAttribute("tabindex", 0);
    cell.focus();
  }

  refresh() {
    this.cells.forEach((cell, i) => {
      const t = Math.floor(i / ACTIONS);
      const loss = this.losses[t][i % ACTIONS];
      set(cell, {
        class: loss < 0 ? "f-n0" : "f-n1",
        "fill-opacity": (0.06 + 0.84 * (Math.abs(loss) / LIMIT)).toFixed(2),
        "aria-label": `action ${NAMES[i % ACTIONS]}, round ${t + 1}: loss ${short(loss, 2)}`,
        opacity: t < this.shown ? 1 : 0.15,
      });
    });
    const shown = this.losses.slice(0, this.shown);
    const x = shown.map((_, t) => t + 1);
    const regrets = Object.entries(this.learners).map(([name, make]) => {
      return [name, { x, y: regretOn(make(ACTIONS), shown) }];
    });
    this.chart.update(Object.fromEntries(regrets), ROUNDS);
    const [worst, { y }] = regrets.reduce((a, b) => (b[1].y.at(-1) > a[1].y.at(-1) ? b : a));
    say(
      this.note,
      `After ${this.shown} rounds the largest regret is ${short(y.at(-1), 3)} (${LINES[worst].label}). Against Gaussian noise no policy has a smaller expected square than the best possible one.`,
    );
  }
}

/** External regret after every round. */
export function regretOn(learner, losses) {
  const totals = zeros(losses[0].length);
  let suffered = 0;
  return losses.map((loss) => {
    const policy = learner.policy();
    suffered += dot(policy, loss);
    loss.forEach((value, j) => (totals[j] += value));
    learner.update(Float64Array.from(loss), policy);
    return suffered - smallest(totals);
  });
}

const clip = (loss) => Math.min(Math.max(Math.round(loss * 100) / 100, -LIMIT), LIMIT);
