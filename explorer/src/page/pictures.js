// Where play goes: a simplex for three actions, the unit square for two players of two.

import { outer } from "../kernel/vectors.js";
import {
  fraction,
  frame,
  nearest,
  pathOf,
  pointIn,
  set,
  short,
  sizeOf,
  svg,
  tipOn,
  watchWidth,
} from "./dom.js";
import { startOf, tidyStart } from "./starts.js";

const MAX_TRAIL = 420;
const RECENT = 40;
const NUDGE = 0.02; // of an arrow key

/** The expected payoffs of a player's actions while the others play as given. */
export function worths(run, player, policies) {
  const others = outer(policies.filter((_, n) => n !== player));
  return run.tables[player].map((row) => row.reduce((total, u, k) => total + u * others[k], 0));
}

/** p_i (u_i - <p, u>): where the replicator flow moves a policy. */
function replicator(policy, worth) {
  const mean = policy.reduce((total, p, i) => total + p * worth[i], 0);
  return policy.map((p, i) => p * (worth[i] - mean));
}

/** Indices of about `most` rounds: a stride that is a power of two, so that the line stays still as it grows. */
function thinned(length, most) {
  const early = Math.max(length - RECENT, 0);
  const stride = 2 ** Math.max(Math.ceil(Math.log2(early / (most - RECENT))), 0);
  const rounds = [];
  for (let t = 0; t < early; t += stride) rounds.push(t);
  for (let t = early; t < length; t++) rounds.push(t);
  return rounds;
}

const rowAt = (columns, t) => columns.map((column) => column.at(t));

/** What simplex and square share: layers of a picture, a handle to drag, and keys that move it. */
class Picture {
  constructor(body, label, colour) {
    this.flow = svg("path", { class: "flow" });
    this.back = svg("g");
    this.trail = svg("path", { class: `trail s-n${colour}` });
    this.recent = svg("path", { class: `recent s-n${colour}` });
    this.mean = svg("path", { class: "mean" });
    this.nash = svg("path", { class: "nash" });
    this.meanDot = svg("circle", { class: "mean-dot", r: 5 });
    this.now = svg("circle", { class: `now f-n${colour}`, r: 6.5 });
    this.handle = this.makeHandle(label);
    this.picture = svg(
      "svg",
      { role: "group", "aria-label": label },
      this.back,
      this.flow,
      this.nash,
      this.trail,
      this.mean,
      this.recent,
      this.meanDot,
      this.now,
      this.handle,
    );
    body.append(this.picture);
    this.picture.addEventListener(
      "pointerdown",
      (event) => event.pointerType === "mouse" && this.grab(event),
    );
    tipOn(this.picture, (point) => (this.spots ? nearest(this.spots(), point) : ""));
    watchWidth(body, (width) => this.resize(width));
  }

  makeHandle(label) {
    const handle = svg(
      "g",
      {
        class: "handle",
        tabindex: 0,
        role: "slider",
        "aria-label": `Start: ${label}`,
        "aria-valuemin": 0,
        "aria-valuemax": 1,
        "aria-valuenow": 0,
      },
      svg("circle", { class: "reach", r: 22 }),
      svg("circle", { class: "ring", r: 9 }),
      svg("path", { d: "M-4 0H4M0 -4V4" }),
    );
    handle.addEventListener("pointerdown", (event) => this.grab(event));
    handle.addEventListener("keydown", (event) => this.key(event));
    return handle;
  }

  grab(event) {
    event.preventDefault();
    event.stopPropagation();
    this.handle.focus({ preventScroll: true });
    this.picture.setPointerCapture(event.pointerId);
    const move = (moved) => this.drag(moved);
    const end = () => {
      this.picture.removeEventListener("pointermove", move);
      this.picture.removeEventListener("pointerup", end);
      this.picture.removeEventListener("pointercancel", end);
    };
    this.picture.addEventListener("pointermove", move);
    this.picture.addEventListener("pointerup", end);
    this.picture.addEventListener("pointercancel", end);
    this.drag(event);
  }

  drag(event) {
    this.moveTo(pointIn(this.picture, event));
  }

  key(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[
      event.key
    ];
    if (!step) return;
    event.preventDefault();
    const size = NUDGE * this.width * (event.shiftKey ? 4 : 1);
    const [x, y] = this.startAt;
    this.moveTo([x + step[0] * size, y + step[1] * size]);
  }

  resize(width) {
    this.width = width;
    this.layOut();
    if (this.last) this.update(...this.last);
  }

  put(element, [x, y]) {
    element.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
  }

