// Starts: the policies of round 1, as people set them.

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
