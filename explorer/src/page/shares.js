// Any number of actions in time: how likely each is, round by round, with sliders for the start.

import { Chart, shownRounds } from "./chart.js";
import { html, say } from "./dom.js";
import { startOf, tidyStart } from "./starts.js";

export class Shares {
  constructor(body, player, actions, onStart) {
    Object.assign(this, { player, onStart });
    const place = html("div");
    const lines = actions.flatMap((name, i) => [
      [i, { label: name, style: `s-a${i}` }],
      [`mean ${i}`, { label: "average", style: `s-a${i} dotted faint`, isListed: false }],
    ]);
    this.chart = new Chart(place, {
      lines: Object.fromEntries(lines),
      label: `How likely each action of player ${player + 1} is, over rounds`,
      height: 190,
      range: [0, 1],
    });
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
    this.outputs = actions.map(() => html("output"));
    const rows = actions.flatMap((name, i) => [
      html("span", {}, name),
      this.sliders[i],
      this.outputs[i],
    ]);
    const starts = html("div", { class: "weights" }, ...rows);
    body.append(place, html("details", {}, html("summary", {}, "Set the start"), starts));
  }

  changed() {
    this.onStart([[this.player, tidyStart(this.sliders.map((slider) => Number(slider.value)))]]);
  }

  update(run, state) {
    const seat = run.players[this.player];
    const start = startOf(state, this.player);
    const x = shownRounds(run.round, false);
    const line = (column) => (x.length ? { x, y: x.map((t) => column.at(t - 1)) } : null);
    const series = start.flatMap((_, i) => [
      [i, line(seat.policies[i])],
      [`mean ${i}`, line(seat.means[i])],
    ]);
    this.chart.update(Object.fromEntries(series), Math.max(state.horizon, run.round));
    start.forEach((weight, i) => {
      if (document.activeElement !== this.sliders[i]) this.sliders[i].value = weight;
      say(this.outputs[i], weight.toFixed(3));
    });
  }
}
