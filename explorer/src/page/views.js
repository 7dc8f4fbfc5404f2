// The figures of the sandbox: what is drawn of the state and of the play.

import { correlated, nashEquilibria } from "../kernel/equilibria.js";
import { width } from "../kernel/games.js";
import { worstDeviations } from "../kernel/regret.js";
import { boundOf, KINDS, regretOf } from "../kernel/seats.js";
import { Bars } from "./bars.js";
import { Chart, shownRounds } from "./chart.js";
import { byId, html, say, short } from "./dom.js";
import { Heat } from "./heat.js";
import { Simplex, Square } from "./pictures.js";
import { Plane } from "./plane.js";

const GAP_LINES = {
  cce: { label: "CCE", style: "s-cce" },
  ce: { label: "CE", style: "s-ce dashed" },
  swap: { label: "swap", style: "s-swap dashdot" },
  nash: { label: "Nash", style: "s-nash dotted" },
};
const REGRET_LINES = {
  external: { label: "external", style: "s-cce" },
  internal: { label: "internal", style: "s-ce dashed" },
  swap: { label: "swap", style: "s-swap dashdot" },
  bound: { label: "bound", style: "s-ink dotted" },
};

export class Views {
  constructor(app) {
    this.app = app;
    this.gapChart = new Chart(byId("gaps-body"), {
      lines: GAP_LINES,
      label: "Equilibrium gaps over rounds",
      xLog: true,
      yLog: true,
    });
    this.regretChart = new Chart(byId("regret-body"), {
      lines: REGRET_LINES,
      label: "Regret of one player over rounds, with its bound",
    });
    this.plane = new Plane(byId("plane-body"));
    this.heat = new Heat(byId("joint-body"));
    this.watchSight();
  }

  get state() {
    return this.app.state;
  }

  get run() {
    return this.app.run;
  }

