// The worst case of a policy of sums: losses in {0, 1}^d that force the largest regret, by dynamic programming.
//
//   W_T(S) = -min_j S_j,   W_{t-1}(S) = max_{l in {0,1}^d} <l, pi(S)> + W_t(S + l)
//
// A shift of all sums changes W by minus itself, so a state is S - min S.

import { range, smallest } from "./vectors.js";

/** {regret, losses}: the value and a sequence that attains it; `policy(sums)` is the policy. */
export function worstCase(policy, actions, rounds) {
  const choices = range(2 ** actions).map((bits) => range(actions).map((j) => (bits >> j) & 1));
  const memory = range(rounds + 1).map(() => new Map());
  const value = (round, sums) => {
    const least = smallest(sums);
    const state = sums.map((sum) => sum - least);
    const key = state.join();
    const known = memory[round];
    if (!known.has(key)) known.set(key, best(round, state));
    return known.get(key).regret - least;
  };
  const best = (round, state) => {
    if (round === rounds) return { regret: 0 };
    const weights = policy(state);
    let top = { regret: -Infinity };
    for (const loss of choices) {
      const suffered = loss.reduce((total, l, j) => total + l * weights[j], 0);
      const sums = state.map((sum, j) => sum + loss[j]);
      const regret = suffered + value(round + 1, sums);
      if (regret > top.regret + 1e-12) top = { regret, loss };
    }
    return top;
  };
  let state = range(actions).map(() => 0);
  const regret = value(0, state);
  const losses = range(rounds).map((round) => {
    const { loss } = memory[round].get(state.join());
    const sums = state.map((sum, j) => sum + loss[j]);
    const least = smallest(sums);
    state = sums.map((sum) => sum - least);
    return loss;
  });
  return { regret, losses };
}
