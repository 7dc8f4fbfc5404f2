// Random numbers from a seed, so that drawn actions can be drawn again.

/** Uniform numbers in [0, 1) by the 32-bit generator "mulberry32" of Tommy Ettinger (public domain). */
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** An action drawn from a distribution by one uniform number. */
export function draw(policy, number) {
  let below = 0;
  for (let a = 0; a < policy.length; a++) {
    below += policy[a];
    if (number < below) return a;
  }
  return lastPlayed(policy);
}

function lastPlayed(policy) {
  for (let a = policy.length - 1; a > 0; a--) if (policy[a] > 0) return a;
  return 0;
}

/** A standard normal number by the polar method. */
export function normal(next) {
  for (;;) {
    const x = 2 * next() - 1;
    const y = 2 * next() - 1;
    const square = x * x + y * y;
    if (square > 0 && square < 1) return x * Math.sqrt((-2 * Math.log(square)) / square);
  }
}
