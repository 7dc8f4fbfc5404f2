// Starts: the policies of round 1, as people set them.

import { own } from "../kernel/games.js";
import { range, sum } from "../kernel/vectors.js";

const TASTES = [0.65, 0.55, 0.6]; // of one action, by player; alike, three players could walk straight to the centre
const LEAST = 0.001; // a start gives every action at least this

/** A start from weights: three decimals that sum to 1, none below the least. */
export function tidyStart(weights) {
  const raised = weights.map((p) => Math.max(Number.isFinite(p) ? p : 0, LEAST));
  const total = raised.reduce((x, y) => x + y, 0);
  const rounded = raised.map((p) => Math.max(Math.round((p / total) * 1000), 1));
  rounded[rounded.indexOf(Math.max(...rounded))] += 1000 - rounded.reduce((x, y) => x + y, 0);
  return rounded.map((p) => p / 1000);
}

/** The start of a player; uniform until it is moved. */
export function startOf(state, n) {
  return state.starts[n] ?? state.game.actions[n].map(() => 1 / state.game.sizes[n]);
}

/** Starts for a game: away from the centre if uniform play is an equilibrium, where nothing would move. */
export function startsFor(game) {
  const stands = game.sizes.every((_, n) => {
    const worth = own(game, n).map((row) => sum(row));
    return Math.max(...worth) - Math.min(...worth) < 1e-9;
  });
  if (!stands) return game.sizes.map(() => null);
  return game.sizes.map((d, n) => {
    const most = TASTES[n];
    return tidyStart(range(d).map((a) => ((a + n) % d === 0 ? most : (1 - most) / (d - 1 || 1))));
  });
}

/** A start at a mixed strategy: exact where every action is played, else as close as a start can be. */
export function startAt(strategy) {
  return strategy.every((p) => p >= LEAST) ? Array.from(strategy) : tidyStart(Array.from(strategy));
}
