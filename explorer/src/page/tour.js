// The paper in five steps: text beside a figure, and a button that plays the step in the sandbox.

import { linearAttention } from "../kernel/attention.js";
import { hedge } from "../kernel/learners.js";
import { generator, normal } from "../kernel/random.js";
import { stationaryStep } from "../kernel/steps.js";
import { LOSSES } from "../data/theory.js";
import { LINEAR } from "../data/trained.js";
import { Chart } from "./chart.js";
import { html, pointIn, say, short, svg } from "./dom.js";
import { fixedPointFigure, gapsFigure, matrixPicture } from "./tour-figures.js";

const ACTIONS = 3;
const ROUNDS = 20;
const STAR = stationaryStep(ACTIONS, ROUNDS);
const TRAINING = 5000; // milliseconds of a whole training
const OFF = [
  [0.5, 0.3, 0.2],
  [0.2, 0.5, 0.3],
]; // a start away from uniform

export const STEPS = [
  {
    title: "A layer that can only add up its past",
    body: [
      "Each round a player picks a mix of actions, then sees what every action would have cost. Give this to one layer of linear attention. All it can do is add something up, round after round, and play the softmax of the sum:",
      "= z_{t} = Σ_{s<t} (V ℓ_{s} + v)(1 + a^{T} ℓ_{s}),   π_{t} = softmax(z_{t})",
      "Fifteen numbers for three actions. Train them on one thing only: squared regret against random losses, over 20 rounds. Press Train and watch the matrix V. Softmax ignores a constant added to a column, so each column is shown with the mean of its other entries at 0.",
    ],
    figure: layerFigure,
    set: { game: "weighted-rps", seats: ["layer", "layer"], horizon: 20 },
  },
  {
    title: "It becomes smoothed fictitious play",
    body: [
      "V turns into −k times the identity, and everything else vanishes. What is left is a famous rule: play each action with weight exp(−k × what it has cost so far). Game theorists call it smoothed fictitious play, computer scientists Hedge.",
      "= π_{t} = softmax(−k S_{t−1}),   S_{t−1} = ℓ_{1} + … + ℓ_{t−1}",
      "Why? Losses are a fair walk, so nothing but their sums can tell which action will end best; and no action is special, so the layer must treat all alike. The wide pale lines are Hedge, the thin lines on top the layer, on the same losses.",
    ],
    figure: policiesFigure,
    set: { game: "weighted-rps", seats: ["layer", "star"], horizon: 20 },
  },
  {
    title: "Where the step k* comes from",
    body: [
      "Only one number is left to learn: k. Too small, and the player ignores what it has seen; too large, and it runs after noise. The expected squared regret L(k) has one lowest point, k*, and training finds it.",
      "Its value is exact: an integral for any number of actions d and rounds T. It shrinks like one over the root of T, as the classical step does. No policy of any kind gets below L*: that is the player who forecasts, each round, which action will turn out best.",
      "Drag the dot or the slider: the sandbox plays with that step.",
    ],
    figure: lossFigure,
    set: { game: "weighted-rps", seats: ["star", "star"], horizon: 20 },
  },
  {
    title: "Little regret, and play is a coarse equilibrium",
    body: [
      "Put Hedge in every seat. With a step that fits the rounds, regret grows only like their root, so per round it vanishes, and the joint play of all becomes a coarse correlated equilibrium (CCE): nobody gains by one fixed action.",
      "But it need not be a correlated equilibrium (CE). This is Shapley's game, from a start off the centre: play goes round and round. The CCE gap falls; yet a player who replaced each action by its own best answer would still gain 0.13 per round after a thousand rounds.",
    ],
    figure: (body) => gapsFigure(body, "shapley", OFF),
    set: {
      game: "shapley",
      seats: ["hedge(0.3)", "hedge(0.3)"],
      horizon: 1000,

      starts: OFF,
    },
  },
  {
    title: "Swap regret needs a fixed point",
    body: [
      "To have no swap regret, ask for each action i: what should I have played whenever I played i? That takes a copy of Hedge per action, each seeing its own share of the losses. The copies' answers are the columns of a matrix P. Which mix should be played? One that the answers leave as it is:",
      "= π_{t} = P_{t} π_{t}",
      "Any other mix would give a copy losses for play that was not its own. Attention with d heads in front of this fixed point, trained on swap regret, becomes just this. The same game, the same start: now the swap gap falls too.",
    ],
    figure: (body) => fixedPointFigure(body, "shapley", OFF),
    set: {
      game: "shapley",
      seats: ["blum_mansour(hedge(1.0))", "blum_mansour(hedge(1.0))"],
      horizon: 1000,

      starts: OFF,
    },
  },
];

