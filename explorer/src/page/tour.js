// The paper in five steps: text beside a figure of its own, and each step sets the sandbox below.

import { linearAttention } from "../kernel/attention.js";
import { hedge } from "../kernel/learners.js";
import { generator, normal } from "../kernel/random.js";
import { stationaryStep } from "../kernel/steps.js";
import { LOSSES } from "../data/theory.js";
import { LINEAR } from "../data/trained.js";
import { Chart } from "./chart.js";
import { html, say, short, svg } from "./dom.js";
import { fixedPointFigure, gapsFigure, matrixPicture } from "./tour-figures.js";

const [ACTIONS, ROUNDS] = [3, 20];
const STAR = stationaryStep(ACTIONS, ROUNDS);
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
      "Fifteen numbers for three actions. Train them on one thing only: squared regret against random losses, over 20 rounds. Drag the training and watch the matrix V, without the part that softmax ignores.",
    ],
    figure: layerFigure,
    set: { game: "weighted-rps", seats: ["layer", "layer"], horizon: 20, rounds: 20 },
  },
  {
    title: "It becomes smoothed fictitious play",
    body: [
      "V turns into −k times the identity, and everything else vanishes. What is left is a famous rule: play each action with weight exp(−k × what it has cost so far). Game theorists call it smoothed fictitious play, computer scientists Hedge.",
      "= π_{t} = softmax(−k S_{t−1}),   S_{t−1} = ℓ_{1} + … + ℓ_{t−1}",
      "Why? Losses are a fair walk, so nothing but their sums can tell which action will end best; and no action is special, so the layer must treat all alike. Solid lines are the layer, dotted lines Hedge, on the same losses.",
    ],
    figure: policiesFigure,
    set: { game: "weighted-rps", seats: ["layer", "star"], horizon: 20, rounds: 20 },
  },
  {
    title: "Where the step k* comes from",
    body: [
      "Only one number is left to learn: k. Too small, and the player ignores what it has seen; too large, and it runs after noise. The expected squared regret L(k) has one lowest point, k*, and training finds it.",
      "Its value is exact: an integral for any number of actions d and rounds T. It shrinks like one over the root of T, as the classical step does. No policy of any kind gets below L*: that is the player who forecasts, each round, which action will turn out best.",
      "Drag k: the sandbox below plays with it.",
    ],
    figure: lossFigure,
    set: { game: "weighted-rps", seats: ["star", "star"], horizon: 20, rounds: 20 },
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
      rounds: 1000,
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
      rounds: 1000,
      starts: OFF,
    },
  },
];

export class Tour {
  /** `apply(set)` sets the sandbox, `moved(step)` hears where the story is. */
  constructor(parts, { apply, moved, zoo }) {
    Object.assign(this, { parts, apply, moved, zoo });
    this.buttons = STEPS.map((step, i) =>
      html(
        "button",
        {
          type: "button",
          "aria-label": `Step ${i + 1}: ${step.title}`,
          onclick: () => this.go(i + 1, true),
        },
        String(i + 1),
      ),
    );
    parts.steps.replaceChildren(...this.buttons.map((button) => html("li", {}, button)));
    parts.back.addEventListener("click", () => this.go(this.at - 1, true));
    parts.next.addEventListener("click", () => this.go(this.at + 1, true));
  }

