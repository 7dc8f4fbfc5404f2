// What leaves the page: pictures as SVG and PNG, the play as Python and as a command, and the link.

import { decimal, KINDS, specOf } from "../kernel/seats.js";
import { html, set, svg } from "./dom.js";
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
const NAMESPACE = "http://www.w3.org/2000/svg";
const SCALE = 2; // pixels of a PNG per pixel of the page

function styled(element) {
  const copy = element.cloneNode(true);
  const [from, to] = [element, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const name of STYLED) to[i].setAttribute(name, style.getPropertyValue(name));
  });
  to.filter((node) => node.matches(".handle, .rule")).forEach((node) => node.remove());
  return copy;
}

/** A card as one picture: title, pictures and legends where they are on the page, every style written in. */
export function standalone(card, caption) {
  const outer = card.getBoundingClientRect();
  const root = svg("svg");
  let bottom = 0;
  const place = (element, make) => {
    const box = element.getBoundingClientRect();
    if (!box.width) return;
    const x = box.left - outer.left;
    const y = box.top - outer.top;
    bottom = Math.max(bottom, y + box.height);
    root.append(make({ x, y, width: box.width, height: box.height }));
  };
  const text = (words, style) => {
    return ({ x, y, height }) => {
      const look = {
        fill: style.color,
        "font-size": style.fontSize,
        "font-weight": style.fontWeight,
      };
      const at = { x, y: y + 0.72 * height, "font-family": style.fontFamily };
      return svg("text", { ...look, ...at }, words);
    };
  };
  for (const picture of card.querySelectorAll("svg"))
    place(picture, (box) => {
      const copy = styled(picture);
      Object.entries(box).forEach(([name, value]) => copy.setAttribute(name, value));
      copy.setAttribute("overflow", "visible");
      return copy;
    });
  for (const label of card.querySelectorAll("h3, h4, .legend span, .legend b"))
    place(label, text(label.textContent, getComputedStyle(label)));
  const ink = getComputedStyle(card.querySelector(".legend span, h3"));
  const height = bottom + 40;
  const small = { color: ink.color, fontSize: "12px", fontFamily: ink.fontFamily };
  root.append(text(caption, small)({ x: 16, y: bottom + 8, height: 16 }));
  const fill = getComputedStyle(card).backgroundColor;
  root.prepend(svg("rect", { width: outer.width, height, fill }));
  set(root, { xmlns: NAMESPACE, width: outer.width, height });
  set(root, { viewBox: `0 0 ${outer.width} ${height}` });
  return new XMLSerializer().serializeToString(root);
}

function save(name, blob) {
  const link = html("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function savePng(name, text) {
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = html("canvas", { width: image.width * SCALE, height: image.height * SCALE });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(`${name}.png`, blob));
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

/** Buttons that save a card; `caption()` says what is played. */
export function exportButtons(card, caption) {
  const name = `regrax-${card.id}`;
  const title = card.querySelector("h3").textContent;
  const asSvg = (text) => save(`${name}.svg`, new Blob([text], { type: "image/svg+xml" }));
  const asPng = (text) => savePng(name, text);
  const button = (kind, act) =>
    html(
      "button",
      {
        type: "button",
        "aria-label": `Save ${title} as ${kind}`,
        onclick: () => act(standalone(card, caption())),
      },
      kind,
    );
  return html("div", { class: "out" }, button("SVG", asSvg), button("PNG", asPng));
}

const BY_HAND =
  "Rounds played by hand have no command and no program: copy the link, which holds your moves.";

/** {text, note}: the play so far as a command; the note says what it cannot give. */
export function asCommand(state, zoo) {
  const rounds = Math.max(state.rounds, 1);
  if (state.seats[0].kind === "hand") return { text: "", note: BY_HAND };
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
  for (const [name, policies] of beginnings(state))
    parts.push(`--${name} ${policies.map((p) => (p ? Array.from(p).join(",") : "own")).join(" ")}`);
  if (state.drawn) parts.push(`--seed ${state.seed}`);
  const play = parts.join(" ");
  const file = `printf '%s' ${quoted(gameJson(state.game))} > game.json`;
  return { text: named ? play : `${file} && ${play}`, note: noteOf(state) };
}

/** The same as a program. */
export function asPython(state, zoo) {
  if (state.seats[0].kind === "hand") return { text: "", note: BY_HAND };
  const rounds = Math.max(state.rounds, 1);
  const named = isNamed(state.game, zoo);
  const game = named ? JSON.stringify(state.game.name) : "game";
  const learners = state.seats.map(pythonLearner);
  const isSame = learners.every((text) => text === learners[0]);
  const more = [isSame ? learners[0] : `[${learners.join(", ")}]`, rounds];
  for (const [name, policies] of beginnings(state))
    more.push(`${name}=[${policies.map(pythonStart).join(", ")}]`);
  if (state.drawn) more.push(`key=jax.random.key(${state.seed})`);
  const lines = [
    "import jax",
    "import regrax as rx",
    "",
    'jax.config.update("jax_enable_x64", True)',
    ...(named ? [] : [`game = ${pythonGame(state.game)}`]),
    ...state.seats.flatMap((seat, n) => (seat.layer?.builtIn ? layerLines(seat, n) : [])),
    `play = rx.play(${game}, ${more.join(", ")})`,
    `gaps = rx.games.joint_gaps(play.joint, ${game})`,
    "print({name: float(gap) for name, gap in gaps.items()})",
  ];
  return { text: `${lines.join("\n")}\n`, note: noteOf(state) };
}

const WITH_PRIOR = new Set([
  "hedge",
  "optimistic_hedge",
  "regret_matching",
  "regret_matching_plus",
  "blum_mansour",
]);

/** What Python calls the starts: priors of learners that have one, policies of round 1 of the others. */
function beginnings({ starts, seats }) {
  const only = (isPrior) =>
    starts.map((start, n) => (WITH_PRIOR.has(seats[n].kind) === isPrior ? start : null));
  const both = [
    ["prior", only(true)],
    ["start", only(false)],
  ];
  return both.filter(([, policies]) => policies.some(Boolean));
}

const pythonStart = (start) => (start ? JSON.stringify(Array.from(start)) : '"own"');

function pythonLearner(seat, n) {
  if (seat.layer?.builtIn) return `layer_${n + 1}`;
  if (!seat.layer) return JSON.stringify(specOf(seat));
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

const labelOf = (seat) =>
  `${KINDS[seat.kind].label}${seat.value ? ` (${decimal(seat.value)})` : ""}`;

/** Who plays whom, in words. */
export function pairing(seats) {
  const names = seats.map(labelOf);
  const isSame = names.every((name) => name === names[0]);
  return isSame && names.length ? `${names[0]}, each player` : names.join(" against ");
}
