// The Gaussian perturbed leader: P(argmin_j (S_j + sigma G_j) = .), G standard normal, exact to rounding.
//
// With g_j = (S_j - min S) / sigma,  pi_j = integral of H_j(z) P(z) dz,  P = prod_i Q(z - g_i),  H_j = phi/Q at z - g_j:
// the trapezoid rule on one grid, as in `regrax.learners.perturbed_leader`.

import { normalise, smallest, zeros } from "./vectors.js";

const DIGITS = 37; // the integrand is followed down to exp(-37), below rounding
const SPACING = 0.5; // of the trapezoid rule for erfc, whose error is exp(-(pi / spacing)^2) = 7e-18
const NODES = Array.from({ length: 13 }, (_, k) => (k + 1) ** 2 * SPACING ** 2);
const WEIGHTS = NODES.map((square) => 2 * Math.exp(-square));
const grids = new Map();

/** The complementary error function to about 1e-15, relative. */
export function erfc(x) {
  if (x < 0) return 2 - erfc(-x);
  return x < 1 ? 1 - series(x) : tail(x);
}

/** erf(x) = 2/sqrt(pi) exp(-x^2) sum_n 2^n x^(2n+1) / (2n+1)!!, every term positive. */
function series(x) {
  const square = 2 * x * x;
  let term = x;
  let total = x;
  for (let n = 3; term > 1e-17 * total; n += 2) {
    term *= square / n;
    total += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * total;
}

/** erfc(x) = 1/pi integral of x exp(-x^2 - u^2) / (x^2 + u^2) du by the trapezoid rule, and the pole that it misses.
 *  Reference: Chiarella, Reichel (1968), On the evaluation of integrals related to the error function. */
function tail(x) {
  const square = x * x;
  let total = 1 / square;
  for (let k = 0; k < NODES.length; k++) total += WEIGHTS[k] / (NODES[k] + square);
  const pole = 2 / (Math.exp((2 * Math.PI * x) / SPACING) - 1);
  return ((SPACING * x) / Math.PI) * Math.exp(-square) * total - pole;
}

/** The chance of every action to lead once noise of size `scale` is added to the totals. */
export function perturbedLeader(total, scale) {
  const least = smallest(total);
  const odds = zeros(total.length);
  const hazards = zeros(total.length);
  for (const z of nodes(total.length)) {
    let survive = 1;
    for (let j = 0; j < total.length; j++) {
      const x = z - (total[j] - least) / scale;
      const tails = erfc(x * Math.SQRT1_2) / 2;
      hazards[j] = Math.exp((-x * x) / 2) / tails;
      survive *= tails;
    }
    for (let j = 0; j < total.length; j++) odds[j] += survive * hazards[j];
  }
  return normalise(odds);
}

/** The spacing shrinks with the number of actions because the law of the smallest normal does. */
function nodes(actions) {
  if (!grids.has(actions)) {
    const step = Math.min(2.4 / Math.sqrt(DIGITS), 24 / DIGITS / Math.log(actions + 1));
    const low = -Math.sqrt(2 * (DIGITS + Math.log(actions)));
    const count = Math.ceil((Math.sqrt(2 * DIGITS) + step - low) / step);
    grids.set(
      actions,
      Array.from({ length: count }, (_, i) => low + i * step),
    );
  }
  return grids.get(actions);
}
