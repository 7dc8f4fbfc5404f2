import assert from "node:assert/strict";
import { test } from "node:test";

import { makeGame } from "../src/kernel/games.js";
import { fraction } from "../src/page/dom.js";
import { SCENES, sceneState } from "../src/page/scenes.js";
import { asCommand, asPython } from "../src/page/sharing.js";
import { startAt, startsFor, tidyStart } from "../src/page/starts.js";
import { decode, encode, freshState } from "../src/page/state.js";
import { reduced } from "../src/page/tour.js";

const square = (name, first, second) => ({
  name,
  players: ["one", "two"],
  actions: [
    ["a", "b"],
    ["c", "d"],
  ],
  sizes: [2, 2],
  payoffs: [first, second],
});
const pennies = square("matching-pennies", [1, -1, -1, 1], [-1, 1, 1, -1]);
const chicken = square("chicken", [6, 2, 7, 0], [6, 7, 2, 0]);
const cycle = [0, -1, 1, 1, 0, -1, -1, 1, 0];
const three = (name) => ({
  name,
  players: ["one", "two"],
  actions: [0, 1].map(() => ["rock", "paper", "scissors"]),
  sizes: [3, 3],
  payoffs: [cycle, cycle.map((u) => -u)],
});
const prisoners = square("prisoners-dilemma", [3, 0, 5, 1], [3, 5, 0, 1]);
const zoo = [pennies, chicken, prisoners, three("rock-paper-scissors"), three("shapley")];

test("numbers are written as fractions where they are", () => {
  assert.deepEqual(
    [0.5, 1 / 3, 2, -14 / 3, 0].map((x) => fraction(x)),
    ["1/2", "1/3", "2", "-14/3", "0"],
  );
  assert.equal(fraction(Math.SQRT1_2), "0.7071");
});

test("starts leave the centre only where uniform play stands still", () => {
  assert.deepEqual(startsFor(makeGame(chicken)), [null, null]);
  const [first, second] = startsFor(makeGame(pennies));
  assert.notDeepEqual(first, [0.5, 0.5]);
  for (const start of [first, second])
    assert.equal(
      start.reduce((x, y) => x + y),
      1,
    );
});

test("a start gives every action some weight", () => {
  assert.deepEqual(tidyStart([1, 0, 0]), [0.998, 0.001, 0.001]);
  assert.deepEqual(startAt([1 / 3, 2 / 3]), [1 / 3, 2 / 3]);
});

test("every scene has a state, votes and an answer", () => {
  assert.equal(SCENES.length, 8);
  SCENES.forEach((scene, i) => {
    const state = sceneState(i + 1, zoo, {});
    assert.equal(state.scene, i + 1);
    assert.equal(state.rounds, 0);
    assert.ok(scene.right < scene.votes.length);
    assert.ok(scene.answer && scene.situation.endsWith("?"));
  });
});

test("a link restores the state that it was made from", () => {
  const losses = Array.from({ length: 20 }, (_, t) => [t / 10, -1, 0.25]);
  const changes = { rounds: 7, losses, training: 3, tour: 2, k: 0.3, pace: "slow", joint: "cce" };
  for (const index of [1, 2, 6]) {
    const state = { ...sceneState(index, zoo, {}), ...changes, isHall: true, isAverage: true };
    assert.deepEqual(decode(encode(state, zoo), zoo), state);
  }
  const edited = freshState({ ...chicken, name: "", payoffs: [[1, 2, 3, 4], chicken.payoffs[1]] });
  edited.seats = [{ kind: "hand", actions: [0, 1, 1] }, edited.seats[1]];
  assert.deepEqual(decode(encode(edited, zoo), zoo), edited);
});

test("links that do not fit are refused with the reason", () => {
  const refused = {
    "game=nowhere": /no game here is named nowhere/,
    "game=chicken&seats=hedge(1)|hand:0": /the moves of seat 2 do not fit/,
    "game=chicken&seats=hand:09|hedge(1)": /the moves of seat 1 do not fit/,
  };
  for (const [link, reason] of Object.entries(refused)) {
    assert.throws(() => decode(link, zoo), reason);
  }
});

test("learners are copied as the strings that the docs teach", () => {
  const state = { ...sceneState(1, zoo, {}), rounds: 400 };
  const { text } = asPython(state, zoo);
  assert.match(text, /rx\.play\("matching-pennies", "hedge\(0\.12\)", 400, prior=/);
  assert.match(
    asCommand(state, zoo).text,
    /^regrax play matching-pennies --learners 'hedge\(0\.12\)'/,
  );
});

test("the matrix of a layer is shown as its limit is", () => {
  const shifted = [
    [-0.4, 5, 1],
    [0, 4.6, 1],
    [0, 5, 0.6],
  ];
  const rounded = reduced(shifted).map((row) => row.map((v) => Math.round(v * 1e9) / 1e9 + 0));
  assert.deepEqual(rounded, [
    [-0.4, 0, 0],
    [0, -0.4, 0],
    [0, 0, -0.4],
  ]);
});