export class Tour {
  constructor(parts, app) {
    Object.assign(this, { parts, app });
    this.buttons = STEPS.map((step, i) =>
      html(
        "button",
        {
          type: "button",
          "aria-label": `Step ${i + 1}: ${step.title}`,
          onclick: () => this.go(i + 1),
        },
        String(i + 1),
      ),
    );
    parts.steps.replaceChildren(...this.buttons.map((button) => html("li", {}, button)));
    parts.back.addEventListener("click", () => this.go(this.at - 1));
    parts.next.addEventListener("click", () => this.go(this.at + 1));
    parts.apply.addEventListener("click", () => app.applyTour(STEPS[this.at - 1].set));
  }

  get state() {
    return this.app.state;
  }

  go(step) {
    this.stop?.();
    this.at = Math.min(Math.max(step, 1), STEPS.length);
    const { title, body, figure } = STEPS[this.at - 1];
    this.buttons.forEach((button, i) => {
      if (i + 1 === this.at) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    });
    say(this.parts.title, title);
    this.parts.body.replaceChildren(...body.map(paragraph));
    this.parts.back.disabled = this.at === 1;
    this.parts.next.disabled = this.at === STEPS.length;
    this.parts.figure.replaceChildren();
    figure(this.parts.figure, this);
    this.app.save(() => (this.state.tour = this.at));
  }
}

function paragraph(text) {
  return text.startsWith("= ")
    ? html("p", { class: "formula" }, ...formula(text.slice(2)))
    : html("p", {}, text);
}

/** `x_{t}` and `a^{T}` as lowered and raised text. */
function formula(text) {
  return text.split(/([_^]\{[^}]*\})/).map((part) => {
    const inner = part.slice(2, -1);
    if (part.startsWith("_{")) return html("sub", {}, inner);
    return part.startsWith("^{") ? html("sup", {}, inner) : part;
  });
}

/** A slider with its label and value; `move(value)` moves it. */
function slider(label, { min = 0, max, step = 1, value }, show, changed) {
  const input = html("input", { type: "range", min, max, step, "aria-label": label });
  const output = html("output");
  const move = (to = input.value) => {
    input.value = to;
    say(output, show(Number(input.value)));
    input.setAttribute("aria-valuetext", show(Number(input.value)));
    changed(Number(input.value));
  };
  input.value = value;
  input.addEventListener("input", () => move());
  const line = html("span", { class: "row" }, html("span", {}, label), output);
  return { element: html("label", { class: "slider" }, line, input), move };
}

/** A slider over the moments of training, and a button that runs it from step 0. */
function training(body, tour, show) {
  const last = LINEAR.length - 1;
  const steps = slider(
    "training",
    { max: last, value: tour.state.training },
    (i) => `${LINEAR[i].step} steps`,
    (i) => {
      show(LINEAR[i]);
      tour.app.save(() => (tour.state.training = i));
    },
  );
  const button = html("button", { type: "button", class: "main" }, "Train");
  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    say(button, "Train");
  };
  button.addEventListener("click", () => {
    if (timer) return stop();
    let at = tour.state.training < last ? tour.state.training : 0;
    say(button, "Stop");
    timer = setInterval(() => {
      steps.move(at);
      at += 1;
      if (at > last) stop();
    }, TRAINING / last);
  });
  tour.stop = stop;
  body.append(html("div", { class: "train" }, button, steps.element));
  steps.move();
}

/** V without what softmax ignores: from every column the mean of its entries off the diagonal is taken. */
export function reduced(values) {
  const others = values[0].map((_, j) => {
    const column = values.map((row) => row[j]).filter((_, i) => i !== j);
    return column.reduce((x, y) => x + y, 0) / column.length;
  });
  return values.map((row) => row.map((v, j) => v - others[j]));
}

function layerFigure(body, tour) {
  const limit = [0, 1, 2].map((i) => [0, 1, 2].map((j) => (i === j ? -STAR : 0)));
  const shown = LINEAR.map(({ values }) => reduced(values));
  const most = Math.max(...shown.flat(2).map(Math.abs), STAR);
  const now = matrixPicture("V, as trained", most);
  const target = matrixPicture("Its limit: −k* × identity", most);
  target.show(limit);
  const note = html("p", { class: "note" });
  body.append(html("div", { class: "pictures" }, now.element, target.element));
  training(body, tour, (layer) => {
    const values = reduced(layer.values);
    now.show(values);
    const spread = layer.bias.map((v) => Math.abs(v - layer.bias[0]));
    const rest = Math.max(...layer.scores.map(Math.abs), ...spread);
    const apart = values.flatMap((row, i) => row.map((v, j) => Math.abs(v - limit[i][j])));
    say(
      note,
      `Largest difference from the limit: ${short(Math.max(...apart), 2)}. Largest entry of a, and of v up to a constant: ${short(rest, 2)}.`,
    );
  });
  body.append(note);
}

