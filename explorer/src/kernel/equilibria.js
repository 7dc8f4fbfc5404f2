// Equilibria: CE and CCE as linear programs, Nash equilibria of two players by vertices, pure ones of any number.
//
// A joint distribution mu is an equilibrium when no deviation gains:
//   CE    for all n, i, j   sum_{a: a_n = i} mu(a) (u_n(j, a_-n) - u_n(a)) <= 0
//   CCE   for all n, j      sum_a mu(a) (u_n(j, a_-n) - u_n(a)) <= 0
// Each player's rows are divided by the span of its payoffs.

import { columnsOf, jointCount, payoffsOf, unravel } from "./games.js";
import { Program, solveLinear } from "./programs.js";
import { dot, largest, normalise, outer, range, smallest, zeros } from "./vectors.js";

const SAME = 1e-9; // payoffs, of span 1, that count as equal

/** One player's payoffs, own action first, shifted and divided to lie in [0, 1]. */
function scaled(game, player) {
  const table = game.payoffs[player];
  const low = smallest(table);
  const span = largest(table) - low || 1;
  return columnsOf(game.sizes, player).map((row) =>
    Float64Array.from(row, (a) => (table[a] - low) / span),
  );
}

/** The rows of the program: what each deviation gains at every joint action. */
export function incentives(game, concept) {
  return game.sizes.flatMap((_, player) => {
    const payoffs = scaled(game, player);
    const columns = columnsOf(game.sizes, player);
    const told = concept === "ce" ? range(payoffs.length).map((i) => [i]) : [range(payoffs.length)];
    return told.flatMap((from) =>
      range(payoffs.length)
        .filter((j) => from.length > 1 || from[0] !== j)
        .map((j) => gains(jointCount(game), payoffs, columns, from, j)),
    );
  });
}

function gains(count, payoffs, columns, from, j) {
  const row = zeros(count);
  for (const i of from) {
    columns[i].forEach((a, k) => (row[a] = payoffs[j][k] - payoffs[i][k]));
  }
  return row;
}

/** An equilibrium of the largest `welfare` (sum of payoffs) or `minimum` (payoff of whoever gets least). */
export function correlated(game, concept, objective = "welfare") {
  const find = objective === "minimum" ? fairest : wealthiest;
  const joint = normalise(find(game, incentives(game, concept)));
  const payoffs = payoffsOf(game, joint);
  return { joint, payoffs, value: objectiveOf(payoffs, objective) };
}

function objectiveOf(payoffs, objective) {
  return objective === "minimum" ? Math.min(...payoffs) : payoffs.reduce((x, y) => x + y, 0);
}

function wealthiest(game, rows) {
  const count = jointCount(game);
  const total = range(count).map((a) => game.payoffs.reduce((sum, table) => sum + table[a], 0));
  const scale = Math.max(...total.map(Math.abs)) || 1;
  return new Program(rows, count, count).maximise(total.map((u) => u / scale)).solution;
}

/** One more variable z >= 0 below every player's payoff, once payoffs are shifted above 0. */
function fairest(game, rows) {
  const count = jointCount(game);
  const low = Math.min(...game.payoffs.map(smallest));
  const span = Math.max(...game.payoffs.map(largest)) - low || 1;
  const below = game.payoffs.map((table) => [...table.map((u) => -(u - low) / span), 1]);
  const program = new Program([...rows.map((row) => [...row, 0]), ...below], count + 1, count);
  return program.maximise([...zeros(count), 1]).solution.slice(0, count);
}

/** All joint actions from which nobody gains by leaving alone. */
export function pureEquilibria(game) {
  const best = game.sizes.map((_, n) => bestReplies(game, n));
  return range(jointCount(game))
    .filter((a) => best.every((replies) => replies[a]))
    .map((a) => unravel(a, game.sizes));
}

function bestReplies(game, player) {
  const rows = columnsOf(game.sizes, player);
  const isBest = new Array(jointCount(game)).fill(false);
  rows[0].forEach((_, k) => {
    const worth = rows.map((row) => game.payoffs[player][row[k]]);
    const most = Math.max(...worth);
    rows.forEach((row, i) => (isBest[row[k]] = worth[i] >= most));
  });
  return isBest;
}

/** Nash equilibria as mixed strategies: all extreme ones of two players, the pure ones of three. */
export function nashEquilibria(game) {
  const profiles = game.sizes.length === 2 ? extremePairs(game) : pureProfiles(game);
  return profiles.map((strategies) => {
    const joint = outer(strategies);
    return { strategies, joint, payoffs: payoffsOf(game, joint) };
  });
}

function pureProfiles(game) {
  return pureEquilibria(game).map((joint) =>
    joint.map((a, n) => Float64Array.from({ length: game.sizes[n] }, (_, i) => +(i === a))),
  );
}

/** Pairs of vertices whose supports are best replies to each other, small supports first.
 *  Reference: Mangasarian (1964), Equilibrium points of bimatrix games. */
function extremePairs(game) {
  const [first, second] = [scaled(game, 0), scaled(game, 1)];
  const [xs, ys] = [vertices(second), vertices(first)];
  const pairs = xs.flatMap((x) =>
    ys.filter((y) => replies(first, y, x) && replies(second, x, y)).map((y) => [x, y]),
  );
  const support = (pair) =>
    pair.reduce((count, side) => count + side.filter((p) => p > SAME).length, 0);
  return pairs.sort((a, b) => support(a) - support(b));
}

/** Whether every action that `mine` plays is a best reply to `theirs`. */
function replies(payoffs, theirs, mine) {
  const worth = payoffs.map((row) => dot(row, theirs));
  const most = Math.max(...worth);
  return worth.every((value, i) => mine[i] <= SAME || value >= most - SAME);
}

/** The vertices of the mixed strategies over the columns against which rows are best replies. */
function vertices(payoffs) {
  const [rows, columns] = [payoffs.length, payoffs[0].length];
  const strategies = new Map();
  for (let size = 1; size <= Math.min(rows, columns); size++) {
    for (const equal of subsets(rows, size)) {
      for (const support of subsets(columns, size)) {
        const strategy = indifferent(payoffs, equal, support);
        if (strategy)
          strategies.set(Array.from(strategy, (p) => Math.round(p * 1e8)).join(), strategy);
      }
    }
  }
  return [...strategies.values()];
}

/** The one strategy on `support` that makes the rows `equal` best replies of equal worth, or null. */
function indifferent(payoffs, equal, support) {
  const size = support.length;
  const system = equal.map((i) => [...support.map((j) => payoffs[i][j]), -1]);
  system.push([...new Array(size).fill(1), 0]);
  const right = zeros(size + 1);
  right[size] = 1;
  const weights = solveLinear(system, right);
  if (!weights || support.some((_, k) => weights[k] < -SAME)) return null;
  const strategy = zeros(payoffs[0].length);
  support.forEach((j, k) => (strategy[j] = Math.max(weights[k], 0)));
  normalise(strategy);
  const worth = payoffs.map((row) => dot(row, strategy));
  return Math.max(...worth) <= Math.min(...equal.map((i) => worth[i])) + SAME ? strategy : null;
}

function subsets(n, size, from = 0) {
  if (size === 0) return [[]];
  const all = [];
  for (let i = from; i <= n - size; i++) {
    for (const rest of subsets(n, size - 1, i + 1)) all.push([i, ...rest]);
  }
  return all;
}
