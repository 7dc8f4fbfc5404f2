// What leaves the page: pictures as SVG and PNG, the play as Python and as a command, and the link.

import { unravel } from "../kernel/games.js";
import { decimal, KINDS, specOf } from "../kernel/seats.js";
import { html, svg } from "./dom.js";
import { isNamed } from "./state.js";

const STYLED = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "stroke-linecap",
  "opacity",
  "font-size",
  "font-weight",
  "font-family",
  "text-anchor",
];
const SCALE = 2; // pixels of a PNG per pixel of the page

/** A picture that stands alone: every style it has on the page is written into it, on the page's own ground. */
export function standalone(picture) {
  const copy = picture.cloneNode(true);
  const [from, to] = [picture, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of STYLED) to[i].setAttribute(name, style.getPropertyValue(name));
  });
  to.filter((element) => element.classList.contains("handle")).forEach((element) =>
    element.remove(),
  );
  const { width, height } = picture.viewBox.baseVal;
  const ground = svg("rect", {
    width: width + 24,
    height: height + 24,
    x: -12,
    y: -12,
    fill: getComputedStyle(picture.closest(".card")).backgroundColor,
  });
  copy.prepend(ground);
  copy.setAttribute("viewBox", `-12 -12 ${width + 24} ${height + 24}`);
  copy.setAttribute("width", width + 24);
  copy.setAttribute("height", height + 24);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(copy);
}

