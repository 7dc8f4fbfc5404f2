// A line chart over rounds: linear or logarithmic axes, and a legend with the latest values or those under the pointer.

import { frame, html, pathOf, pointIn, say, set, short, sizeOf, svg, watchWidth } from "./dom.js";

const MARGIN = { left: 52, right: 12, top: 12, bottom: 34 };
const MAX_POINTS = 180;

export class Chart {
  /** `lines`: {name: {label, style}}; `style` are classes of the line; `band` names two lines to fill
   *  between, `range` are values that the vertical axis always holds. */
  constructor(
    body,
    {
      lines,
      label,
      height = 250,
      xLog = false,
      yLog = false,
      xName = "round",
      showValues = true,
      band = null,
      range = [],
    },
  ) {
    Object.assign(this, {
      lines,
      height,
      usual: height,
      xLog,
      yLog,
      xName,
      showValues,
      band,
      range,
    });
    this.frame = svg("g");
    this.area = svg("path", { class: "area" });
    this.paths = Object.fromEntries(
      Object.entries(lines).map(([name, { style }]) => [
        name,
        svg("path", { class: `line ${style}` }),
      ]),
    );
    this.marks = svg("g");
    this.rule = svg("g", { class: "rule" }, svg("path", { class: "axis" }), svg("text"));
    this.picture = svg(
      "svg",
      { role: "img", "aria-label": label },
      this.frame,
      this.area,
      ...Object.values(this.paths),
      this.rule,
      this.marks,
    );
    this.legend = html("ul", { class: "legend" });
    this.values = Object.fromEntries(
      Object.entries(lines).map(([name, about]) => [name, this.key(about)]),
    );
    body.replaceChildren(this.picture, this.legend);
    this.last = null;
    this.pointed = null;
    this.picture.addEventListener("pointermove", (event) => {
      this.point(this.back(pointIn(this.picture, event)[0]));
    });
    this.picture.addEventListener("pointerleave", () => this.point(null));
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
    this.height = sizeOf(this.picture, "--chart", this.usual);
    frame(this.picture, width, this.height);
    this.drawn = null;
    if (this.last) this.update(...this.last);
    this.onResize?.();
  }

  /** Values at a place of the horizontal axis, or the latest ones. */
  point(x) {
    this.pointed = this.showValues ? x : null;
    if (this.last && this.width) this.showLegend(this.last[0]);
  }

  /** `series[name] = {x, y}` arrays or null; `most` is the last round of the axis. */
  update(series, most = null) {
    this.last = [series, most];
    if (!this.width) return;
    this.place(series, most);
    for (const [name, path] of Object.entries(this.paths)) {
      const isDrawn = series[name] && this.lines[name].isDrawn !== false;
      path.setAttribute("d", isDrawn ? this.trace(series[name]) : "");
      this.values[name].item.hidden = !series[name];
    }
    if (this.band) this.area.setAttribute("d", this.between(...this.band.map((n) => series[n])));
    this.showLegend(series);
  }

  showLegend(series) {
    const present = Object.entries(series).filter(([, line]) => line);
    const shown = present.length && this.pointed !== null ? present[0][1].x : [];
    const at = closest(shown, this.pointed);
    this.rule.setAttribute("visibility", shown.length ? "visible" : "hidden");
    if (shown.length) {
      const x = this.x(shown[at]);
      const isLeft = x < this.width / 2;
      this.rule.firstChild.setAttribute("d", `M${x} ${MARGIN.top}V${this.height - MARGIN.bottom}`);
      set(this.rule.lastChild, { x: x + (isLeft ? 5 : -5), y: 20, class: isLeft ? "" : "end" });
      say(this.rule.lastChild, `${this.xName} ${short(shown[at], 6)}`);
    }
    if (!this.showValues) return;
    for (const [name, line] of present) {
      const value = line.y[this.pointed === null ? line.y.length - 1 : closest(line.x, shown[at])];
      say(this.values[name].value, short(value, 3));
    }
  }

  place(series, most) {
    const isDrawn = ([name, line]) => line && this.lines[name].isDrawn !== false;
    const present = Object.entries(series)
      .filter(isDrawn)
      .map(([, line]) => line);
    const x = present.flatMap((line) => [line.x[0], line.x.at(-1)]);
    const y = present
      .flatMap((line) => Array.from(line.y))
      .concat(this.range)
      .filter((v) => Number.isFinite(v) && (!this.yLog || v > 1e-9));
    const low = this.xLog ? 1 : Math.min(0, ...x);
    this.across = axis(low, most ?? Math.max(2, ...x), this.xLog, false);
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

  /** The value at a horizontal coordinate. */
  back(x) {
    const { low, high, log } = this.across;
    const part = (x - MARGIN.left) / (this.width - MARGIN.left - MARGIN.right);
    const inside = Math.min(Math.max(part, 0), 1);
    return log ? low * (high / low) ** inside : low + inside * (high - low);
  }

  y(value) {
    const room = this.height - MARGIN.top - MARGIN.bottom;
    return this.height - MARGIN.bottom - share(this.up, value) * room;
  }

  /** The line, broken where a logarithmic axis has no place for a value. */
  trace({ x, y }) {
    let text = "";
    let part = [];
    for (let i = 0; i <= x.length; i++) {
      const there = i < x.length && Number.isFinite(y[i]) && (!this.yLog || y[i] >= this.up.low);
      if (there) {
        part.push([this.x(x[i]), this.y(y[i])]);
      } else if (part.length) {
        text += pathOf(part);
        part = [];
      }
    }
    return text;
  }

  between(upper, lower) {
    if (!upper || !lower) return "";
    const points = ({ x, y }) => x.map((value, i) => [this.x(value), this.y(y[i])]);
    return pathOf([...points(upper), ...points(lower).reverse()], true);
  }

  axes() {
    const left = MARGIN.left;
    const right = this.width - MARGIN.right;
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

/** The index of the entry closest to a value in an increasing list. */
function closest(x, value) {
  const after = x.findIndex((entry) => entry >= value);
  if (after < 0) return x.length - 1;
  return after && value - x[after - 1] < x[after] - value ? after - 1 : after;
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
