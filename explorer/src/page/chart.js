// A line chart over rounds, with axes that are linear or logarithmic and a legend that shows the latest values.

import { html, pathOf, say, set, short, svg, watchWidth } from "./dom.js";

const MARGIN = { left: 52, right: 12, top: 10, bottom: 34 };
const MAX_POINTS = 180;

export class Chart {
  /** `lines`: {name: {label, style}}; `style` are classes of the line. */
  constructor(
    body,
    { lines, label, height = 250, xLog = false, yLog = false, xName = "round", showValues = true },
  ) {
    Object.assign(this, { body, lines, height, xLog, yLog, xName, label, showValues });
    this.frame = svg("g");
    this.paths = Object.fromEntries(
      Object.entries(lines).map(([name, { style }]) => [
        name,
        svg("path", { class: `line ${style}` }),
      ]),
    );
    this.marks = svg("g");
    this.picture = svg(
      "svg",
      { role: "img", "aria-label": label },
      this.frame,
      ...Object.values(this.paths),
      this.marks,
    );
    this.legend = html("ul", { class: "legend" });
    this.values = Object.fromEntries(
      Object.entries(lines).map(([name, about]) => [name, this.key(about)]),
    );
    body.replaceChildren(this.picture, this.legend);
    this.last = null;
    watchWidth(body, (width) => this.resize(width));
  }

  key({ label, style, isListed = true }) {
    const value = html("b");
    const sample = svg(
      "svg",
      { viewBox: "0 0 26 10", "aria-hidden": "true" },
      svg("path", { class: `line ${style}`, d: "M1 5L25 5" }),
    );
    const item = html("li", {}, sample, html("span", {}, label), value);
    if (isListed) this.legend.append(item);
    return { value, item };
  }

  resize(width) {
    this.width = width;
    set(this.picture, { width, height: this.height, viewBox: `0 0 ${width} ${this.height}` });
    this.drawn = null;
    if (this.last) this.update(...this.last);
  }

  /** `series[name] = {x, y}` arrays or null; `most` is the last round of the axis. */
  update(series, most = null) {
    this.last = [series, most];
    if (!this.width) return;
    this.place(series, most);
    for (const [name, path] of Object.entries(this.paths)) {
      const one = series[name];
      path.setAttribute("d", one ? this.trace(one) : "");
      this.values[name].item.hidden = !one;
      if (this.showValues) say(this.values[name].value, one ? short(one.y.at(-1), 3) : "");
    }
  }

  place(series, most) {
    const present = Object.values(series).filter(Boolean);
    const x = present.flatMap((one) => [one.x[0], one.x.at(-1)]);
    const y = present
      .flatMap((one) => Array.from(one.y))
      .filter((v) => Number.isFinite(v) && (!this.yLog || v > 1e-9));
    this.across = axis(
      this.xLog ? 1 : Math.min(0, ...x),
      most ?? Math.max(2, ...x),
      this.xLog,
      false,
    );
    this.up = y.length
      ? axis(Math.min(...y), Math.max(...y), this.yLog, true)
      : axis(this.yLog ? 0.01 : 0, 1, this.yLog, true);
    const drawn = JSON.stringify([this.across, this.up]);
    if (drawn !== this.drawn) this.axes();
    this.drawn = drawn;
  }

  x(value) {
    return MARGIN.left + share(this.across, value) * (this.width - MARGIN.left - MARGIN.right);
  }

  y(value) {
    return (
      this.height -
      MARGIN.bottom -
      share(this.up, value) * (this.height - MARGIN.top - MARGIN.bottom)
    );
  }

  /** The line, broken where a logarithmic axis has no place for a value. */
  trace({ x, y }) {
    let text = "";
    let part = [];
    for (let i = 0; i <= x.length; i++) {
      const there = i < x.length && Number.isFinite(y[i]) && (!this.yLog || y[i] >= this.up.low);
      if (there) part.push([this.x(x[i]), this.y(y[i])]);
      else if (part.length) [text, part] = [text + pathOf(part), []];
    }
    return text;
  }

  axes() {
    const [left, right] = [MARGIN.left, this.width - MARGIN.right];
    const bottom = this.height - MARGIN.bottom;
    const rows = this.up.ticks.flatMap((value) => [
      svg("path", { class: "grid", d: `M${left} ${this.y(value)}H${right}` }),
      svg("text", { class: "end", x: left - 7, y: this.y(value) + 4 }, short(value, 3)),
    ]);
    const columns = this.across.ticks.map((value) =>
      svg("text", { class: "middle", x: this.x(value), y: bottom + 17 }, short(value, 6)),
    );
    const name = svg("text", { class: "end", x: right, y: this.height - 2 }, this.xName);
    this.frame.replaceChildren(
      ...rows,
      svg("path", { class: "axis", d: `M${left} ${bottom}H${right}` }),
      ...columns,
      name,
    );
  }
}

/** {low, high, log, ticks} that holds the values and changes seldom. */
export function axis(low, high, log, snap) {
  if (log) return logAxis(low, high, snap);
  const span = high - low || Math.abs(high) || 1;
  const step = niceStep(span / 4);
  const from = snap ? Math.floor(low / step + 1e-9) * step : low;
  const to = snap ? Math.max(Math.ceil(high / step - 1e-9) * step, from + step) : high;
  const ticks = [];
  for (let v = Math.ceil(from / step - 1e-9) * step; v <= to + step * 1e-6; v += step)
    ticks.push(Number(v.toPrecision(12)));
  return { low: from, high: to, log, ticks };
}

function logAxis(low, high, snap) {
  const [a, b] = snap
    ? [Math.floor(Math.log10(low) + 1e-9), Math.ceil(Math.log10(high) - 1e-9)]
    : [Math.log10(low), Math.log10(high)];
  const top = Math.max(b, a + (snap ? 1 : 0.1));
  const every = Math.max(1, Math.round((top - a) / 5));
  const ticks = [];
  const within = top - a < 2.6 ? [1, 2, 5] : [1];
  for (let e = Math.floor(a); e <= top + 1e-9; e += every) {
    ticks.push(
      ...within
        .map((digit) => Number(`${digit}e${e}`))
        .filter((v) => v >= 10 ** a * 0.999 && v <= 10 ** top * 1.001),
    );
  }
  return { low: 10 ** a, high: 10 ** top, log: true, ticks };
}

function niceStep(rough) {
  const size = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((step) => step * size >= rough * 0.999) * size;
}

function share({ low, high, log }, value) {
  return log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

/** Rounds at which a series of this length is shown: evenly, or evenly in the logarithm. */
export function shownRounds(length, log) {
  if (length <= MAX_POINTS) return Array.from({ length }, (_, i) => i + 1);
  const at = (i) =>
    log
      ? Math.round(length ** (i / (MAX_POINTS - 1)))
      : Math.round(1 + ((length - 1) * i) / (MAX_POINTS - 1));
  return [...new Set(Array.from({ length: MAX_POINTS }, (_, i) => at(i)))];
}
