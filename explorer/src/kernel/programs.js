// Linear programs: maximise c x subject to A x <= 0, sum of the first `weights` variables = 1, x >= 0.
//
// The simplex method on a dense tableau. Every right-hand side but one is 0, so ties are the rule: the leaving row is
// chosen lexicographically, which cannot cycle. One tableau serves many objectives, each starting from the last optimum.
// Reference: Dantzig, Orden, Wolfe (1955), The generalized simplex method for minimizing a linear form.

import { dot, zeros } from "./vectors.js";

const ENTER = 1e-10; // reduced costs and pivots, with coefficients of size 1
const PIVOT = 1e-9;
const MAX_PIVOTS = 20000;

export class Program {
  /** `rows` are the coefficients of A; the first `weights` variables sum to 1. */
  constructor(rows, variables, weights) {
    this.rows = rows;
    this.variables = variables;
    this.weights = weights;
    this.count = rows.length + 1; // constraints: the rows, then the sum
    this.tableau = [...rows.map((row, i) => this.line(row, i, 0)), this.sumLine()];
    this.basis = this.tableau.map((_, i) => variables + i);
    this.artificial = variables + rows.length;
    this.findFeasible();
  }

  line(coefficients, index, right) {
    const line = zeros(this.variables + this.count + 1);
    line.set(coefficients);
    line[this.variables + index] = 1;
    line[line.length - 1] = right;
    return line;
  }

  sumLine() {
    return this.line(
      Float64Array.from({ length: this.variables }, (_, j) => +(j < this.weights)),
      this.count - 1,
      1,
    );
  }

  /** Phase 1: drive the artificial variable of the sum out of the basis. */
  findFeasible() {
    const cost = zeros(this.variables + this.count);
    cost[this.artificial] = -1;
    this.optimise(cost);
    const row = this.basis.indexOf(this.artificial);
    if (row >= 0 && this.tableau[row].at(-1) > 1e-7) throw new Error("the program has no solution");
  }

  /** The largest c x and the x that attains it. */
  maximise(objective) {
    const cost = zeros(this.variables + this.count);
    cost.set(objective);
    this.optimise(cost);
    const solution = this.solution();
    return { value: dot(objective, solution), solution };
  }

  optimise(cost) {
    const reduced = this.reducedCosts(cost);
    for (let pivots = 0; pivots < MAX_PIVOTS; pivots++) {
      const column = this.entering(reduced, cost[this.artificial] < 0);
      if (column < 0) return;
      this.pivot(this.leaving(column), column, reduced);
    }
    throw new Error(`the program was not solved in ${MAX_PIVOTS} pivots`);
  }

  reducedCosts(cost) {
    const reduced = zeros(this.tableau[0].length);
    reduced.set(cost);
    this.tableau.forEach((line, i) => {
      const price = cost[this.basis[i]];
      if (price) for (let j = 0; j < reduced.length; j++) reduced[j] -= price * line[j];
    });
    return reduced;
  }

  entering(reduced, first) {
    let best = -1;
    let most = ENTER;
    const columns = first ? this.artificial : this.variables + this.count - 1;
    for (let j = 0; j < columns; j++) {
      if (reduced[j] > most) [best, most] = [j, reduced[j]];
    }
    return best;
  }

  /** The row whose ratio is smallest; among ties the lexicographically smallest row of the inverse basis. */
  leaving(column) {
    let best = -1;
    for (let i = 0; i < this.count; i++) {
      if (this.tableau[i][column] > PIVOT && (best < 0 || this.isBefore(i, best, column))) best = i;
    }
    if (best < 0) throw new Error("the program is unbounded");
    return best;
  }

  isBefore(i, k, column) {
    const [a, b] = [this.tableau[i], this.tableau[k]];
    const last = a.length - 1;
    const apart = a[last] / a[column] - b[last] / b[column];
    if (Math.abs(apart) > 1e-12) return apart < 0;
    for (let j = this.variables; j < last; j++) {
      const differ = a[j] / a[column] - b[j] / b[column];
      if (Math.abs(differ) > 1e-12) return differ < 0;
    }
    return false;
  }

  pivot(row, column, reduced) {
    const line = this.tableau[row];
    const by = 1 / line[column];
    for (let j = 0; j < line.length; j++) line[j] *= by;
    line[column] = 1;
    this.tableau.forEach((other, i) => i !== row && subtract(other, line, column));
    subtract(reduced, line, column);
    this.basis[row] = column;
  }

  /** The basic variables from the constraints themselves, so that pivots leave no rounding behind. */
  solution() {
    const system = range(this.count).map((i) => this.basis.map((j) => this.coefficient(i, j)));
    const right = zeros(this.count);
    right[this.count - 1] = 1;
    const basic = solveLinear(system, right) ?? this.tableau.map((line) => line.at(-1));
    const x = zeros(this.variables);
    this.basis.forEach((j, i) => j < this.variables && (x[j] = Math.max(basic[i], 0)));
    return x;
  }

  coefficient(i, j) {
    if (j >= this.variables) return +(j - this.variables === i);
    return i < this.rows.length ? this.rows[i][j] : +(j < this.weights);
  }
}

const range = (n) => Array.from({ length: n }, (_, i) => i);

function subtract(line, pivot, column) {
  const factor = line[column];
  if (factor === 0) return;
  for (let j = 0; j < line.length; j++) line[j] -= factor * pivot[j];
  line[column] = 0;
}

/** x with A x = b by elimination with row pivoting, or null where A is singular to working precision. */
export function solveLinear(matrix, right) {
  const n = right.length;
  const rows = matrix.map((row, i) => Float64Array.of(...row, right[i]));
  for (let k = 0; k < n; k++) {
    let top = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(rows[i][k]) > Math.abs(rows[top][k])) top = i;
    if (Math.abs(rows[top][k]) < 1e-11) return null;
    [rows[k], rows[top]] = [rows[top], rows[k]];
    for (let i = k + 1; i < n; i++) reduceRow(rows[i], rows[k], k);
  }
  return backSubstitute(rows);
}

function reduceRow(row, pivot, k) {
  const factor = row[k] / pivot[k];
  if (factor) for (let j = k; j < row.length; j++) row[j] -= factor * pivot[j];
}

function backSubstitute(rows) {
  const n = rows.length;
  const x = zeros(n);
  for (let i = n - 1; i >= 0; i--) {
    let left = rows[i][n];
    for (let j = i + 1; j < n; j++) left -= rows[i][j] * x[j];
    x[i] = left / rows[i][i];
  }
  return x;
}