function save(name, blob) {
  const link = html("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function savePng(name, picture) {
  const text = standalone(picture);
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = html("canvas", { width: image.width * SCALE, height: image.height * SCALE });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(`${name}.png`, blob));
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

/** Buttons that save every picture of a card. */
export function exportButtons(card) {
  const pictures = () => [...card.querySelectorAll("svg[role]")];
  const each = (act) => () =>
    pictures().forEach((picture, i) => act(`regrax-${card.id}${i ? `-${i + 1}` : ""}`, picture));
  const asSvg = (name, picture) =>
    save(`${name}.svg`, new Blob([standalone(picture)], { type: "image/svg+xml" }));
  const title = card.querySelector("h3").textContent;
  return html(
    "div",
    { class: "out" },
    html(
      "button",
      { type: "button", "aria-label": `Save ${title} as SVG`, onclick: each(asSvg) },
      "SVG",
    ),
    html(
      "button",
      { type: "button", "aria-label": `Save ${title} as PNG`, onclick: each(savePng) },
      "PNG",
    ),
  );
}

/** {text, note}: the play so far as a command; the note says what it cannot give. */
export function asCommand(state, zoo) {
  const rounds = Math.max(state.rounds, 1);
  if (state.seats.some((seat) => seat.layer?.builtIn)) {
    return {
      text: "",
      note: "A layer that comes with the page is in no file, so there is no command for it: copy as Python, or train your own (regrax train) and drop its checkpoint here.",
    };
  }
  const named = isNamed(state.game, zoo);
  const learners = state.seats.map((seat) => quoted(specOf(seat))).join(" ");
  const parts = [
    `regrax play ${named ? quoted(state.game.name) : "game.json"} --learners ${learners} --rounds ${rounds}`,
  ];
  if (state.starts.some(Boolean))
    parts.push(
      `--start ${state.starts.map((start) => (start ? Array.from(start).join(",") : "own")).join(" ")}`,
    );
  if (state.drawn) parts.push(`--seed ${state.seed}`);
  const play = parts.join(" ");
  const file = `printf '%s' ${quoted(gameJson(state.game))} > game.json`;
  return { text: named ? play : `${file} && ${play}`, note: noteOf(state) };
}

/** The same as a program. */
export function asPython(state, zoo) {
  const rounds = Math.max(state.rounds, 1);
  const lines = [
    "import jax",
    "import regrax as rx",
    "",
    'jax.config.update("jax_enable_x64", True)',
  ];
  lines.push(
    `game = ${isNamed(state.game, zoo) ? `rx.specs.parse_game(${JSON.stringify(state.game.name)})` : pythonGame(state.game)}`,
  );
  const layers = state.seats.flatMap((seat, n) => (seat.layer?.builtIn ? layerLines(seat, n) : []));
  const learners = state.seats.map((seat, n) => pythonLearner(seat, n));
  lines.push(...layers, `learners = [${learners.join(", ")}]`);
  const more = [`rounds=${rounds}`];
  if (state.starts.some(Boolean))
    more.push(
      `start=[${state.starts.map((start) => (start ? JSON.stringify(Array.from(start)) : "None")).join(", ")}]`,
    );
  if (state.drawn) more.push(`key=jax.random.key(${state.seed})`);
  lines.push(`play = rx.play(game, learners, ${more.join(", ")})`);
  lines.push(
    "print({name: float(gap) for name, gap in rx.games.joint_gaps(play.joint, game).items()})",
  );
  return { text: `${lines.join("\n")}\n`, note: noteOf(state) };
}

function pythonLearner(seat, n) {
  if (seat.layer?.builtIn) return `layer_${n + 1}`;
  if (!seat.layer) return `rx.specs.parse_learner(${JSON.stringify(specOf(seat))})`;
  return `rx.Checkpoint(${JSON.stringify(seat.layer.name)}${seat.layer.calibrated ? ", calibrated=True" : ""})`;
}

function noteOf(state) {
  const notes = [
    state.drawn
      ? "Drawn actions differ: Python has a generator of its own."
      : "It gives the numbers of this page.",
  ];
  if (state.seats.some((seat) => seat.layer && !seat.layer.builtIn))
    notes.push("Run it in the folder that holds the checkpoint.");
  return `Copied. ${notes.join(" ")}`;
}

function layerLines(seat, n) {
  const name = `layer_${n + 1}`;
  const array = (value) => `jax.numpy.array(${JSON.stringify(value)})`;
  const { heads, calibrated } = seat.layer;
  if (seat.kind === "linear_attention") {
    const { values, scores, bias } = heads[0];
    return [
      `${name} = rx.LinearAttention(${bias.length}, key=jax.random.key(0)).replaced(`,
      `    ${array(values)}, ${array(scores)}, ${array(bias)}`,
      ")",
    ];
  }
  const stacked = ["values", "scores", "bias"].map((part) =>
    array(heads.map((head) => head[part])),
  );
  const scaled = calibrated ? [`${name} = ${name}.calibrated()`] : [];
  return [
    "import equinox as eqx",
    `${name} = eqx.tree_at(`,
    "    lambda m: (m.values, m.scores, m.bias), rx.SwapAttention(3, key=jax.random.key(0)),",
    `    (${stacked.join(", ")}),`,
    ")",
    ...scaled,
  ];
}

function nested(table, sizes) {
  if (sizes.length === 1) return Array.from(table);
  const part = table.length / sizes[0];
  return Array.from({ length: sizes[0] }, (_, i) =>
    nested(table.slice(i * part, (i + 1) * part), sizes.slice(1)),
  );
}

export function gameJson({ name, players, actions, payoffs, sizes }) {
  return JSON.stringify({
    name,
    players,
    actions,
    payoffs: payoffs.map((table) => nested(table, sizes)),
  });
}

function pythonGame(game) {
  const { payoffs } = JSON.parse(gameJson(game));
  return `rx.Game(${JSON.stringify(payoffs)}, players=${JSON.stringify(game.players)}, actions=${JSON.stringify(game.actions)})`;
}

/** Text for a shell: in single quotes, whatever it holds. */
function quoted(text) {
  return /^[\w.,:/=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export const describeJoint = (game, index) =>
  unravel(index, game.sizes)
    .map((a, n) => game.actions[n][a])
    .join(", ");
export const labelOf = (seat) =>
  `${KINDS[seat.kind].label}${seat.value ? ` (${decimal(seat.value)})` : ""}`;