  /** Trails of what was played and of its average, from functions of the round; `words` names a place. */
  drawTrails(run, place, words) {
    const length = run.round;
    const rounds = thinned(length, MAX_TRAIL);
    const points = rounds.map((t) => place("policies", t));
    const averages = rounds.filter((_, i) => i % 3 === 0 || i === rounds.length - 1);
    this.trail.setAttribute("d", pathOf(points));
    this.recent.setAttribute("d", pathOf(points.slice(-RECENT)));
    this.mean.setAttribute("d", pathOf(averages.map((t) => place("means", t))));
    for (const [dot, kind] of [
      [this.now, "policies"],
      [this.meanDot, "means"],
    ]) {
      dot.setAttribute("visibility", length ? "visible" : "hidden");
      if (length) this.put(dot, place(kind, length - 1));
    }
    this.spots = () => [
      ...this.diamonds,
      ...(length ? [[place("means", length - 1), `Average: ${words("means", length - 1)}`]] : []),
      ...rounds.map((t, i) => [points[i], `Round ${t + 1}: ${words("policies", t)}`]),
    ];
  }

  /** Diamonds at points [place, text]. */
  drawNash(marks) {
    const size = 7;
    const points = marks.map(([point]) => point);
    this.diamonds = marks;
    this.nash.setAttribute(
      "d",
      points
        .map(([x, y]) => `M${x - size} ${y}L${x} ${y - size}L${x + size} ${y}L${x} ${y + size}Z`)
        .join(""),
    );
  }

  placeHandle(at, text) {
    this.startAt = at;
    this.put(this.handle, at);
    set(this.handle, { "aria-valuetext": text });
  }
}

/** Short arrows along a flow, all of one path; the longest is `reach` pixels. */
function arrows(points, moves, reach) {
  const most = Math.max(...moves.map(([x, y]) => Math.hypot(x, y)), 1e-12);
  return points
    .map(([x, y], i) => {
      const length = Math.hypot(...moves[i]) / most;
      if (length < 0.02) return "";
      const size = reach * (0.35 + 0.65 * Math.sqrt(length));
      const [u, v] = moves[i].map((part) => part / Math.hypot(...moves[i]));
      const tip = [x + u * size, y + v * size];
      const wing = (side) =>
        `M${tip[0].toFixed(1)} ${tip[1].toFixed(1)}l${(-u * 4 + side * v * 2.6).toFixed(1)} ${(-v * 4 - side * u * 2.6).toFixed(1)}`;
      return `M${x.toFixed(1)} ${y.toFixed(1)}L${tip[0].toFixed(1)} ${tip[1].toFixed(1)}${wing(1)}${wing(-1)}`;
    })
    .join("");
}

/** Three actions: the corners are certainty, a point the weights of the three. */
export class Simplex extends Picture {
  constructor(body, player, label, onStart) {
    super(body, label, player);
    Object.assign(this, { player, onStart });
  }

  layOut() {
    const side = Math.min(this.width - 60, sizeOf(this.picture, "--side", 380));
    const high = (side * Math.sqrt(3)) / 2;
    const left = (this.width - side) / 2;
    this.corners = [
      [left, 24 + high],
      [left + side, 24 + high],
      [this.width / 2, 24],
    ];
    const height = high + 52;
    frame(this.picture, this.width, height);
    this.grid = [];
    for (let i = 1; i < 9; i++)
      for (let j = 1; j < 9 - i; j++) this.grid.push([i / 9, j / 9, 1 - (i + j) / 9]);
  }

  at(weights) {
    return [0, 1].map((axis) =>
      weights.reduce((total, p, k) => total + p * this.corners[k][axis], 0),
    );
  }

  weights([x, y]) {
    const [a, b, c] = this.corners;
    const area = (b[1] - c[1]) * (a[0] - c[0]) + (c[0] - b[0]) * (a[1] - c[1]);
    const first = ((b[1] - c[1]) * (x - c[0]) + (c[0] - b[0]) * (y - c[1])) / area;
    const second = ((c[1] - a[1]) * (x - c[0]) + (a[0] - c[0]) * (y - c[1])) / area;
    return [first, second, 1 - first - second];
  }

  moveTo(point) {
    this.onStart([[this.player, tidyStart(this.weights(point))]]);
  }

  update(run, state, nash) {
    this.last = [run, state, nash];
    if (!this.width) return;
    const names = state.game.actions[this.player];
    this.drawBack(names);
    const seat = run.players[this.player];
    const words = (weights, write) =>
      names.map((name, i) => `${name} ${write(weights[i])}`).join(", ");
    this.drawTrails(
      run,
      (kind, t) => this.at(rowAt(seat[kind], t)),
      (kind, t) => words(rowAt(seat[kind], t), (p) => short(p, 3)),
    );
    const sides = nash.map(({ strategies }) => Array.from(strategies[this.player]));
    this.drawNash(
      sides.map((side) => [this.at(side), `Nash equilibrium: ${words(side, fraction)}`]),
    );
    const start = startOf(state, this.player);
    this.placeHandle(
      this.at(start),
      words(start, (p) => short(p, 3)),
    );
    this.drawFlow(run, state);
  }

