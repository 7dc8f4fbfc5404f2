// The stationary distribution pi = P pi of a column-stochastic matrix (column i is where action i is sent).

import { normalise, sum, zeros } from "./vectors.js";

const TOLERANCE = 1e-10;
const STEPS = 64;

/** Power steps from a guess until ||P pi - pi||_1 <= 1e-10; elimination if 64 of them (or 4d) were not enough. */
export function stationary(columns, guess) {
  const d = columns.length;
  let pi = guess;
  for (let step = Math.max(STEPS, 4 * d); step > 0; step--) {
    const moved = times(columns, pi);
    let residual = 0;
    for (let i = 0; i < d; i++) residual += Math.abs(moved[i] - pi[i]);
    pi = moved;
    if (residual <= TOLERANCE) return normalise(pi);
  }
  return eliminate(columns);
}

function times(columns, pi) {
  const moved = zeros(pi.length);
  for (let i = 0; i < pi.length; i++) {
    const column = columns[i];
    for (let j = 0; j < pi.length; j++) moved[j] += column[j] * pi[i];
  }
  return moved;
}

/** Exact, without subtraction: censor the chain to ever fewer states, then build the distribution back up.
 *  Reference: Grassmann, Taksar, Heyman (1985), Regenerative analysis and steady state distributions. */
export function eliminate(columns) {
  const rates = columns.map((column) => Float64Array.from(column));
  const leaving = zeros(columns.length);
  for (let last = columns.length - 1; last > 0; last--) {
    leaving[last] = sum(rates[last].subarray(0, last));
    if (leaving[last] > 0) censor(rates, last, leaving[last]);
  }
  return grow(rates, leaving);
}

/** Paths through state `last` become direct: from i to j by way of it. */
function censor(rates, last, leaving) {
  for (let i = 0; i < last; i++) {
    const share = rates[i][last] / leaving;
    for (let j = 0; j < last; j++) rates[i][j] += rates[last][j] * share;
  }
}

function grow(rates, leaving) {
  let pi = Float64Array.of(1);
  for (let state = 1; state < rates.length; state++) {
    const grown = zeros(state + 1);
    if (leaving[state] > 0) {
      grown.set(pi);
      for (let i = 0; i < state; i++) grown[state] += (rates[i][state] / leaving[state]) * pi[i];
    } else {
      grown[state] = 1; // a state that is never left holds everything
    }
    pi = normalise(grown);
  }
  return pi;
}
