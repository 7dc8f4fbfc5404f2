// Regret of play, gaps of joint play, and the worst deviation, from M = sum_t pi_t l_t^T and S = sum_t l_t.
//
//   external  tr M - min_j S_j        internal  max_ij (M_ii - M_ij)        swap  sum_i (M_ii - min_j M_ij)
//
// Divided by the rounds they are the CCE, CE and swap gaps of the joint play.

import { argmax, dot, largest, outer, smallest } from "./vectors.js";

export function regretsOf(matrix, totals) {
  let suffered = 0;
  let internal = 0;
  let swap = 0;
  for (let i = 0; i < matrix.length; i++) {
    const gain = matrix[i][i] - smallest(matrix[i]);
    suffered += matrix[i][i];
    internal = Math.max(internal, gain);
    swap += gain;
  }
  return { external: suffered - smallest(totals), internal, swap };
}

/** Best fixed deviation against the product of the others' averages, paid at the product of all. */
export function nashGap(tables, means) {
  let gap = -Infinity;
  for (let n = 0; n < tables.length; n++) {
    const others = outer(means.filter((_, m) => m !== n));
    const worth = tables[n].map((row) => dot(row, others));
    gap = Math.max(gap, largest(worth) - dot(worth, means[n]));
  }
  return gap;
}

/** The deviation that gains most per round, from all play or from one action; ties go to the lowest index. */
export function worstDeviations(run) {
  const always = run.players.map((seat, player) => {
    const gains = seat.totals.map((total) => (seat.suffered - total) / run.round);
    const instead = argmax(gains);
    return { player, told: null, instead, gain: gains[instead] };
  });
  const whenever = run.players.flatMap((seat, player) =>
    seat.matrix.map((row, told) => {
      const gains = row.map((loss) => (row[told] - loss) / run.round);
      const instead = argmax(gains);
      return { player, told, instead, gain: gains[instead] };
    }),
  );
  return { always: most(always), whenever: most(whenever) };
}

function most(deviations) {
  return deviations[argmax(deviations.map(({ gain }) => gain))];
}
