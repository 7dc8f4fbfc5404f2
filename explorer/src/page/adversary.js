// Be the adversary: losses painted by hand, and the regret that learners have on them.

import { linearAttention } from "../kernel/attention.js";
import { hedge, optimal } from "../kernel/learners.js";
import { generator, normal } from "../kernel/random.js";
import { stationaryStep } from "../kernel/steps.js";
import { dot, smallest, zeros } from "../kernel/vectors.js";
import { Chart } from "./chart.js";
import { html, say, set, short, svg, watchWidth } from "./dom.js";
import { builtInLayer } from "./state.js";

const ACTIONS = 3;
const ROUNDS = 20;
const NAMES = ["A", "B", "C"];
const STEP = 0.5; // of a key
const LIMIT = 2; // losses lie between -2 and 2
const LEVELS = [-1, 0, 1, 2]; // that painting goes through
const LINES = {
  hedge: { label: "Hedge at k*", style: "s-n0" },
  optimal: { label: "best possible policy", style: "s-n1 dashed" },
  layer: { label: "trained layer", style: "s-n2 dotted" },
};

const PRESETS = {
  "Gaussian noise": (next) => () => normal(next),
  "Whoever leads": null, // made from what Hedge plays
  Alternate: () => (t, j) => [t % 2 ? 1 : -1, t % 2 ? -1 : 1, 0.5][j],
  "A late turn": () => (t, j) => [t < 12 ? -1 : 1.5, 0, 0.8][j],
  Nothing: () => () => 0,
};

export class Adversary {
  constructor({ grid, presets, body, note }) {
    this.note = note;
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
    this.preset("Gaussian noise");
  }

  preset(name) {
    const fill = PRESETS[name]?.(generator(this.seed++));
    if (fill) this.losses.forEach((row, t) => row.forEach((_, j) => (row[j] = clip(fill(t, j)))));
    else this.chaseTheLeader();
    this.refresh();
  }

  /** Each round costs most where Hedge has most weight. */
  chaseTheLeader() {
    const learner = this.learners.hedge(ACTIONS);
    this.losses.forEach((row) => {
      const policy = learner.policy();
      const top = policy.indexOf(Math.max(...policy));
      row.forEach((_, j) => (row[j] = j === top ? 1 : 0));
      learner.update(row, policy);
    });
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
    this.size = { left, wide: (width - left) / ROUNDS, high: 44 };
    const height = ACTIONS * 44 + 22;
    set(this.picture, { width, height, viewBox: `0 0 ${width} ${height}` });
    this.labels.forEach((label, j) => set(label, { x: left - 7, y: j * 44 + 27 }));
    this.ticks.forEach((tick) =>
      set(tick, { x: left + (Number(tick.textContent) - 0.5) * this.size.wide, y: height - 5 }),
    );
    this.cells.forEach((cell, i) => {
      const [t, j] = [Math.floor(i / ACTIONS), i % ACTIONS];
      set(cell, { x: left + t * this.size.wide, y: j * 44, width: this.size.wide, height: 44 });
    });
  }

  place(event) {
    const box = this.picture.getBoundingClientRect();
    const t = Math.floor((event.clientX - box.left - this.size.left) / this.size.wide);
    const j = Math.floor((event.clientY - box.top) / this.size.high);
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
    this.refresh();
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
      const [t, j] = [Math.floor(i / ACTIONS), i % ACTIONS];
      const loss = this.losses[t][j];
      cell.setAttribute("fill-opacity", (0.05 + (0.95 * (loss + LIMIT)) / (2 * LIMIT)).toFixed(2));
      cell.setAttribute("aria-label", `action ${NAMES[j]}, round ${t + 1}: loss ${short(loss, 2)}`);
    });
    const x = this.losses.map((_, t) => t + 1);
    const found = Object.fromEntries(
      Object.entries(this.learners).map(([name, make]) => [
        name,
        { x, y: regretOn(make(ACTIONS), this.losses) },
      ]),
    );
    this.chart.update(found, ROUNDS);
    const worst = Object.entries(found).reduce((a, b) => (b[1].y.at(-1) > a[1].y.at(-1) ? b : a));
    say(
      this.note,
      `After ${ROUNDS} rounds ${LINES[worst[0]].label} regrets most: ${short(worst[1].y.at(-1), 3)}. Against Gaussian noise no policy has a smaller mean square than the best possible one.`,
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
