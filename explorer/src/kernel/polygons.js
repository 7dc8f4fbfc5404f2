// Shapes of the payoff plane: what two players can be paid at all, and in equilibrium.

import { incentives } from "./equilibria.js";
import { jointCount, payoffsOf } from "./games.js";
import { Program } from "./programs.js";
import { range } from "./vectors.js";

const FLAT = 1e-9; // of the span: a vertex must stand out by this

/** The convex hull of points, counterclockwise, by Andrew's monotone chain. */
export function hull(points) {
  const sorted = [...points].sort((p, q) => p[0] - q[0] || p[1] - q[1]);
  const chain = (ordered) => {
    const outer = [];
    for (const point of ordered) {
      while (outer.length > 1 && turn(outer.at(-2), outer.at(-1), point) <= 0) outer.pop();
      outer.push(point);
    }
    return outer.slice(0, -1);
  };
  const outline = [...chain(sorted), ...chain(sorted.reverse())];
  return outline.length ? outline : [points[0]];
}

function turn(o, a, b) {
  return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
}

/** Everything the two players can be paid: the hull of the payoffs of joint actions. */
export function feasible(game, [first, second]) {
  return hull(
    range(jointCount(game)).map((a) => [game.payoffs[first][a], game.payoffs[second][a]]),
  );
}

/** The payoffs of all equilibria of a concept, exactly: a generator that stops after every program it solves.
 *
 *  The polygon between vertices found so far is pushed outwards edge by edge until no program goes beyond it. */
export function* equilibriumPolygon(game, concept, [first, second]) {
  const program = new Program(incentives(game, concept), jointCount(game), jointCount(game));
  const [x, y] = [game.payoffs[first], game.payoffs[second]];
  const [wide, high] = [spanOf(x), spanOf(y)];
  const farthest = ([u, v]) => {
    const direction = range(jointCount(game)).map((a) => (u * x[a]) / wide + (v * y[a]) / high);
    const { solution } = program.maximise(direction);
    const paid = payoffsOf(game, solution);
    return [paid[first] / wide, paid[second] / high];
  };
  let corners = [];
  for (const direction of [
    [1, 0],
    [0, 1],
    [-1, 0],
    [0, -1],
  ]) {
    corners.push(farthest(direction));
    yield null;
  }
  corners = distinct(corners);
  yield* pushOutwards(corners, farthest);
  return hull(corners).map(([u, v]) => [u * wide, v * high]);
}

function* pushOutwards(corners, farthest) {
  for (let again = true; again;) {
    again = false;
    for (const [a, b] of edges(hull(corners))) {
      const normal = [b[1] - a[1], a[0] - b[0]];
      const length = Math.hypot(...normal);
      if (length < FLAT) continue;
      const [u, v] = normal.map((part) => part / length);
      const point = farthest([u, v]);
      yield null;
      if (u * point[0] + v * point[1] > u * a[0] + v * a[1] + FLAT) {
        corners.push(point);
        again = true;
      }
    }
  }
}

function edges(outline) {
  if (outline.length < 2) return [];
  return outline.map((point, i) => [point, outline[(i + 1) % outline.length]]);
}

function distinct(points) {
  return points.filter(
    (p, i) => !points.slice(0, i).some((q) => Math.hypot(p[0] - q[0], p[1] - q[1]) < FLAT),
  );
}

function spanOf(table) {
  return Math.max(...table) - Math.min(...table) || 1;
}