function policiesFigure(body, tour) {
  const next = generator(12);
  const losses = Array.from({ length: ROUNDS }, () =>
    Float64Array.from({ length: ACTIONS }, () => normal(next)),
  );
  const names = ["rock", "paper", "scissors"];
  const styles = names.flatMap((name, j) => [
    [`hedge ${j}`, { label: "Hedge", style: `s-n${j} beneath`, isListed: j === 0 }],
    [`layer ${j}`, { label: `layer: ${name}`, style: `s-n${j} thin` }],
  ]);
  const place = html("div");
  body.append(place);
  const chart = new Chart(place, {
    lines: Object.fromEntries(styles),
    label: "Policies of the layer and of Hedge on the same losses",
    height: 290,
    showValues: false,
    range: [0, 1],
  });
  const x = losses.map((_, t) => t + 1);
  const exact = policiesOn(hedge(STAR), losses);
  training(body, tour, (layer) => {
    const played = policiesOn(linearAttention(layer), losses);
    const series = names.flatMap((_, j) => [
      [`hedge ${j}`, { x, y: exact.map((pi) => pi[j]) }],
      [`layer ${j}`, { x, y: played.map((pi) => pi[j]) }],
    ]);
    chart.update(Object.fromEntries(series), ROUNDS);
  });
}

function policiesOn(make, losses) {
  const learner = make(ACTIONS);
  return losses.map((loss) => {
    const policy = learner.policy();
    learner.update(loss, policy);
    return policy;
  });
}

/** L(k) with a dot to drag, above a slider that lies along the axis. */
function lossFigure(body, tour) {
  const { steps, losses, step, loss, least } = LOSSES[ACTIONS];
  const ends = [0, steps.at(-1)];
  const place = html("div");
  body.append(place);
  const chart = new Chart(place, {
    lines: {
      curve: { label: "L(k), Hedge with step k", style: "s-n0" },
      least: { label: "L*, no policy is below", style: "s-n1 dashed" },
      uniform: { label: "uniform play", style: "s-soft dotted" },
    },
    label: `Expected squared regret against the step: lowest at k* = ${short(step)}`,
    height: 290,
    xName: "step k",
    showValues: false,
  });
  const dot = svg(
    "g",
    { class: "handle" },
    svg("circle", { r: 20, class: "reach" }),
    svg("circle", { r: 7.5, class: "now f-n0" }),
  );
  const star = svg(
    "g",
    {},
    svg("path", { class: "axis" }),
    svg("text", { class: "strong middle" }, `k* = ${short(step)}`),
  );
  chart.marks.append(star, dot);
  const note = html("p", { class: "note" });
  const at = (k) => {
    const i = Math.min(Math.floor(k / steps[1]), steps.length - 2);
    const part = (k - steps[i]) / (steps[i + 1] - steps[i]);
    return losses[i] + part * (losses[i + 1] - losses[i]);
  };
  const show = (k) => {
    const here = at(k);
    if (chart.width) {
      dot.setAttribute("transform", `translate(${chart.x(k)} ${chart.y(here)})`);
      const [x, y] = [chart.x(step), chart.y(loss)];
      star.firstChild.setAttribute("d", `M${x} ${y}V${y - 30}`);
      star.lastChild.setAttribute("transform", `translate(${x} ${y - 36})`);
    }
    say(
      note,
      `Squared regret ${short(here, 5)}; at k* ${short(loss, 5)}; the lower bound ${short(least, 5)}. Three actions, twenty rounds.`,
    );
  };
  const moving = slider(
    "step k",
    { max: ends[1], step: 0.005, value: tour.state.k ?? step },
    (k) => short(k, 3),
    show,
  );
  const take = () => {
    const k = Math.max(Number(moving.element.querySelector("input").value), 0.005);
    tour.state.k = k;
    tour.app.setSteps(k);
  };
  moving.element.classList.add("aligned");
  moving.element.addEventListener("input", take);
  const drag = (event) => {
    moving.move(chart.back(pointIn(chart.picture, event)[0]));
    take();
  };
  dot.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    dot.setPointerCapture(event.pointerId);
  });
  dot.addEventListener(
    "pointermove",
    (event) => dot.hasPointerCapture(event.pointerId) && drag(event),
  );
  chart.update(
    {
      curve: { x: steps, y: losses },
      least: { x: ends, y: [least, least] },
      uniform: { x: ends, y: [losses[0], losses[0]] },
    },
    ends[1],
  );
  chart.onResize = () => moving.move();
  body.append(moving.element, note);
  moving.move();
}
