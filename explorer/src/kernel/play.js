// Repeated play: every seat a learner, every round its expected losses, or those of drawn actions.

import { own } from "./games.js";
import { draw, generator } from "./random.js";
import { nashGap, regretsOf } from "./regret.js";
import { dot, grid, outer, zeros } from "./vectors.js";

/** A column of doubles that grows. */
export class Series {
  constructor() {
    this.values = zeros(256);
    this.length = 0;
  }

  push(value) {
    if (this.length === this.values.length) {
      const longer = zeros(2 * this.length);
      longer.set(this.values);
      this.values = longer;
    }
    this.values[this.length++] = value;
  }

  at(index) {
    return this.values[index];
  }
}

export const GAPS = ["cce", "ce", "swap", "nash"];
export const REGRETS = ["external", "internal", "swap"];

/** The play of a game so far: `advance` plays on, everything else is what has been seen. */
export class Run {
  constructor(game, learners, { starts = [], seed = null } = {}) {
    this.game = game;
    this.round = 0;
    this.tables = game.sizes.map((_, n) => own(game, n));
    this.joint = zeros(game.payoffs[0].length);
    this.next = seed === null ? null : generator(seed);
    this.gaps = Object.fromEntries(GAPS.map((name) => [name, new Series()]));
    this.players = learners.map((learner, n) => seated(learner, game.sizes[n], starts[n] ?? null));
  }

  advance(rounds) {
    for (let t = 0; t < rounds; t++) this.playRound();
  }

  playRound() {
    const policies = this.players.map((seat) => seat.learner.policy());
    const shown = this.next
      ? policies.map((pi) => oneHot(draw(pi, this.next()), pi.length))
      : policies;
    this.shown = shown;
    this.players.forEach((seat, n) => {
      const others = outer(shown.filter((_, m) => m !== n));
      const losses = Float64Array.from(this.tables[n], (row) => -dot(row, others));
      seat.learner.update(losses, policies[n]);
      record(seat, policies[n], shown[n], losses);
    });
    const joint = outer(shown);
    for (let a = 0; a < joint.length; a++) this.joint[a] += joint[a];
    this.round += 1;
    this.measure();
  }

  measure() {
    const regrets = this.players.map((seat) => regretsOf(seat.matrix, seat.totals));
    regrets.forEach((kinds, n) => {
      for (const kind of REGRETS) this.players[n].regrets[kind].push(kinds[kind]);
    });
    const worst = (kind) => Math.max(...regrets.map((kinds) => kinds[kind])) / this.round;
    this.gaps.cce.push(worst("external"));
    this.gaps.ce.push(worst("internal"));
    this.gaps.swap.push(worst("swap"));
    this.gaps.nash.push(
      nashGap(
        this.tables,
        this.players.map((seat) => this.mean(seat)),
      ),
    );
  }

  mean(seat) {
    return seat.played.map((times) => times / this.round);
  }

  /** The joint distribution of play so far. */
  jointMean() {
    return this.joint.map((times) => times / this.round);
  }
}

function seated(learner, actions, start) {
  return {
    learner: learner(actions, start),
    actions,
    matrix: grid(actions, actions),
    totals: zeros(actions),
    played: zeros(actions),
    suffered: 0,
    policies: Array.from({ length: actions }, () => new Series()),
    means: Array.from({ length: actions }, () => new Series()),
    payoffs: new Series(), // the average so far
    regrets: Object.fromEntries(REGRETS.map((kind) => [kind, new Series()])),
  };
}

function record(seat, policy, shown, losses) {
  seat.suffered += dot(shown, losses);
  const rounds = seat.payoffs.length + 1;
  for (let i = 0; i < seat.actions; i++) {
    seat.played[i] += shown[i];
    seat.totals[i] += losses[i];
    seat.policies[i].push(policy[i]);
    seat.means[i].push(seat.played[i] / rounds);
    for (let j = 0; j < seat.actions; j++) seat.matrix[i][j] += shown[i] * losses[j];
  }
  seat.payoffs.push(-seat.suffered / rounds);
}

function oneHot(action, actions) {
  const row = zeros(actions);
  row[action] = 1;
  return row;
}