  /** Which figures are on the screen, or nearly; one that comes into sight is drawn. */
  watchSight() {
    const figures = ["where", "gaps", "regret", "plane", "joint"];
    this.inSight = new Set(figures);
    const look = (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) this.inSight.add(target.id);
        else this.inSight.delete(target.id);
      }
      this.app.dirty = true;
    };
    const observer = new IntersectionObserver(look, { rootMargin: "80px" });
    figures.forEach((id) => observer.observe(byId(id)));
  }

  /** Payoffs have changed: equilibria and the plane follow. */
  gameChanged() {
    const { game, plane } = this.state;
    this.nash = nashEquilibria(game);
    this.solved = {};
    this.plane.setGame(game, plane, this.nash);
    const known = this.app.zoo.find((one) => one.name === game.name);
    say(byId("game-about"), known?.about ?? "Your own game.");
    byId("game").value = known ? game.name : "";
    say(byId("third"), game.sizes.length === 2 ? "Add a player" : "Remove a player");
    this.showTabs();
    this.app.dirty = true;
  }

  showPictures() {
    const { game } = this.state;
    const move = (changes) => this.app.moveStarts(changes);
    const body = byId("where-body");
    body.replaceChildren();
    const room = (title, kind = "") => {
      const place = html(
        "div",
        { class: `picture ${kind}` },
        ...(title ? [html("h4", {}, title)] : []),
      );
      body.append(place);
      return place;
    };
    this.pictures =
      game.sizes.join() === "2,2"
        ? [new Square(room("", "square"), `${game.players[0]} and ${game.players[1]}`, move)]
        : game.sizes.map((d, n) =>
            d === 3
              ? new Simplex(room(game.players[n]), n, game.players[n], move)
              : new Bars(room(game.players[n]), n, game.actions[n], move),
          );
    const kinds = this.pictures.some((picture) => !(picture instanceof Bars));
    byId("where").querySelector(".out").hidden = !kinds; // bars are no picture to save
    say(
      byId("where-note"),
      kinds
        ? "Dot: what is played now. Ring: the average so far. Diamonds: Nash equilibria. Arrows: the replicator flow, given what the others play now. Drag the cross to move the start."
        : "Bars: what is played now. Line: the average so far.",
    );
  }

  showTabs() {
    const { game, player, plane, seats } = this.state;
    const tab = (text, on, act) =>
      html("button", { type: "button", "aria-pressed": on, onclick: act }, text);
    byId("regret-tabs").replaceChildren(
      ...game.players.map((name, n) =>
        tab(name, n === player, () =>
          this.app.save(() => {
            this.state.player = n;
            this.showTabs();
          }),
        ),
      ),
    );
    const pairs =
      game.sizes.length === 3
        ? [
            [0, 1],
            [0, 2],
            [1, 2],
          ]
        : [];
    byId("plane-tabs").replaceChildren(
      ...pairs.map((pair) =>
        tab(pair.map((n) => n + 1).join(" and "), pair.join() === plane.join(), () => {
          this.state.plane = pair;
          this.gameChanged();
          this.app.save();
        }),
      ),
    );
    const bound =
      boundOf(seats[player], game.sizes[player], 1, 1, null) === null
        ? `${KINDS[seats[player].kind].label} comes with no bound.`
        : `Dotted: the bound on ${regretOf(seats[player])} regret that theory gives ${KINDS[seats[player].kind].label} in this game.`;
    say(
      byId("regret-note"),
      `What this player would have gained in all by the best change of its play. ${bound}`,
    );
    const nash = this.nash.length
      ? `${this.nash.length} ${game.sizes.length === 2 ? "extreme" : "pure"} Nash ${this.nash.length === 1 ? "equilibrium" : "equilibria"}`
      : "No pure Nash equilibrium";
    say(
      byId("plane-note"),
      `${nash}. CE and CCE: every payoff that an equilibrium of the kind can give.`,
    );
  }

  /** All views; while play runs only those in sight, and the charts take turns, two frames for all of them. */
  draw() {
    this.turn = 1 - (this.turn ?? 0);
    const running = this.app.isPlaying || this.run.round < this.state.rounds;
    this.app.dirty = running || this.turned;
    this.turned = running;
    const due = (id, turn) => !running || (this.inSight.has(id) && turn === this.turn);
    say(byId("round"), String(this.run.round));
    if (due("where", this.turn))
      this.pictures.forEach((picture) => picture.update(this.run, this.state, this.nash));
    if (due("gaps", 0)) this.drawGaps();
    if (due("regret", 1)) this.drawRegret();
    if (due("plane", 0)) this.drawPlane();
    if (due("joint", 1)) this.drawJoint();
    if (!running || this.turn) this.drawWords();
  }

  drawGaps() {
    const x = shownRounds(this.run.round, true);
    const series = (name) =>
      x.length ? { x, y: x.map((t) => this.run.gaps[name].at(t - 1)) } : null;
    this.gapChart.update(
      Object.fromEntries(Object.keys(GAP_LINES).map((name) => [name, series(name)])),
      Math.max(this.state.horizon, this.run.round, 10),
    );
  }

  drawRegret() {
    const { player, seats, game, starts } = this.state;
    const x = shownRounds(this.run.round, false);
    const { regrets } = this.run.players[player];
    const of = (kind) => (x.length ? { x, y: x.map((t) => regrets[kind].at(t - 1)) } : null);
    const span = width(game, player);
    const bound = (t) => boundOf(seats[player], game.sizes[player], t, span, starts[player]);
    const bounded = x.length && bound(1) !== null ? { x, y: x.map(bound) } : null;
    this.regretChart.update(
      { external: of("external"), internal: of("internal"), swap: of("swap"), bound: bounded },
      Math.max(this.run.round, 2),
    );
  }

  drawPlane() {
    const { plane } = this.state;
    const x = shownRounds(this.run.round, true);
    this.plane.update(x.map((t) => plane.map((n) => this.run.players[n].payoffs.at(t - 1))));
  }

  drawJoint() {
    const what = byId("joint-what").value;
    const { game } = this.state;
    if (what === "play") {
      this.heat.update(
        game,
        this.run.round ? this.run.jointMean() : new Float64Array(game.payoffs[0].length),
      );
      say(
        byId("joint-note"),
        "How often each joint action was played: the average over rounds of the product of the policies.",
      );
      return;
    }
    const [concept, objective = "welfare"] = what.split("-");
    this.solved[what] ??= correlated(game, concept, objective);
    this.heat.update(game, this.solved[what].joint);
    const paid = this.solved[what].payoffs.map((u, n) => `${short(u, 5)} to ${game.players[n]}`);
    say(
      byId("joint-note"),
      `The ${objective === "welfare" ? "largest sum of payoffs" : "largest least payoff"} in this set is ${short(this.solved[what].value, 7)}: ${paid.join(", ")}.`,
    );
  }

  drawWords() {
    const place = byId("words");
    if (!this.run.round) return say(place, this.stillWords() || "Press play, or drag the start.");
    const { always, whenever } = worstDeviations(this.run);
    const still = this.stillWords();
    say(
      place,
      [
        sentence(this.state.game, always),
        always.gain <= 1e-12 && whenever.gain > 1e-12 ? sentence(this.state.game, whenever) : "",
        still,
      ]
        .filter(Boolean)
        .join(" "),
    );
  }

  /** Play that stands still says why. */
  stillWords() {
    if (
      this.state.starts.some(Boolean) ||
      this.state.drawn ||
      this.state.game.sizes.every((d) => d < 2)
    )
      return "";
    const stands = this.run.tables.every((table) => {
      const worth = table.map((row) => row.reduce((total, u) => total + u, 0) / row.length);
      return Math.max(...worth) - Math.min(...worth) < 1e-12;
    });
    return stands
      ? "Uniform play is an equilibrium here, so nothing moves: take the start away from the centre."
      : "";
  }
}

function sentence(game, { player, told, instead, gain }) {
  if (gain <= 1e-12) return told === null ? "Nobody would have gained by one fixed action." : "";
  const name = (a) =>
    /^\d+$/.test(game.actions[player][a])
      ? `action ${game.actions[player][a]}`
      : game.actions[player][a];
  const how =
    told === null
      ? `always playing ${name(instead)}`
      : `playing ${name(instead)} whenever it played ${name(told)}`;
  const who = game.players[player];
  return `${who[0]?.toUpperCase() ?? ""}${who.slice(1)} would have gained ${short(gain, 3)} per round by ${how}.`;
}
