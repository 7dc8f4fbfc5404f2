// Learners: each plays `policy()`, then sees `update(loss, played)`, the losses of all its actions and what it played.
//
// A start is the policy of round 1. What it means after that is decided here and nowhere else: Hedge and optimistic Hedge
// take it as a prior, pi_t ~ pi_1 exp(-k S), and so do the copies of Blum-Mansour; regret matching plays it whenever no
// regret is positive; everyone else plays it in round 1 and goes on as usual.

import { perturbedLeader } from "./gaussian.js";
import { stationary } from "./chains.js";
import { dot, normalise, smallest, softmax, uniform, zeros } from "./vectors.js";

/** pi_t = softmax(-k S_{t-1}): smoothed fictitious play. */
export function hedge(step) {
  return (actions, start = null) => {
    const total = zeros(actions);
    const prior = logarithms(actions, start);
    return {
      policy: () => softmax(total.map((loss, j) => prior[j] - step * loss)),
      update(loss) {
        // relative to the first action's: the same policies, and a sum that rounding does not drown
        for (let j = 0; j < actions; j++) total[j] += loss[j] - loss[0];
      },
    };
  };
}

/** pi_t = softmax(-k (S_{t-1} + l_{t-1})): the last loss counts twice. */
export function optimisticHedge(step) {
  return (actions, start = null) => {
    const total = zeros(actions);
    const prior = logarithms(actions, start);
    let last = zeros(actions);
    return {
      policy: () => softmax(total.map((loss, j) => prior[j] - step * (loss + last[j]))),
      update(loss) {
        add(total, loss);
        last = loss;
      },
    };
  };
}

/** pi_t in proportion to positive regret; `plus` forgets negative regret at once. */
export function regretMatching(plus = false) {
  return (actions, start = null) => {
    const regrets = zeros(actions);
    const otherwise = start ?? uniform(actions);
    return {
      policy: () => proportional(regrets, otherwise),
      update(loss, played) {
        const suffered = dot(played, loss);
        for (let j = 0; j < actions; j++) {
          const regret = regrets[j] + (suffered - loss[j]);
          regrets[j] = plus ? Math.max(regret, 0) : regret;
        }
      },
    };
  };
}

/** The best action so far, ties shared equally: fictitious play. */
export const fictitiousPlay =
  () =>
  (actions, start = null) => {
    const total = zeros(actions);
    return beginning(start, { policy: () => leaders(total), update: (loss) => add(total, loss) });
  };

/** The best possible policy against Gaussian losses over a horizon: the leader after the noise that remains. */
export const optimal =
  (horizon) =>
  (actions, start = null) => {
    const total = zeros(actions);
    let round = 0;
    return beginning(start, {
      policy() {
        const left = horizon - round;
        return left > 0 ? perturbedLeader(total, Math.sqrt(left)) : leaders(total);
      },
      update(loss) {
        add(total, loss);
        round += 1;
      },
    });
  };

/** Every action alike, whatever happens. */
export const uniformPlay =
  () =>
  (actions, start = null) =>
    beginning(start, { policy: () => uniform(actions), update() {} });

/** Actions that were chosen by hand, one per round. */
export const recorded = (chosen) => (actions) => {
  let round = 0;
  return {
    policy: () => Float64Array.from({ length: actions }, (_, a) => +(a === chosen[round])),
    update() {
      round += 1;
    },
  };
};

/** Swap regret from any base: a copy per action on its share of the losses, and the fixed point of their policies. */
export function blumMansour(base) {
  return (actions, start = null) => {
    const heads = Array.from({ length: actions }, () => base(actions, start));
    let policy = heads[0].policy();
    let before = [policy, policy];
    return {
      policy: () => policy,
      update(loss, played) {
        heads.forEach((head, i) => updateShare(head, loss, played[i]));
        const columns = heads.map((head) => head.policy());
        const guess = extrapolate(policy, before);
        before = [policy, before[0]];
        policy = stationary(columns, guess);
      },
    };
  };
}

function updateShare(head, loss, share) {
  head.update(
    loss.map((entry) => share * entry),
    head.policy(),
  );
}

/** The next policy if play goes on smoothly: the parabola through three. */
function extrapolate(policy, before) {
  return policy.map((p, j) => Math.max(3 * (p - before[0][j]) + before[1][j], 0));
}

/** A learner that plays `start` in round 1. */
export function beginning(start, learner) {
  if (!start) return learner;
  let first = true;
  return {
    policy: () => (first ? Float64Array.from(start) : learner.policy()),
    update(loss, played) {
      first = false;
      learner.update(loss, played);
    },
  };
}

function logarithms(actions, start) {
  return start ? Float64Array.from(start, (p) => Math.log(p)) : zeros(actions);
}

function add(total, loss) {
  for (let j = 0; j < total.length; j++) total[j] += loss[j];
}

function proportional(regrets, otherwise) {
  const positive = regrets.map((regret) => Math.max(regret, 0));
  return positive.some((regret) => regret > 0) ? normalise(positive) : Float64Array.from(otherwise);
}

function leaders(total) {
  const least = smallest(total);
  return normalise(total.map((loss) => (loss === least ? 1 : 0)));
}
