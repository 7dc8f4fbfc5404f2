// Step sizes: the stationary step k*(d, T) from a table, the classical step, and what bounds promise.

import { STEPS } from "../data/theory.js";

/** sqrt(T) k*(d, T): listed for short horizons, a Chebyshev polynomial in 1/T beyond; `STEPS.error` is its error. */
export function stationaryStep(actions, horizon) {
  const row = STEPS.actions[actions];
  if (!row || !(horizon >= 2)) return null;
  const listed = Number.isInteger(horizon) ? row.listed[horizon - 2] : undefined;
  const beyond = Math.max(horizon, STEPS.from);
  const scaled = listed ?? chebyshev(row.beyond, (2 * STEPS.from) / beyond - 1);
  return scaled / Math.sqrt(horizon);
}

/** sum_k c_k T_k(x) by Clenshaw's recurrence. */
function chebyshev(coefficients, x) {
  let [later, next] = [0, 0];
  for (let k = coefficients.length - 1; k > 0; k--) {
    [later, next] = [next, 2 * x * next - later + coefficients[k]];
  }
  return x * next - later + coefficients[0];
}

/** sqrt(8 ln d / T) / w, which makes Hedge's bound smallest for losses that span w. */
export function classicalStep(actions, horizon, width = 1) {
  return Math.sqrt((8 * Math.log(actions)) / horizon) / (width || 1);
}

/** ln(1 / smallest prior) / k + w^2 k T / 8; uniform prior: ln d / k. */
export function hedgeBound(step, actions, rounds, width, start = null) {
  return farthest(actions, start) / step + (width ** 2 * step * rounds) / 8;
}

export function optimisticBound(step, actions, rounds, width, start = null) {
  return farthest(actions, start) / step + (width ** 2 * step * rounds) / 2;
}

export function matchingBound(actions, rounds, width) {
  return width * Math.sqrt((actions - 1) * rounds);
}

function farthest(actions, start) {
  return start ? -Math.log(Math.min(...start)) : Math.log(actions);
}