  drawBack(names) {
    const [a, b, c] = this.corners;
    const key = JSON.stringify([names, this.width]);
    if (key === this.backKey) return;
    this.backKey = key;
    this.back.replaceChildren(
      svg("path", { class: "triangle", d: pathOf(this.corners, true) }),
      svg("text", { class: "strong", x: Math.max(0, a[0] - 30), y: a[1] + 20 }, names[0]),
      svg(
        "text",
        { class: "strong end", x: Math.min(this.width, b[0] + 30), y: b[1] + 20 },
        names[1],
      ),
      svg("text", { class: "strong middle", x: c[0], y: c[1] - 9 }, names[2]),
    );
  }

  drawFlow(run, state) {
    const now = run.players.map((seat, n) =>
      run.round ? rowAt(seat.policies, run.round - 1) : startOf(state, n),
    );
    const worth = worths(run, this.player, now);
    const points = this.grid.map((p) => this.at(p));
    const moves = this.grid.map((p) => {
      const to = replicator(p, worth);
      return [0, 1].map((axis) => to.reduce((total, m, k) => total + m * this.corners[k][axis], 0));
    });
    this.flow.setAttribute("d", arrows(points, moves, 13));
  }
}

/** Two players of two actions: across, how often the first plays its first action; up, likewise the second. */
export class Square extends Picture {
  constructor(body, label, onStart) {
    super(body, label, 0);
    this.onStart = onStart;
  }

  layOut() {
    const side = Math.min(this.width - 74, sizeOf(this.picture, "--side", 420));
    const left = (this.width - side) / 2 + 16;
    this.box = { left, top: 12, side };
    const height = side + 52;
    frame(this.picture, this.width, height);
    const ticks = [0.06, 0.17, 0.28, 0.39, 0.5, 0.61, 0.72, 0.83, 0.94];
    this.grid = ticks.flatMap((p) => ticks.map((q) => [p, q]));
    this.backKey = null;
  }

  at([p, q]) {
    return [this.box.left + p * this.box.side, this.box.top + (1 - q) * this.box.side];
  }

  moveTo([x, y]) {
    const p = (x - this.box.left) / this.box.side;
    const q = 1 - (y - this.box.top) / this.box.side;
    this.onStart([p, q].map((share, n) => [n, tidyStart([share, 1 - Math.min(share, 1)])]));
  }

  update(run, state, nash) {
    this.last = [run, state, nash];
    if (!this.width) return;
    this.drawBack(state.game);
    const [first, second] = run.players;
    const { players, actions } = state.game;
    const words = (shares, write) =>
      shares.map((share, n) => `${players[n]} ${actions[n][0]} ${write(share)}`).join(", ");
    const shares = (kind, t) => [first[kind][0].at(t), second[kind][0].at(t)];
    this.drawTrails(
      run,
      (kind, t) => this.at(shares(kind, t)),
      (kind, t) => words(shares(kind, t), (p) => short(p, 3)),
    );
    const sides = nash.map(({ strategies }) => strategies.map((side) => side[0]));
    this.drawNash(
      sides.map((side) => [this.at(side), `Nash equilibrium: ${words(side, fraction)}`]),
    );
    const start = [0, 1].map((n) => startOf(state, n)[0]);
    this.placeHandle(
      this.at(start),
      words(start, (p) => short(p, 3)),
    );
    this.drawFlow(run, state.game);
  }

  drawBack(game) {
    const key = JSON.stringify([game.actions, game.players, this.width]);
    if (key === this.backKey) return;
    this.backKey = key;
    const { left, top, side } = this.box;
    const up = (x, y, text, anchor) =>
      svg(
        "text",
        { class: "strong", "text-anchor": anchor, transform: `translate(${x} ${y}) rotate(-90)` },
        text,
      );
    this.back.replaceChildren(
      svg("rect", { class: "triangle", x: left, y: top, width: side, height: side }),
      svg("text", { class: "strong", x: left, y: top + side + 18 }, game.actions[0][1]),
      svg("text", { class: "strong end", x: left + side, y: top + side + 18 }, game.actions[0][0]),
      svg("text", { class: "middle", x: left + side / 2, y: top + side + 34 }, game.players[0]),
      up(left - 9, top + side, game.actions[1][1], "start"),
      up(left - 9, top, game.actions[1][0], "end"),
      up(left - 25, top + side / 2, game.players[1], "middle"),
    );
  }

  /** The flow stands still here: it depends on the game alone. */
  drawFlow(run, game) {
    const key = `${this.width} ${game.payoffs.map((table) => table.join()).join()}`;
    if (key === this.flowKey) return;
    this.flowKey = key;
    const moves = this.grid.map(([p, q]) => {
      const policies = [
        [p, 1 - p],
        [q, 1 - q],
      ];
      const [x, y] = policies.map((policy, n) => replicator(policy, worths(run, n, policies))[0]);
      return [x, -y];
    });
    this.flow.setAttribute(
      "d",
      arrows(
        this.grid.map((point) => this.at(point)),
        moves,
        20,
      ),
    );
  }
}
