// Any number of actions as bars.

import { html, say } from "./dom.js";
import { startOf, tidyStart } from "./starts.js";

/** Any number of actions: how often each is played now, a line at its average, and sliders for the start. */
export class Bars {
  constructor(body, player, actions, onStart) {
    Object.assign(this, { player, onStart });
    const table = html("div", { class: "bars" });
    this.rows = actions.map((name) => this.row(table, name));
    this.sliders = actions.map((name) =>
      html("input", {
        type: "range",
        min: 0,
        max: 1,
        step: 0.01,
        "aria-label": `Start: weight of ${name}`,
        oninput: () => this.changed(),
      }),
    );
    const starts = html(
      "div",
      { class: "bars" },
      ...actions.flatMap((name, i) => [html("span", {}, name), this.sliders[i], html("output")]),
    );
    this.outputs = [...starts.querySelectorAll("output")];
    body.append(table, html("details", {}, html("summary", {}, "Set the start"), starts));
  }

  row(table, name) {
    const fill = html("i", { class: `n${this.player}` });
    const mean = html("b");
    const value = html("output");
    table.append(html("span", {}, name), html("div", { class: "bar" }, fill, mean), value);
    return { fill, mean, value };
  }

  changed() {
    this.onStart([[this.player, tidyStart(this.sliders.map((slider) => Number(slider.value)))]]);
  }

  update(run, state) {
    const seat = run.players[this.player];
    const start = startOf(state, this.player);
    this.rows.forEach(({ fill, mean, value }, i) => {
      const now = run.round ? seat.policies[i].at(run.round - 1) : start[i];
      const average = run.round ? seat.means[i].at(run.round - 1) : start[i];
      fill.style.width = `${(100 * now).toFixed(1)}%`;
      mean.style.left = `calc(${(100 * average).toFixed(1)}% - 1px)`;
      say(value, now.toFixed(3));
      if (document.activeElement !== this.sliders[i]) this.sliders[i].value = start[i];
      say(this.outputs[i], start[i].toFixed(3));
    });
  }
}
