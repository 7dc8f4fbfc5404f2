// Games: payoffs u[n][a_1, ..., a_N], flattened with the first player slowest, and labels for people to read.

import { range, sum, zeros } from "./vectors.js";

export const MAX_ACTIONS = 6;

/** A game from nested or flat payoffs; labels are filled in. Raises if it is larger than the page takes. */
export function makeGame({ name = "", players, actions, payoffs, sizes }) {
  const shape = sizes ?? shapeOf(payoffs[0]);
  checkSizes(shape, payoffs.length);
  const count = shape.reduce((product, d) => product * d, 1);
  const flat = payoffs.map((table) => Float64Array.from(table.flat(Infinity)));
  for (const table of flat) checkTable(table, count, shape);
  return {
    name: String(name),
    sizes: shape,
    players: labels(players, shape.length, (n) => `player ${n + 1}`),
    actions: shape.map((d, n) => labels(actions?.[n], d, (a) => `${a + 1}`)),
    payoffs: flat,
  };
}

function labels(given, count, otherwise) {
  if (given && given.length !== count) {
    throw new Error(`expected ${count} names, got ${given.length}`);
  }
  return range(count).map((i) => String(given?.[i] ?? otherwise(i)));
}

function checkSizes(sizes, tables) {
  if (tables !== sizes.length || sizes.length < 2 || sizes.length > 3) {
    throw new Error(
      `expected a game of 2 or 3 players, got ${tables} payoff tables of ${sizes.length} axes`,
    );
  }
  if (sizes.some((d) => !(d >= 1 && d <= MAX_ACTIONS))) {
    throw new Error(`expected 1 to ${MAX_ACTIONS} actions per player, got ${sizes.join(" x ")}`);
  }
}

function checkTable(table, count, sizes) {
  if (table.length !== count) {
    throw new Error(
      `expected ${count} payoffs per player for ${sizes.join(" x ")} actions, got ${table.length}`,
    );
  }
  if (!table.every(Number.isFinite)) throw new Error("payoffs must be finite numbers");
}

function shapeOf(nested) {
  return Array.isArray(nested) ? [nested.length, ...shapeOf(nested[0])] : [];
}

/** The joint action at a flat index. */
export function unravel(index, sizes) {
  const joint = [];
  for (let n = sizes.length - 1; n >= 0; n--) {
    joint[n] = index % sizes[n];
    index = Math.floor(index / sizes[n]);
  }
  return joint;
}

export function ravel(joint, sizes) {
  return joint.reduce((index, a, n) => index * sizes[n] + a, 0);
}

/** The names of a joint action. */
export const outcome = (game, index) =>
  unravel(index, game.sizes)
    .map((a, n) => game.actions[n][a])
    .join(", ");

export const jointCount = (game) => game.payoffs[0].length;

/** Where each entry of `own` sits in the flat table: [own action][joint action of the others]. */
export function columnsOf(sizes, player) {
  const rows = Array.from({ length: sizes[player] }, () => []);
  const count = sizes.reduce((product, d) => product * d, 1);
  range(count).forEach((index) => rows[unravel(index, sizes)[player]].push(index));
  return rows;
}

/** One player's payoffs as a matrix: its own action by the joint action of the others. */
export function own(game, player) {
  const table = game.payoffs[player];
  return columnsOf(game.sizes, player).map((row) =>
    Float64Array.from(row, (index) => table[index]),
  );
}

/** The largest span of a player's losses in one round. */
export function width(game, player) {
  const rows = own(game, player);
  const spans = range(rows[0].length).map((k) => {
    const column = rows.map((row) => row[k]);
    return Math.max(...column) - Math.min(...column);
  });
  return Math.max(...spans);
}

/** What the players are paid on average under a joint distribution. */
export function payoffsOf(game, joint) {
  return game.payoffs.map((table) => table.reduce((total, u, a) => total + u * joint[a], 0));
}

export function marginals(joint, sizes) {
  return sizes.map((d, n) => {
    const rows = columnsOf(sizes, n);
    return Float64Array.from(rows, (row) => sum(row.map((index) => joint[index])));
  });
}

export function isZeroSum(game) {
  if (game.sizes.length !== 2) return false;
  const total = game.payoffs[0].map((u, a) => u + game.payoffs[1][a]);
  const most = Math.max(...game.payoffs.flatMap((table) => Array.from(table, Math.abs)));
  return Math.max(...total) - Math.min(...total) <= 1e-12 * most;
}

/** The game with one more, or one fewer, action of a player. */
export function resized(game, player, size) {
  const sizes = game.sizes.map((d, n) => (n === player ? size : d));
  const count = sizes.reduce((product, d) => product * d, 1);
  const payoffs = game.payoffs.map((table) => {
    const next = zeros(count);
    for (let index = 0; index < count; index++) {
      const joint = unravel(index, sizes);
      if (joint[player] < game.sizes[player]) next[index] = table[ravel(joint, game.sizes)];
    }
    return Array.from(next);
  });
  const actions = game.actions.map((names, n) => (n === player ? relabelled(names, size) : names));
  return makeGame({ name: "", players: game.players, actions, payoffs, sizes });
}

function relabelled(names, size) {
  return range(size).map((a) => names[a] ?? `${a + 1}`);
}
