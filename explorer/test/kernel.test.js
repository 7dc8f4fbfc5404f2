import assert from "node:assert/strict";
import { test } from "node:test";

import { parseNumber } from "../src/kernel/formats.js";
import { makeGame, ravel, unravel } from "../src/kernel/games.js";
import { Run } from "../src/kernel/play.js";
import { KINDS, learnerOf, parseSeat, specOf } from "../src/kernel/seats.js";
import { softmax } from "../src/kernel/vectors.js";
import { worstCase } from "../src/kernel/worst.js";

test("specs and seats name the same learner", () => {
  for (const spec of ["hedge(0.25)", "blum_mansour(hedge(1.0))", "optimal(20)", "uniform()"]) {
    assert.equal(specOf(parseSeat(spec)), spec);
  }
  assert.throws(() => parseSeat("hedge(0)"), /step must be above 0, got 0/);
  assert.throws(() => parseSeat("constructor()"), /no learner here is constructor/);
});

test("numbers are read as people write them", () => {
  assert.deepEqual(["2", "-1.5", "7/2", " 1e3 "].map(parseNumber), [2, -1.5, 3.5, 1000]);
  for (const text of ["", "x", "1/0", "0x10", "1 2"]) {
    assert.throws(() => parseNumber(text), /expected a number/);
  }
});

test("joint actions and flat indices are inverse", () => {
  const sizes = [2, 3, 4];
  for (let index = 0; index < 24; index++) {
    assert.equal(ravel(unravel(index, sizes), sizes), index);
  }
});

test("policies of every learner are distributions", () => {
  const payoffs = [
    [
      [1, -1, 0],
      [-1, 1, 0],
      [0, 2, -2],
    ],
    [
      [-1, 1, 3],
      [1, -1, 0],
      [0, 0, 1],
    ],
  ];
  const kinds = Object.keys(KINDS).filter((kind) => KINDS[kind].isSpec !== false);
  for (const kind of kinds) {
    const seat = { kind, value: 2 };
    const run = new Run(makeGame({ payoffs }), [learnerOf(seat), learnerOf(seat)]);
    run.advance(50);
    for (const { policies } of run.players) {
      for (let t = 0; t < 50; t++) {
        const row = policies.map((column) => column.at(t));
        assert.ok(
          row.every((p) => p >= 0 && p <= 1),
          kind,
        );
        assert.ok(Math.abs(row.reduce((x, y) => x + y) - 1) < 1e-12, kind);
      }
    }
  }
});

/** The largest regret over all sequences of losses in {0, 1}^2, one after the other. */
function bruteForce(policy, rounds) {
  let most = -Infinity;
  for (let code = 0; code < 4 ** rounds; code++) {
    const sums = [0, 0];
    let suffered = 0;
    for (let t = 0, bits = code; t < rounds; t++, bits >>= 2) {
      const loss = [bits & 1, (bits >> 1) & 1];
      const weights = policy(sums);
      suffered += weights[0] * loss[0] + weights[1] * loss[1];
      sums[0] += loss[0];
      sums[1] += loss[1];
    }
    most = Math.max(most, suffered - Math.min(...sums));
  }
  return most;
}

test("the worst case is that of all sequences", () => {
  const policy = (sums) => softmax(sums.map((sum) => -0.6 * sum));
  const { regret, losses } = worstCase(policy, 2, 6);
  assert.ok(Math.abs(regret - bruteForce(policy, 6)) < 1e-12);
  assert.equal(losses.length, 6);
});

test("the worst case of Hedge in twenty rounds is known", () => {
  const policy = (sums) => softmax(sums.map((sum) => -0.4479049054 * sum));
  assert.ok(Math.abs(worstCase(policy, 3, 20).regret - 3.314482) < 1e-6);
});

test("moves by hand are played as they were made", () => {
  const payoffs = [
    [
      [1, -1],
      [-1, 1],
    ],
    [
      [-1, 1],
      [1, -1],
    ],
  ];
  const hand = learnerOf({ kind: "hand", actions: [0, 1, 1] });
  const run = new Run(makeGame({ payoffs }), [hand, learnerOf(parseSeat("uniform()"))]);
  run.advance(3);
  const [first] = run.players;
  assert.deepEqual(
    [0, 1, 2].map((t) => first.policies[1].at(t)),
    [0, 1, 1],
  );
});