  go(step, set) {
    this.at = Math.min(Math.max(step, 1), STEPS.length);
    const { title, body, figure, set: wanted } = STEPS[this.at - 1];
    this.buttons.forEach((button, i) =>
      i + 1 === this.at
        ? button.setAttribute("aria-current", "step")
        : button.removeAttribute("aria-current"),
    );
    say(this.parts.title, title);
    this.parts.body.replaceChildren(...body.map(paragraph));
    this.parts.back.disabled = this.at === 1;
    this.parts.next.disabled = this.at === STEPS.length;
    this.parts.figure.replaceChildren();
    figure(this.parts.figure, this);
    this.moved(this.at);
    if (set) this.apply(wanted);
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

/** A slider with its label and value. */
function slider(label, { min = 0, max, step = 1, value }, show, changed) {
  const input = html("input", { type: "range", min, max, step, "aria-label": label });
  const output = html("output");
  const move = () => {
    say(output, show(Number(input.value)));
    input.setAttribute("aria-valuetext", show(Number(input.value)));
    changed(Number(input.value));
  };
  input.value = value;
  input.addEventListener("input", move);
  return {
    element: html("label", { class: "slider" }, html("span", {}, label), input, output),
    move,
  };
}

function trainingSlider(changed) {
  return slider(
    "training",
    { max: LINEAR.length - 1, value: LINEAR.length - 1 },
    (i) => `${LINEAR[i].step} steps`,
    (i) => changed(LINEAR[i]),
  );
}

/** V without what softmax ignores: every column minus its mean. */
function centred(values) {
  const means = values[0].map(
    (_, j) => values.reduce((total, row) => total + row[j], 0) / values.length,
  );
  return values.map((row) => row.map((v, j) => v - means[j]));
}

function layerFigure(body) {
  const now = matrixPicture("V, as trained");
  const target = matrixPicture("−k* × identity");
  target.show(centred([0, 1, 2].map((i) => [0, 1, 2].map((j) => (i === j ? -STAR : 0)))));
  const note = html("p", { class: "note" });
  const training = trainingSlider((layer) => {
    now.show(centred(layer.values));
    const rest = Math.max(
      ...layer.scores.map(Math.abs),
      ...layer.bias.map((v) => Math.abs(v - layer.bias[0])),
    );
    const apart = Math.max(
      ...centred(layer.values).flatMap((row, i) =>
        row.map((v, j) => Math.abs(v + (i === j ? STAR : 0) - STAR / 3)),
      ),
    );
    say(
      note,
      `Largest difference from −k* times the identity: ${short(apart, 2)}. Largest entry of a, and of v up to a constant: ${short(rest, 2)}.`,
    );
  });
  body.append(
    html("div", { class: "pictures" }, now.element, target.element),
    training.element,
    note,
  );
  training.move();
}

function policiesFigure(body) {
  const next = generator(12);
  const losses = Array.from({ length: ROUNDS }, () =>
    Float64Array.from({ length: ACTIONS }, () => normal(next)),
  );
  const names = ["rock", "paper", "scissors"];
  const lines = Object.fromEntries(
    [0, 1, 2].flatMap((j) => [
      [`layer ${j}`, { label: names[j], style: `s-n${j}` }],
      [`hedge ${j}`, { label: "Hedge", style: `s-n${j} dotted`, isListed: j === 0 }],
    ]),
  );
  const place = html("div");
  body.append(place);
  const chart = new Chart(place, {
    lines,
    label: "Policies of the layer and of Hedge on the same losses",
    height: 290,
    showValues: false,
  });
  const x = losses.map((_, t) => t + 1);
  const exact = policiesOn(hedge(STAR), losses);
  const training = trainingSlider((layer) => {
    const played = policiesOn(linearAttention(layer), losses);
    const series = [0, 1, 2].flatMap((j) => [
      [`layer ${j}`, { x, y: played.map((pi) => pi[j]) }],
      [`hedge ${j}`, { x, y: exact.map((pi) => pi[j]) }],
    ]);
    chart.update(Object.fromEntries(series), ROUNDS);
  });
  body.append(training.element);
  training.move();
}

function policiesOn(make, losses) {
  const learner = make(ACTIONS);
  return losses.map((loss) => {
    const policy = learner.policy();
    learner.update(loss, policy);
    return policy;
  });
}

function lossFigure(body, tour) {
  const { steps, losses, step, loss, least } = LOSSES[ACTIONS];
  const place = html("div");
  body.append(place);
  const lines = {
    curve: { label: "L(k), Hedge with step k", style: "s-n0" },
    least: { label: "L*, no policy is below", style: "s-n1 dashed" },
    uniform: { label: "uniform play", style: "s-soft dotted" },
  };
  const chart = new Chart(place, {
    lines,
    label: `Expected squared regret against the step: lowest at k* = ${short(step)}`,
    height: 290,
    xName: "step k",
    showValues: false,
  });
  const ends = [0, steps.at(-1)];
  chart.update(
    {
      curve: { x: steps, y: losses },
      least: { x: ends, y: [least, least] },
      uniform: { x: ends, y: [losses[0], losses[0]] },
    },
    ends[1],
  );
  const dot = svg("circle", { r: 6.5, class: "now f-n0" });
  const star = svg(
    "g",
    {},
    svg("path", { class: "axis" }),
    svg("text", { class: "strong middle" }, `k* = ${short(step)}`),
  );
  chart.marks.append(star, dot);
  const note = html("p", { class: "note" });
  const moving = slider(
    "step k",
    { min: 0.02, max: 1.2, step: 0.005, value: step },
    (k) => short(k, 3),
    (k) => {
      const i = Math.min(Math.floor(k / 0.02), steps.length - 2);
      const part = (k - steps[i]) / (steps[i + 1] - steps[i]);
      const here = losses[i] + part * (losses[i + 1] - losses[i]);
      if (chart.width) {
        dot.setAttribute("transform", `translate(${chart.x(k)} ${chart.y(here)})`);
        star.firstChild.setAttribute(
          "d",
          `M${chart.x(step)} ${chart.y(loss)}V${chart.y(loss) - 30}`,
        );
        star.lastChild.setAttribute(
          "transform",
          `translate(${chart.x(step)} ${chart.y(loss) - 36})`,
        );
      }
      say(
        note,
        `Squared regret ${short(here, 5)}; at k* ${short(loss, 5)}; the least possible ${short(least, 5)}. Three actions, twenty rounds.`,
      );
    },
  );
  moving.element
    .querySelector("input")
    .addEventListener("input", (event) => tour.apply({ step: Number(event.target.value) }));
  body.append(moving.element, note);
  moving.move();
}
