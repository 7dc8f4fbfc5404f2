// A play on the stage: where it goes, one player's regret as a picture, and the gaps to equilibrium.

import { worstDeviations } from "../kernel/regret.js";
import { argmax } from "../kernel/vectors.js";
import { Chart, shownRounds } from "./chart.js";
import { html, legend, say, short, svg, tabs } from "./dom.js";
import { Simplex, Square } from "./pictures.js";
import { Shares } from "./shares.js";
import { exportButtons, pairing } from "./sharing.js";

const REGRET_LINES = {
  mine: { label: "my loss so far", style: "s-ink" },
  best: { label: "best single action", style: "s-swap dashed" },
  regret: { label: "regret, the area between", style: "swatch", isDrawn: false },
};
const GAP_LINES = {
  cce: { label: "CCE", style: "s-cce" },
  ce: { label: "CE", style: "s-ce dashed" },
  swap: { label: "swap", style: "s-swap dashdot" },
  nash: { label: "Nash", style: "s-nash dotted" },
};
const DIAMOND = "M13 0L18 5L13 10L8 5Z";
const marks = () => [
  [svg("circle", { class: "now f-n0", cx: 13, cy: 5, r: 5 }), "played now"],
  [svg("circle", { class: "mean-dot", cx: 13, cy: 5, r: 4 }), "average so far"],
  [svg("path", { class: "nash", d: DIAMOND }), "Nash equilibrium"],
  [svg("path", { class: "line s-accent", d: "M8 5H18M13 0V10" }), "start: drag it"],
];

/** A figure in a card: its title, tools at the right of it, a body and a caption. */
function figure(id, title, caption) {
  const head = html("div", { class: "head" }, html("h3", {}, title));
  const body = html("div", { id: `${id}-body` });
  const note = html("figcaption");
  const element = html("figure", { class: `card ${id.split("-")[0]}`, id }, head, body, note);
  head.append(exportButtons(element, caption));
  return { element, head, body, note };
}

export class Stage {
  constructor(app, index) {
    Object.assign(this, { app, index });
    const id = (name) => (index ? `${name}-2` : name);
    this.title = html("h3", { class: "stage-title" });
    const card = (name, title) => figure(id(name), title, () => app.caption(this.seats));
    this.where = card("where", "Where play goes");
    this.regret = card("regret", "Regret, in hindsight");
    this.gaps = card("gaps", "How far from equilibrium");
    this.element = html(
      "div",
      { class: "stage" },
      this.title,
      ...[this.where, this.regret, this.gaps].map(({ element }) => element),
    );
    this.tabs = html("div", { class: "tabs" });
    this.regret.head.append(this.tabs);
    this.regretChart = new Chart(this.regret.body, {
      lines: REGRET_LINES,
      label: "A player's loss so far and that of the best single action",
      band: ["mine", "best"],
    });
    this.gapChart = new Chart(this.gaps.body, {
      lines: GAP_LINES,
      label: "Equilibrium gaps over rounds",
      xLog: true,
      yLog: true,
    });
    this.worst = html("p");
    this.gaps.note.before(this.worst);
    say(
      this.gaps.note,
      "The most a player could still gain per round by always playing one action (CCE), by replacing one action by another (CE), or every action by its best replacement (swap); Nash: if all played their averages independently.",
    );
  }

  get run() {
    return this.app.runs[this.index];
  }

  get seats() {
    return this.index ? this.app.state.versus : this.app.state.seats;
  }

  /** Pictures for the shape of the game. */
  showGame() {
    const { game } = this.app.state;
    const move = (changes) => this.app.moveStarts(changes);
    const { players, actions, sizes } = game;
    const isSquare = sizes.join() === "2,2";
    const room = (title) => {
      const place = html("div", { class: "picture" }, ...(title ? [html("h4", {}, title)] : []));
      this.where.body.append(place);
      return place;
    };
    this.where.body.replaceChildren();
    this.where.body.className = "pictures";
    this.pictures = isSquare
      ? [new Square(room(""), players.join(" and "), move)]
      : sizes.map((d, n) => {
          if (d === 3) return new Simplex(room(players[n]), n, players[n], move);
          return new Shares(room(players[n]), n, actions[n], move);
        });
    const isMarked = this.pictures.some((picture) => !(picture instanceof Shares));
    this.where.note.replaceChildren(isMarked ? legend(marks()) : "Dotted: averages so far.");
    this.showSeats();
  }

  showSeats() {
    const { state } = this.app;
    say(this.title, pairing(this.seats ?? []));
    this.tabs.replaceChildren(
      ...tabs(state.game.players, state.player, (n) => this.app.showPlayer(Number(n))),
      html("span", { class: "gap" }),
      ...tabs({ false: "total", true: "per round" }, state.isAverage, (value) =>
        this.app.showAverage(value === "true"),
      ),
    );
  }

  drawWhere() {
    const { state, details } = this.app;
    this.pictures.forEach((picture) => picture.update(this.run, state, details.nash));
  }

  drawRegret() {
    const { game, player, isAverage, horizon } = this.app.state;
    const { round } = this.run;
    const x = shownRounds(round, false);
    const seat = this.run.players[player];
    const mine = (t) => -seat.payoffs.at(t - 1) * t;
    const regret = (t) => seat.regrets.external.at(t - 1);
    const line = (value) => {
      if (!x.length) return null;
      return { x, y: x.map((t) => (isAverage ? value(t) / t : value(t))) };
    };
    const series = {
      mine: line(mine),
      best: line((t) => mine(t) - regret(t)),
      regret: line(regret),
    };
    this.regretChart.update(series, Math.max(horizon, round));
    const best = game.actions[player][argmax(seat.totals.map((total) => -total))];
    say(
      this.regret.note,
      round
        ? `${capital(game.players[player])} has ${wonOrLost(mine(round))}; always playing ${named(best)} would have ${wonOrLost(mine(round) - regret(round))}. The difference is the regret: ${short(regret(round), 3)}.`
        : "Regret: how much less a player would have lost by playing the best single action all along.",
    );
  }

  drawGaps() {
    const x = shownRounds(this.run.round, true);
    const series = (name) =>
      x.length ? { x, y: x.map((t) => this.run.gaps[name].at(t - 1)) } : null;
    const lines = Object.keys(GAP_LINES).map((name) => [name, series(name)]);
    this.gapChart.update(Object.fromEntries(lines), Math.max(this.app.state.horizon, 10));
    say(this.worst, x.length ? this.worstText() : "");
  }

  /** The deviation that would have gained most, in words. */
  worstText() {
    const { game } = this.app.state;
    const { always, whenever } = worstDeviations(this.run);
    const isFixed = always.gain > 1e-12;
    const { player, told, instead, gain } = isFixed ? always : whenever;
    if (gain <= 1e-12) return "Nobody would have gained by playing otherwise.";
    const name = (action) => named(game.actions[player][action]);
    const how = isFixed
      ? `always playing ${name(instead)}`
      : `playing ${name(instead)} whenever it played ${name(told)}`;
    return `${capital(game.players[player])} would have gained ${short(gain, 3)} per round by ${how}.`;
  }
}

/** A loss in words: lost, or won if it is negative. */
function wonOrLost(loss) {
  return `${loss > 0 ? "lost" : "won"} ${short(Math.abs(loss), 3)}`;
}

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
export const named = (action) => (/^\d+$/.test(action) ? `action ${action}` : action);
