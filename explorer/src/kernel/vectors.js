// Vectors and small matrices: plain arrays of doubles, matrices as arrays of rows.

export const zeros = (n) => new Float64Array(n);

export const uniform = (n) => new Float64Array(n).fill(1 / n);

export const grid = (rows, columns) => Array.from({ length: rows }, () => zeros(columns));

export const range = (n) => Array.from({ length: n }, (_, i) => i);

export function sum(x) {
  let total = 0;
  for (let i = 0; i < x.length; i++) total += x[i];
  return total;
}

export function dot(x, y) {
  let total = 0;
  for (let i = 0; i < x.length; i++) total += x[i] * y[i];
  return total;
}

export function largest(x) {
  let best = -Infinity;
  for (let i = 0; i < x.length; i++) if (x[i] > best) best = x[i];
  return best;
}

export function smallest(x) {
  let best = Infinity;
  for (let i = 0; i < x.length; i++) if (x[i] < best) best = x[i];
  return best;
}

/** The index of the largest entry; ties go to the lowest index. */
export function argmax(x) {
  let best = 0;
  for (let i = 1; i < x.length; i++) if (x[i] > x[best]) best = i;
  return best;
}

/** `x` divided by its sum, in place. */
export function normalise(x) {
  const total = sum(x);
  for (let i = 0; i < x.length; i++) x[i] /= total;
  return x;
}

/** exp(x - max x) / sum. */
export function softmax(x) {
  const top = largest(x);
  const weights = zeros(x.length);
  for (let i = 0; i < x.length; i++) weights[i] = Math.exp(x[i] - top);
  return normalise(weights);
}

/** The distributions of several players as one, flattened with the first player slowest. */
export function outer(vectors) {
  let product = vectors.length ? vectors[0] : Float64Array.of(1);
  for (let k = 1; k < vectors.length; k++) product = pairs(product, vectors[k]);
  return product;
}

function pairs(x, y) {
  const product = zeros(x.length * y.length);
  for (let i = 0, at = 0; i < x.length; i++) {
    for (let j = 0; j < y.length; j++) product[at++] = x[i] * y[j];
  }
  return product;
}
