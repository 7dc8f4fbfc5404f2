// Runs what a test asks of the kernel: node kernel_runner.mjs KERNEL_FOLDER < asked.json > answers.json

import { readFileSync } from "node:fs";

const folder = process.argv[2];
const load = (name) => import(`file://${folder}/${name}.js`);
const [games, seats, play, equilibria, polygons, steps, formats, checkpoints, gaussian, chains] = await Promise.all(
  ["games", "seats", "play", "equilibria", "polygons", "steps", "formats", "checkpoints", "gaussian", "chains"].map(load),
);
const plain = (value) => (ArrayBuffer.isView(value) ? Array.from(value) : value);

export const answers = {
  play({ payoffs, seats: seated, starts, rounds, seed }) {
    const game = games.makeGame({ payoffs });
    const learners = seated.map((seat) => seats.learnerOf(typeof seat === "string" ? seats.parseSeat(seat) : seat));
    const run = new play.Run(game, learners, { starts, seed });
    run.advance(rounds);
    const series = ({ values, length }) => Array.from(values.subarray(0, length));
    return {
      policies: run.players.map((seat) => seat.policies.map(series)),
      gaps: Object.fromEntries(play.GAPS.map((name) => [name, series(run.gaps[name])])),
      regrets: run.players.map((seat) => play.REGRETS.map((kind) => series(seat.regrets[kind]))),
      joint: Array.from(run.jointMean()),
    };
  },
  correlated({ payoffs, concept, objective }) {
    const solved = equilibria.correlated(games.makeGame({ payoffs }), concept, objective);
    return { ...solved, joint: Array.from(solved.joint) };
  },
  nash: ({ payoffs }) =>
    equilibria.nashEquilibria(games.makeGame({ payoffs })).map(({ strategies, payoffs: paid }) => ({
      strategies: strategies.map(plain),
      payoffs: paid,
    })),
  polygon({ payoffs, concept }) {
    const search = polygons.equilibriumPolygon(games.makeGame({ payoffs }), concept, [0, 1]);
    for (;;) {
      const { value, done } = search.next();
      if (done) return value;
    }
  },
  step: ({ actions, horizon }) => steps.stationaryStep(actions, horizon),
  bound: ({ spec, actions, rounds, width }) => seats.boundOf(seats.parseSeat(spec), actions, rounds, width, null),
  game({ name, text }) {
    const game = formats.readGame(name, text);
    return { ...game, payoffs: game.payoffs.map(plain) };
  },
  checkpoint: ({ name, bytes }) => checkpoints.readCheckpoint(name, Uint8Array.from(bytes).buffer),
  erfc: ({ points }) => points.map(gaussian.erfc),
  stationary: ({ columns }) => plain(chains.eliminate(columns)),
};

function answer(asked) {
  try {
    return { found: answers[asked.what](asked) };
  } catch (error) {
    return { error: error.message };
  }
}

const replacer = (_, value) => plain(value);
process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(answer), replacer));
