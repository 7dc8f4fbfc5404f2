// Details of the first play: payoffs, equilibria, joint play, and regret with its bound.

import { correlated, nashEquilibria } from "../kernel/equilibria.js";
import { outcome, width } from "../kernel/games.js";
import { boundOf, KINDS, regretOf } from "../kernel/seats.js";
import { Chart, shownRounds } from "./chart.js";
import { byId, fraction, html, say, short, tabs } from "./dom.js";
import { Heat } from "./heat.js";
import { Plane } from "./plane.js";
import { capital } from "./stage.js";

const MAX_LISTED = 12;
const REGRET_LINES = {
  external: { label: "external", style: "s-cce" },
  internal: { label: "internal", style: "s-ce dashed" },
  swap: { label: "swap", style: "s-swap dashdot" },
  bound: { label: "bound", style: "s-ink dotted" },
};

export class Details {
  constructor(app) {
    this.app = app;
    this.boundChart = new Chart(byId("bound-body"), {
      lines: REGRET_LINES,
      label: "Regret of one player over rounds, with its bound",
    });
    this.plane = new Plane(byId("plane-body"));
    this.heat = new Heat(byId("joint-body"));
  }

  get run() {
    return this.app.runs[0];
  }

  /** Payoffs have changed: equilibria and the plane follow. */
  gameChanged() {
    const { game, plane } = this.app.state;
    this.nash = nashEquilibria(game);
    this.solved = {};
    this.plane.setGame(game, plane, this.nash);
    const pairs = { "0,1": "1 and 2", "0,2": "1 and 3", "1,2": "2 and 3" };
    byId("plane-tabs").replaceChildren(
      ...tabs(game.sizes.length === 3 ? pairs : {}, plane.join(), (pair) => {
        this.app.state.plane = pair.split(",").map(Number);
        this.gameChanged();
        this.app.save();
      }),
    );
    this.listEquilibria();
    this.showSeats();
  }

  showSeats() {
    const { game, player, seats } = this.app.state;
    const { label } = KINDS[seats[player].kind];
    const hasBound = boundOf(seats[player], game.sizes[player], 1, 1, null) !== null;
    const bound = hasBound
      ? `Dotted: the most ${regretOf(seats[player])} regret that ${label} can have in this game.`
      : `There is no bound for ${label}.`;
    const about = `What ${game.players[player]} would have saved by one action instead of all (external), of one other (internal), or of each (swap).`;
    say(byId("bound-note"), `${about} ${bound}`);
  }

  solve(what) {
    const [concept, objective] = what.split("-");
    this.solved[what] ??= correlated(this.app.state.game, concept, objective);
    return this.solved[what];
  }

  /** All equilibria, each a button that goes there. */
  listEquilibria() {
    const { game } = this.app.state;
    const rows = this.nash.slice(0, MAX_LISTED).map((profile, i) => {
      const go = () => this.app.startAt(profile.strategies);
      return this.row(
        `Nash ${i + 1}`,
        strategiesText(game, profile.strategies),
        profile.payoffs,
        go,
      );
    });
    const correlatedRows = ["ce", "cce"].map((what) => {
      const { joint, payoffs } = this.solve(what);
      const name = `Best ${what.toUpperCase()}`;
      return this.row(name, jointText(game, joint), payoffs, () => this.app.showJoint(what));
    });
    const more = this.nash.length - rows.length;
    const notes = [
      more > 0 ? `${more} more Nash equilibria are not listed.` : "",
      game.sizes.length > 2 ? "Nash equilibria of three players: pure ones only." : "",
      "Click a Nash equilibrium to start there, a best CE or CCE (largest sum of payoffs) to see how often each outcome occurs.",
    ];
    byId("equilibria-body").replaceChildren(
      ...rows,
      ...correlatedRows,
      html("p", { class: "note" }, notes.filter(Boolean).join(" ")),
    );
  }

  row(name, text, payoffs, go) {
    const { players } = this.app.state.game;
    const paid = payoffs.map((u, n) =>
      html("b", { class: `n${n}`, title: players[n] }, fraction(u)),
    );
    return html(
      "button",
      { type: "button", class: "equilibrium", onclick: go },
      html("strong", {}, name),
      html("span", { class: "paid" }, "pays ", ...paid.flatMap((b, n) => (n ? [", ", b] : [b]))),
      html("span", { class: "mix" }, text),
    );
  }

  drawBound() {
    const { player, seats, game, starts } = this.app.state;
    const x = shownRounds(this.run.round, false);
    const { regrets } = this.run.players[player];
    const of = (kind) => (x.length ? { x, y: x.map((t) => regrets[kind].at(t - 1)) } : null);
    const span = width(game, player);
    const bound = (t) => boundOf(seats[player], game.sizes[player], t, span, starts[player]);
    const bounded = x.length && bound(1) !== null ? { x, y: x.map(bound) } : null;
    this.boundChart.update(
      {
        external: of("external"),
        internal: of("internal"),
        swap: of("swap"),
        bound: bounded,
      },
      Math.max(this.app.state.horizon, this.run.round),
    );
  }

  drawPlane() {
    const { plane } = this.app.state;
    const x = shownRounds(this.run.round, true);
    this.plane.update(x.map((t) => plane.map((n) => this.run.players[n].payoffs.at(t - 1))));
  }

  drawJoint() {
    const { game, joint } = this.app.state;
    if (joint === "play") {
      const none = new Float64Array(game.payoffs[0].length);
      this.heat.update(game, this.run.round ? this.run.jointMean() : none);
      say(byId("joint-note"), "The average over rounds of the product of the players' policies.");
      return;
    }
    const { joint: shares, payoffs, value } = this.solve(joint);
    this.heat.update(game, shares);
    const paid = payoffs.map((u, n) => `${short(u, 5)} to ${game.players[n]}`);
    const what = joint.endsWith("minimum") ? "largest lowest payoff" : "largest sum of payoffs";
    say(byId("joint-note"), `The ${what} in this set is ${short(value, 7)}: ${paid.join(", ")}.`);
  }
}

function strategiesText(game, strategies) {
  const parts = strategies.map((side, n) => {
    const played = [...side.keys()].filter((a) => side[a] > 1e-9);
    const mix = played.map(
      (a) => (played.length > 1 ? `${fraction(side[a])} ` : "") + game.actions[n][a],
    );
    return `${capital(game.players[n])}: ${mix.join(" + ")}`;
  });
  return parts.join("; ");
}

function jointText(game, joint) {
  const likely = [...joint.keys()].filter((a) => joint[a] > 1e-9);
  const shown = likely.slice(0, 4).map((a) => `${fraction(joint[a])} (${outcome(game, a)})`);
  return shown.join(" + ") + (likely.length > 4 ? " + …" : "");
}
