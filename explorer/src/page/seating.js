// Who plays: a learner per seat, its slider marked at k* and at the classical step, or a trained layer.

import { width } from "../kernel/games.js";
import { KINDS } from "../kernel/seats.js";
import { html, short } from "./dom.js";
import { builtInLayer } from "./state.js";

const FINE = 1000; // steps of a slider
const NAMES = { star: "k*", classical: "classical" };

export class Seating {
  /** `change(player, seat, isNew)` is called for every change; `layers()` are those from files. */
  constructor(body, { change, layers, isFirst }) {
    Object.assign(this, { body, change, layers, isFirst });
  }

  show(state, seats) {
    this.state = state;
    const title = html("h4", {}, this.isFirst ? "Left" : "Right");
    const parts = seats.map((seat, n) => this.seat(seat, n));
    this.body.replaceChildren(...(state.versus ? [title] : []), ...parts);
  }

  /** Layers from files that play this many actions. */
  dropped(size) {
    return this.layers().filter((layer) => layer.heads[0].bias.length === size);
  }

  seat(seat, n) {
    const name = this.state.game.players[n];
    const parts = [
      html("div", { class: "seat-name" }, html("span", { class: `dot n${n}` }), name),
      this.choice(seat, n),
    ];
    const { parameter, about } = KINDS[seat.kind];
    if (parameter) parts.push(this.value(seat, n, parameter));
    if (seat.kind === "swap_attention") parts.push(this.calibration(seat, n));
    const which = seat.layer && !seat.layer.builtIn ? `: ${seat.layer.name}` : "";
    parts.push(html("p", { class: "note" }, about + which));
    return html("div", { class: "seat", "data-seat": n }, ...parts);
  }

  choice(seat, n) {
    const size = this.state.game.sizes[n];
    const isOffered = ([kind, { trained }]) => {
      if (kind === "hand") return this.isFirst && n === 0;
      return !trained || size === 3 || seat.kind === kind;
    };
    const options = Object.entries(KINDS)
      .filter(isOffered)
      .map(([kind, { label }]) => html("option", { value: kind }, label));
    const files = this.dropped(size).map((layer, i) =>
      html("option", { value: `file ${i}` }, `From file: ${layer.name}`),
    );
    const select = html(
      "select",
      { "aria-label": `Learner of ${this.state.game.players[n]}` },
      ...options,
      ...files,
    );
    const used = this.dropped(size).indexOf(seat.layer);
    select.value = used >= 0 ? `file ${used}` : seat.kind;
    select.addEventListener("change", () => this.choose(n, select.value, size));
    return select;
  }

  choose(n, value, size) {
    if (value.startsWith("file ")) {
      const layer = this.dropped(size)[Number(value.slice(5))];
      return this.change(n, { kind: layer.kind, layer }, true);
    }
    if (value === "hand") return this.change(n, { kind: value, actions: [] }, true);
    const { parameter, trained, marks } = KINDS[value];
    if (trained) return this.change(n, { kind: value, layer: builtInLayer(value) }, true);
    if (!parameter) return this.change(n, { kind: value }, true);
    const star = marks?.(size, this.state.horizon, 1).star;
    const fallback = parameter.integer ? this.state.horizon : 0.25;
    return this.change(
      n,
      { kind: value, value: star ? Number(star.toPrecision(4)) : fallback },
      true,
    );
  }

  value(seat, n, parameter) {
    const label = `${parameter.name} of ${this.state.game.players[n]}`;
    const slider = html("input", {
      type: "range",
      min: 0,
      max: FINE,
      step: 1,
      "aria-label": label,
    });
    const number = html("input", {
      type: "number",
      min: parameter.low,
      step: "any",
      "aria-label": `${label}, as a number`,
    });
    const place = (value) => {
      slider.value = toSlider(value, parameter);
      slider.setAttribute("aria-valuetext", short(value));
      if (document.activeElement !== number) number.value = short(value, 6);
    };
    const take = (value) => {
      const isGood = value > 0 && Number.isFinite(value);
      number.setAttribute("aria-invalid", !isGood);
      if (!isGood) return;
      const taken = parameter.integer ? Math.max(1, Math.round(value)) : value;
      place(taken);
      this.change(n, { ...seat, value: taken }, false);
    };
    slider.addEventListener("input", () => take(fromSlider(slider.value, parameter)));
    number.addEventListener("input", () => take(Number(number.value)));
    place(seat.value);
    const rail = html("div", { class: "rail" }, slider, ...this.marks(seat, n, parameter, take));
    return html(
      "div",
      { class: "value" },
      html("span", { class: "label" }, parameter.name),
      rail,
      number,
    );
  }

  /** Buttons under the slider, at the steps that theory names. */
  marks(seat, n, parameter, take) {
    const { marks } = KINDS[seat.kind];
    const size = this.state.game.sizes[n];
    if (!marks || size < 2) return [];
    const steps = marks(size, this.state.horizon, width(this.state.game, n));
    const marked = Object.entries(steps)
      .filter(([, value]) => value > 0 && Number.isFinite(value))
      .map(([name, value]) => {
        const about =
          name === "star"
            ? `the step that regret training finds for ${size} actions and ${this.state.horizon} rounds`
            : "the step with the smallest bound for these payoffs";
        const button = html(
          "button",
          {
            type: "button",
            title: `${short(value)}: ${about}`,
            "aria-label": `${NAMES[name]} ${short(value)}, ${about}`,
            onclick: () => take(Number(value.toPrecision(8))),
          },
          NAMES[name],
        );
        return { button, part: toSlider(value, parameter) / FINE };
      });
    const isClose = marked.length > 1 && Math.abs(marked[0].part - marked[1].part) < 0.36;
    return marked.flatMap(({ button, part }, i) => {
      const tick = html("i", { class: "tick" });
      for (const element of [button, tick]) {
        element.style.setProperty("--part", part);
        element.classList.toggle("lower", isClose && i > 0);
      }
      return [tick, button];
    });
  }

  calibration(seat, n) {
    const box = html("input", { type: "checkbox" });
    box.checked = seat.layer.calibrated;
    box.addEventListener("change", () =>
      this.change(n, { ...seat, layer: { ...seat.layer, calibrated: box.checked } }, false),
    );
    return html(
      "label",
      { class: "inline" },
      box,
      html("span", { class: "label" }, "calibrated for play"),
    );
  }
}

function toSlider(value, { low, high }) {
  return Math.round(
    (FINE * Math.log(Math.min(Math.max(value, low), high) / low)) / Math.log(high / low),
  );
}

function fromSlider(position, { low, high }) {
  return Number((low * (high / low) ** (position / FINE)).toPrecision(4));
}
