// Who plays: a learner per seat, its slider marked at k* and at the classical step, or a trained layer.

import { width } from "../kernel/games.js";
import { KINDS } from "../kernel/seats.js";
import { html, short } from "./dom.js";
import { builtInLayer } from "./state.js";

const FINE = 1000; // steps of a slider
const NAMES = { star: "k*", classical: "classical" };

export class Seating {
  /** `change(player, seat)` hears of every move. */
  constructor(body, change) {
    Object.assign(this, { body, change, layers: [] });
  }

  show(state) {
    this.state = state;
    this.body.replaceChildren(...state.seats.map((seat, n) => this.seat(seat, n)));
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
    const options = Object.entries(KINDS)
      .filter(([kind, { trained }]) => !trained || size === 3 || seat.kind === kind)
      .map(([kind, { label }]) => html("option", { value: kind }, label));
    const dropped = this.layers
      .filter((layer) => layer.heads[0].bias.length === size)
      .map((layer, i) => html("option", { value: `file ${i}` }, `From file: ${layer.name}`));
    const select = html(
      "select",
      { "aria-label": `Learner of ${this.state.game.players[n]}` },
      ...options,
      ...dropped,
    );
    const used = this.layers
      .filter((layer) => layer.heads[0].bias.length === size)
      .indexOf(seat.layer);
    select.value = used >= 0 ? `file ${used}` : seat.kind;
    select.addEventListener("change", () => this.choose(n, select.value, size));
    return select;
  }

  choose(n, value, size) {
    if (value.startsWith("file ")) {
      const layer = this.layers.filter((one) => one.heads[0].bias.length === size)[
        Number(value.slice(5))
      ];
      return this.change(n, { kind: layer.kind, layer }, true);
    }
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
      if (!(value > 0 && Number.isFinite(value))) return;
      const kept = parameter.integer ? Math.max(1, Math.round(value)) : value;
      place(kept);
      this.change(n, { ...seat, value: kept }, false);
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
    const found = marks(size, this.state.horizon, width(this.state.game, n));
    return Object.entries(found)
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
        button.style.left = `${(100 * toSlider(value, parameter)) / FINE}%`;
        return button;
      })
      .map(apart);
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

/** Two marks that would lie on each other: the second hangs lower. */
function apart(button, index, all) {
  if (index && Math.abs(parseFloat(button.style.left) - parseFloat(all[0].style.left)) < 22) {
    const before = parseFloat(button.style.left) < parseFloat(all[0].style.left);
    button.style.marginLeft = before ? "-1.6rem" : "1.6rem";
    all[0].style.marginLeft = before ? "0.9rem" : "-0.9rem";
  }
  return button;
}

function toSlider(value, { low, high }) {
  return Math.round(
    (FINE * Math.log(Math.min(Math.max(value, low), high) / low)) / Math.log(high / low),
  );
}

function fromSlider(position, { low, high }) {
  return Number((low * (high / low) ** (position / FINE)).toPrecision(4));
}
