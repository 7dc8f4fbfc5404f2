// Figures of the story that play a game themselves.

import { stationary } from "../kernel/chains.js";
import { makeGame } from "../kernel/games.js";
import { hedge } from "../kernel/learners.js";
import { Run } from "../kernel/play.js";
import { learnerOf, parseSeat } from "../kernel/seats.js";
import { Chart, shownRounds } from "./chart.js";
import { frame, html, short, svg } from "./dom.js";

const ROUNDS = 1000;
const MATRIX_ROUND = 40; // when the matrix is shown
const SHAPLEY = {
  payoffs: [
    [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ],
    [
      [0, 1, 0],
      [0, 0, 1],
      [1, 0, 0],
    ],
  ],
};

/** A 3 x 3 matrix of signed numbers, blue above zero and orange below; `most` has the full colour. */
export function matrixPicture(title, most = 1) {
  const size = 58;
  const cells = Array.from({ length: 9 }, (_, i) => {
    const x = (i % 3) * size;
    const y = Math.floor(i / 3) * size;
    const rect = svg("rect", { class: "cell", x, y, width: size, height: size, rx: 6 });
    const text = svg("text", { class: "cell-text on", x: x + size / 2, y: y + size / 2 + 4 });
    return { rect, text };
  });
  const parts = cells.flatMap(({ rect, text }) => [rect, text]);
  const picture = svg("svg", { role: "img", class: "matrix" }, ...parts);
  frame(picture, 3 * size, 3 * size);
  const show = (rows) => {
    cells.forEach(({ rect, text }, i) => {
      const value = rows[Math.floor(i / 3)][i % 3];
      rect.setAttribute("class", `cell f-n${value < 0 ? 1 : 0}`);
      rect.setAttribute("fill-opacity", (0.05 + (0.75 * Math.abs(value)) / most).toFixed(3));
      text.textContent = (Math.round(value * 1000) / 1000 + 0).toFixed(3);
    });
    const words = rows.map((row) => row.map((v) => v.toFixed(2)).join(" ")).join("; ");
    picture.setAttribute("aria-label", `${title}: ${words}`);
  };
  return { element: html("div", { class: "picture" }, html("h4", {}, title), picture), show };
}

function played(spec, starts) {
  const run = new Run(
    makeGame(SHAPLEY),
    [0, 1].map(() => learnerOf(parseSeat(spec))),
    { starts },
  );
  run.advance(ROUNDS);
  return run;
}

function gapSeries(run, name) {
  const x = shownRounds(run.round, true);
  return { x, y: x.map((t) => run.gaps[name].at(t - 1)) };
}

/** CCE and swap gap of the same play: one falls, one does not. */
export function gapsFigure(body, _, starts) {
  const run = played("hedge(0.3)", starts);
  const place = html("div");
  const last = (name) => short(run.gaps[name].at(ROUNDS - 1), 2);
  body.append(
    place,
    html(
      "p",
      { class: "note" },
      `Hedge against Hedge, ${ROUNDS} rounds: CCE gap ${last("cce")}, swap gap ${last("swap")}.`,
    ),
  );
  const lines = {
    cce: { label: "CCE gap", style: "s-cce" },
    swap: { label: "swap gap", style: "s-swap dashed" },
  };
  const chart = new Chart(place, {
    lines,
    label: "CCE and swap gap of Hedge in Shapley's game",
    height: 300,
    xLog: true,
    yLog: true,
  });
  chart.update({ cce: gapSeries(run, "cce"), swap: gapSeries(run, "swap") }, ROUNDS);
}

/** The swap gaps of Hedge and of Blum-Mansour, and the matrix with its fixed point. */
export function fixedPointFigure(body, _, starts) {
  const [plain, swapped] = [
    played("hedge(0.3)", starts),
    played("blum_mansour(hedge(1.0))", starts),
  ];
  const place = html("div");
  const matrix = matrixPicture("P: column i answers for action i");
  const { columns, policy } = lastMatrix(swapped);
  matrix.show([0, 1, 2].map((row) => columns.map((column) => column[row])));
  const words = html(
    "p",
    { class: "note" },
    `Player 1 after ${MATRIX_ROUND} rounds: P leaves the mix (${Array.from(policy, (p) => p.toFixed(3)).join(", ")}) as it is.`,
  );
  body.append(place, html("div", { class: "row" }, matrix.element, words));
  words.style.flex = "1 1 10rem";
  const lines = {
    hedge: { label: "swap gap, Hedge", style: "s-swap dashed" },
    fixed: { label: "swap gap, with the fixed point", style: "s-n1" },
  };
  const chart = new Chart(place, {
    lines,
    label: "Swap gap of Hedge and of Blum-Mansour in Shapley's game",
    height: 190,
    xLog: true,
    yLog: true,
  });
  chart.update({ hedge: gapSeries(plain, "swap"), fixed: gapSeries(swapped, "swap") }, ROUNDS);
}

/** The copies of player 1 as they stand early on: play is replayed from what was recorded. */
function lastMatrix(run) {
  const seat = run.players[0];
  const heads = [0, 1, 2].map(() => hedge(1.0)(3));
  for (let t = 0; t < MATRIX_ROUND; t++) {
    const other = run.players[1].policies.map((column) => column.at(t));
    const loss = run.tables[0].map((row) => -row.reduce((total, u, k) => total + u * other[k], 0));
    heads.forEach((head, i) => head.update(loss.map((l) => seat.policies[i].at(t) * l)));
  }
  const columns = heads.map((head) => head.policy());
  return { columns, policy: stationary(columns, heads[0].policy()) };
}
