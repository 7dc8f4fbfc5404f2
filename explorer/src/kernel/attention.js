// Trained layers as learners: linear attention, and the swap architecture with its fixed point.
//
//   linear   pi_t = softmax( sum_{s<t} (V l_s + v_c) (1 + a^T l_s) )
//   swap     column j of P_t the softmax of head j on X_s = kron(pi_s, l_s), and pi_t = P_t pi_t

import { beginning } from "./learners.js";
import { stationary } from "./chains.js";
import { dot, grid, softmax, uniform, zeros } from "./vectors.js";

/** What one round adds to the logits of a head: (V x + v_c)(1 + a^T x). */
function increment(head, feature, logits) {
  const score = 1 + dot(head.scores, feature);
  for (let i = 0; i < logits.length; i++) {
    logits[i] += (dot(head.values[i], feature) + head.bias[i]) * score;
  }
}

/** `layer` is {values: d x d, scores: d, bias: d}. */
export const linearAttention =
  (layer) =>
  (actions, start = null) => {
    checkActions(layer.bias.length, actions);
    const logits = zeros(actions);
    return beginning(start, {
      policy: () => softmax(logits),
      update: (loss) => increment(layer, loss, logits),
    });
  };

/** `heads` are d layers on d*d features; calibrated, features count d times. */
export const swapAttention =
  (heads, calibrated = false) =>
  (actions, start = null) => {
    checkActions(heads.length, actions);
    const scaled = calibrated ? heads.map((head) => scaledHead(head, actions)) : heads;
    const logits = grid(actions, actions);
    let policy = uniform(actions);
    return beginning(start, {
      policy: () => policy,
      update(loss) {
        const feature = kron(policy, loss);
        scaled.forEach((head, j) => increment(head, feature, logits[j]));
        policy = stationary(logits.map(softmax), policy);
      },
    });
  };

function scaledHead(head, d) {
  const values = head.values.map((row) => row.map((v) => d * v));
  return { values, scores: head.scores.map((a) => d * a), bias: head.bias };
}

function kron(x, y) {
  const product = zeros(x.length * y.length);
  x.forEach((p, i) => y.forEach((l, j) => (product[i * y.length + j] = p * l)));
  return product;
}

function checkActions(has, wanted) {
  if (has !== wanted) {
    throw new Error(`the layer plays ${has} actions, but this seat has ${wanted}`);
  }
}
