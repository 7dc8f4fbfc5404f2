// Trained layers from .safetensors files: eight bytes of length, a JSON header, then the arrays.

const MAX_HEADER_BYTES = 100_000;
const WIDTHS = { F32: 4, F64: 8 };

/** A layer {name, kind, heads, calibrated} from the bytes of a checkpoint. */
export function readCheckpoint(name, buffer) {
  const { header, data } = split(buffer);
  const arrays = Object.fromEntries(
    Object.entries(header)
      .filter(([key]) => key !== "__metadata__")
      .map(([key, about]) => [key, { shape: about.shape, values: valuesOf(about, data) }]),
  );
  refuseBall(header.__metadata__);
  return { name: name.replace(/\.safetensors$/i, ""), ...layerOf(arrays) };
}

function split(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < 8) throw new Error("this is no safetensors file: it is too short");
  const length = Number(view.getBigUint64(0, true));
  if (length > Math.min(MAX_HEADER_BYTES, buffer.byteLength - 8)) {
    throw new Error("this is no safetensors file: its header does not fit");
  }
  const text = new TextDecoder().decode(new Uint8Array(buffer, 8, length));
  let header;
  try {
    header = JSON.parse(text);
  } catch {
    throw new Error("this is no safetensors file: its header is not JSON");
  }
  if (header === null || typeof header !== "object")
    throw new Error("this is no safetensors file: its header is no object");
  return { header, data: new DataView(buffer, 8 + length) };
}

function valuesOf({ dtype, shape, data_offsets: offsets }, data) {
  const width = WIDTHS[dtype];
  const count = Array.isArray(shape) ? shape.reduce((product, d) => product * d, 1) : NaN;
  const fits =
    width &&
    offsets?.[1] - offsets?.[0] === count * width &&
    offsets[0] >= 0 &&
    offsets[1] <= data.byteLength;
  if (!fits)
    throw new Error(
      `expected arrays of F32 or F64 that fill their place, got ${dtype} of shape ${shape}`,
    );
  const read = width === 4 ? "getFloat32" : "getFloat64";
  return Float64Array.from({ length: count }, (_, i) => data[read](offsets[0] + i * width, true));
}

/** A layer on the ball plays no distributions; its description says so where it is in the file. */
function refuseBall(metadata) {
  if (/"operator":\s*"ball"/.test(Object.values(metadata ?? {}).join(" "))) {
    throw new Error("a seat takes layers on the simplex, but this one plays on the ball");
  }
}

function layerOf(arrays) {
  const shape = (key) => arrays[key]?.shape.join(" x ") ?? "none";
  const d = arrays.bias?.shape.at(-1) ?? arrays.value_bias?.shape.at(-1);
  if (shape("values") === `${d} x ${d}` && shape("scores") === `${d}` && shape("bias") === `${d}`) {
    return {
      kind: "linear_attention",
      heads: [head(arrays.values, arrays.scores, arrays.bias, d, d)],
      calibrated: false,
    };
  }
  if (
    shape("values") === `${d} x ${d} x ${d * d}` &&
    shape("bias") === `${d} x ${d}` &&
    shape("scores") === `${d} x ${d * d}`
  ) {
    return { kind: "swap_attention", heads: swapHeads(arrays, d), calibrated: true };
  }
  if (shape("keys") === `${d} x ${d}` && shape("queries") === `${d} x ${d}`)
    return { ...reduced(arrays, d), calibrated: false };
  throw new Error(
    `expected a linear or swap layer, got arrays ${Object.keys(arrays).slice(0, 6).join(", ") || "none"}`,
  );
}

function head(values, scores, bias, d, features) {
  return {
    values: Array.from({ length: d }, (_, i) =>
      values.values.slice(i * features, (i + 1) * features),
    ),
    scores: scores.values,
    bias: bias.values,
  };
}

function swapHeads({ values, scores, bias }, d) {
  const part = (array, j, size) => ({ values: array.values.slice(j * size, (j + 1) * size) });
  return Array.from({ length: d }, (_, j) =>
    head(part(values, j, d ** 3), part(scores, j, d * d), part(bias, j, d), d, d * d),
  );
}

/** The full form as the reduced one: V' = kappa V, v' = kappa v, a = K^T q / kappa with q = Q 1 + q_c, kappa = k_c q. */
function reduced({ values, keys, queries, value_bias, key_bias, query_bias }, d) {
  const rows = (array) =>
    Array.from({ length: d }, (_, i) => array.values.slice(i * d, (i + 1) * d));
  const query = rows(queries).map((row, i) => row.reduce((x, y) => x + y, query_bias.values[i]));
  const kappa = key_bias.values.reduce((total, k, i) => total + k * query[i], 0);
  if (kappa === 0)
    throw new Error("the bias score of this layer is 0: no reduced form plays the same");
  const scores = Float64Array.from(
    { length: d },
    (_, j) => rows(keys).reduce((t, row, i) => t + query[i] * row[j], 0) / kappa,
  );
  const scale = (array) => array.map((v) => kappa * v);
  return {
    kind: "linear_attention",
    heads: [{ values: rows(values).map(scale), scores, bias: scale(value_bias.values) }],
  };
}
