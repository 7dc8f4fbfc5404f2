// The payoff table, editable: numbers (or ratios), names of actions, and how many actions each player has.

import { MAX_ACTIONS, ravel } from "../kernel/games.js";
import { parseNumber } from "../kernel/formats.js";
import { range } from "../kernel/vectors.js";
import { fraction, html, short } from "./dom.js";

const MAX_DENOMINATOR = 12;

/** A payoff as people write it: 2/3 where that is the number, else a short decimal. */
function written(value) {
  return Number.isInteger(value * 1000) ? short(value, 9) : fraction(value, MAX_DENOMINATOR);
}

export class PayoffTable {
  /** `change(game)` is called with edited numbers and names, `resize(player, size)` for more or fewer actions. */
  constructor(body, { change, resize }) {
    Object.assign(this, { body, change, resize, block: 0 });
  }

  show(game) {
    this.game = game;
    this.block = Math.min(this.block, (game.sizes[2] ?? 1) - 1);
    const parts = [this.sizes(), html("div", { class: "scroll" }, this.table())];
    if (game.sizes.length > 2) parts.splice(1, 0, this.blocks());
    this.body.replaceChildren(...parts);
  }

  sizes() {
    const sizer = (player) => {
      const size = this.game.sizes[player];
      const name = this.game.players[player];
      const button = (sign, by) =>
        html(
          "button",
          {
            type: "button",
            "aria-label": `${by > 0 ? "Add" : "Remove"} an action of ${name}`,
            disabled: size + by < 1 || size + by > MAX_ACTIONS,
            onclick: () => this.resize(player, size + by),
          },
          sign,
        );
      return html(
        "span",
        {},
        html("span", { class: `dot n${player}` }),
        ` ${name} `,
        button("−", -1),
        ` ${size} `,
        button("+", 1),
      );
    };
    return html("div", { class: "sizes" }, ...range(this.game.sizes.length).map(sizer));
  }

  /** The third player's action chooses the table that is shown. */
  blocks() {
    const choose = (a) => () => {
      this.block = a;
      this.show(this.game);
    };
    const names = this.game.actions[2];
    return html(
      "div",
      { class: "tabs", role: "group", "aria-label": `Action of ${this.game.players[2]}` },
      ...names.map((name, a) =>
        html(
          "button",
          { type: "button", "aria-pressed": a === this.block, onclick: choose(a) },
          `${this.game.players[2]}: ${name}`,
        ),
      ),
    );
  }

  table() {
    const { sizes } = this.game;
    const head = html(
      "tr",
      {},
      html("th"),
      ...range(sizes[1]).map((j) => html("th", { scope: "col" }, this.label(1, j))),
    );
    const rows = range(sizes[0]).map((i) =>
      html(
        "tr",
        {},
        html("th", { scope: "row" }, this.label(0, i)),
        ...range(sizes[1]).map((j) => this.cell(i, j)),
      ),
    );
    return html("table", { class: "payoffs" }, html("thead", {}, head), html("tbody", {}, ...rows));
  }

  label(player, action) {
    const input = html("input", {
      type: "text",
      maxlength: 24,
      "aria-label": `Name of action ${action + 1} of ${this.game.players[player]}`,
      class: `n${player}`,
    });
    input.value = this.game.actions[player][action];
    if (player === 0) input.style.minWidth = `${Math.min(input.value.length, 12) + 1.5}ch`;
    input.addEventListener("change", () => {
      const actions = this.game.actions.map((names) => [...names]);
      actions[player][action] = input.value.trim() || `${action + 1}`;
      this.change({ ...this.game, actions });
    });
    return input;
  }

  cell(i, j) {
    const joint = [i, j, this.block].slice(0, this.game.sizes.length);
    const index = ravel(joint, this.game.sizes);
    return html(
      "td",
      {},
      html(
        "div",
        { class: "pair" },
        ...this.game.players.map((_, n) => this.number(n, index, joint)),
      ),
    );
  }

  number(player, index, joint) {
    const { players, actions, payoffs } = this.game;
    const where = joint.map((a, n) => actions[n][a]).join(", ");
    const input = html("input", {
      type: "text",
      inputmode: "text",
      class: `n${player}`,
      "aria-label": `Payoff of ${players[player]} at ${where}`,
      "data-cell": `${player}-${index}`,
    });
    input.value = written(payoffs[player][index]);
    input.addEventListener("input", () => this.edited(input, player, index));
    return input;
  }

  edited(input, player, index) {
    try {
      const value = parseNumber(input.value);
      input.classList.remove("bad");
      input.removeAttribute("aria-invalid");
      const payoffs = this.game.payoffs.map((table) => Float64Array.from(table));
      payoffs[player][index] = value;
      this.game = { ...this.game, payoffs };
      this.change(this.game);
    } catch {
      input.classList.add("bad");
      input.setAttribute("aria-invalid", "true");
    }
  }
}
