// The page: one state, one play computed from it, and views that are redrawn once per frame.

import { correlated, nashEquilibria } from "../kernel/equilibria.js";
import { makeGame, resized } from "../kernel/games.js";
import { Run } from "../kernel/play.js";
import { generator } from "../kernel/random.js";
import { boundOf, KINDS, learnerOf, parseSeat } from "../kernel/seats.js";
import { stationaryStep } from "../kernel/steps.js";
import { Adversary } from "./adversary.js";
import { listen, showControls, showPlaying, showSpeed } from "./controls.js";
import { byId, html, say } from "./dom.js";
import { asGiven, fitting, tourSeat, withoutThird, withThird } from "./edits.js";
import { PayoffTable } from "./payoffs.js";
import { Seating } from "./seating.js";
import { exportButtons } from "./sharing.js";
import { decode, encode, freshState, MAX_ROUNDS, SPEEDS } from "./state.js";
import { Tour } from "./tour.js";
import { Views } from "./views.js";

const BUDGET = 9; // milliseconds of a frame for rounds that are to be caught up
const MAX_FRAMES = 2000; // whose durations are kept

class App {
  constructor(data) {
    this.zoo = data.zoo;
    this.data = data;
    this.isPlaying = false;
    this.due = 0; // parts of a round at slow speeds
    this.frames = [];
    this.state = freshState(this.zoo, data.game);
    this.makeViews();
    listen(this);
    this.open();
    requestAnimationFrame((now) => this.frame(now));
  }

  /** What the link says, or the first step of the story. */
  open() {
    const text = location.hash.slice(1);
    const isState = text.includes("=");
    try {
      if (isState) this.state = decode(text, this.zoo);
    } catch (error) {
      this.tell(`This link could not be read: ${error.message}.`);
    }
    this.newGame();
    this.tour.go(this.state.tour, !isState && !this.data.game);
  }

  makeViews() {
    const change = {
      change: (game) => this.editGame(game),
      resize: (player, size) => this.resizeGame(player, size),
    };
    this.payoffs = new PayoffTable(byId("payoffs"), change);
    this.seating = new Seating(byId("seats"), (n, seat, rebuild) =>
      this.changeSeat(n, seat, rebuild),
    );
    this.views = new Views(this);
    this.adversary = new Adversary(parts("adversary", ["grid", "presets", "body", "note"]));
    const tour = parts("tour", ["steps", "title", "body", "figure", "back", "next"]);
    this.tour = new Tour(tour, {
      apply: (set) => this.applyTour(set),
      moved: (step) => this.save(() => (this.state.tour = step)),
    });
    for (const card of document.querySelectorAll("figure.card"))
      card.querySelector(".head").append(exportButtons(card));
    byId("game").replaceChildren(
      ...this.zoo.map((game) => html("option", { value: game.name }, game.name)),
      html("option", { value: "", hidden: true }, "your own"),
    );
  }

  // ---- changing the state

  /** A change that leaves the play as it is. */
  save(change) {
    change?.();
    this.linkDue = true;
    this.dirty = true;
  }

  /** A change after which the same number of rounds is played anew. */
  replay(change) {
    change?.();
    this.run = new Run(this.state.game, this.state.seats.map(learnerOf), {
      starts: this.state.starts,
      seed: this.state.drawn ? this.state.seed : null,
    });
    this.save();
  }

  /** A new game: everything that depends on it is shown anew. */
  newGame() {
    this.replay();
    this.payoffs.show(this.state.game);
    this.seating.show(this.state);
    this.views.showPictures();
    this.views.gameChanged();
    showControls(this);
  }

  setGame(given, seats) {
    const before = this.state;
    this.state = {
      ...freshState(this.zoo, given),
      horizon: before.horizon,
      speed: before.speed,
      tour: before.tour,
      seed: before.seed,
      drawn: before.drawn,
    };
    this.state.seats = this.state.game.sizes.map((d, n) =>
      fitting(seats?.[n] ?? before.seats[Math.min(n, before.seats.length - 1)], d),
    );
    this.pause();
    this.newGame();
  }

  chooseGame(name) {
    this.tell("");
    const game = this.zoo.find((one) => one.name === name);
    if (game) this.setGame(game);
  }

  editGame(game) {
    this.replay(() => (this.state.game = { ...game, name: "" }));
    this.views.gameChanged();
    this.views.pictures.forEach((picture) => (picture.backKey = null));
  }

  resizeGame(player, size) {
    this.setGame({ ...asGiven(resized(this.state.game, player, size)) });
  }

  togglePlayers() {
    const { game } = this.state;
    const given = asGiven(game);
    if (game.sizes.length === 3) this.setGame(withoutThird(given));
    else this.setGame(withThird(given));
  }

  shuffle() {
    const next = generator(Math.floor(Math.random() * 2 ** 31));
    const given = asGiven(this.state.game);
    given.payoffs = given.payoffs.map((table) => table.map(() => Math.round(next() * 20 - 10)));
    this.setGame({ ...given, name: "" });
  }

  changeSeat(n, seat, rebuild) {
    this.replay(
      () => (this.state.seats = this.state.seats.map((old, m) => (m === n ? seat : old))),
    );
    if (rebuild) this.seating.show(this.state);
    this.views.showTabs();
  }

  moveStarts(changes) {
    this.replay(() => {
      this.state.starts = this.state.starts.map(
        (start, n) => changes.find(([m]) => m === n)?.[1] ?? start,
      );
    });
  }

  applyTour({ game, seats, horizon, rounds, starts, step }) {
    this.tell("");
    if (step) return this.setSteps(step);
    const given = this.zoo.find((one) => one.name === game);
    const made = seats.map((text) => tourSeat(text, given.sizes[0], horizon));
    const { speed, tour } = this.state;
    this.state = { ...freshState(this.zoo, given), seats: made, horizon, rounds, speed, tour };
    if (starts) this.state.starts = starts;
    this.pause();
    this.newGame();
  }

  setSteps(value) {
    this.replay(
      () =>
        (this.state.seats = this.state.seats.map((seat) =>
          KINDS[seat.kind].parameter?.name === "step" ? { ...seat, value } : seat,
        )),
    );
    this.seating.show(this.state);
  }

  setSpeed(value) {
    this.save(() => (this.state.speed = value));
    showSpeed(this);
  }

  setHorizon(value) {
    this.save(
      () => (this.state.horizon = Math.min(Math.max(Math.round(value) || 2, 2), MAX_ROUNDS)),
    );
    this.seating.show(this.state);
    showControls(this);
  }

  goTo(rounds) {
    this.pause();
    const wanted = Math.min(rounds, MAX_ROUNDS);
    if (wanted < this.run.round) this.replay(() => (this.state.rounds = wanted));
    else this.save(() => (this.state.rounds = wanted));
  }

  toggle() {
    if (!this.isPlaying && this.state.rounds >= this.state.horizon)
      this.replay(() => (this.state.rounds = 0));
    this.isPlaying = !this.isPlaying;
    this.due = 0;
    showPlaying(this);
    if (!this.isPlaying) this.announce();
  }

  pause() {
    this.isPlaying = false;
    showPlaying(this);
  }

  followLink() {
    if (!location.hash.includes("=") || location.hash.slice(1) === this.shownLink) return;
    this.pause();
    this.open();
  }

  tell(message) {
    say(byId("message"), message);
  }

  link() {
    return `${location.href.split("#")[0]}#${encode(this.state, this.zoo)}`;
  }

  // ---- frames

  frame(now) {
    requestAnimationFrame((next) => this.frame(next));
    const began = performance.now();
    if (this.isPlaying) this.playOn();
    this.catchUp();
    const solving = !this.isPlaying && this.views.plane.work(6);
    if (this.dirty || solving) this.views.draw();
    if (this.linkDue && !this.isPlaying && (!this.linked || now - this.linked > 400))
      this.writeLink(now);
    this.frames.push(performance.now() - began);
    if (this.frames.length > MAX_FRAMES) this.frames.shift();
  }

  playOn() {
    this.due += SPEEDS[this.state.speed];
    const rounds = Math.min(Math.floor(this.due), this.state.horizon - this.state.rounds);
    this.due -= Math.floor(this.due);
    this.state.rounds += Math.max(rounds, 0);
    this.save();
    if (this.state.rounds >= this.state.horizon) {
      this.pause();
      this.announce();
    }
  }

  /** Rounds that the state asks for and that are not played yet, as many as a frame has time for. */
  catchUp() {
    const until = performance.now() + BUDGET;
    while (this.run.round < this.state.rounds && performance.now() < until) {
      this.run.advance(Math.min(20, this.state.rounds - this.run.round));
      this.dirty = true;
    }
  }

  /** What a screen reader says once play stands. */
  announce() {
    this.views.drawWords();
    say(byId("spoken"), `Round ${this.run.round}. ${byId("words").textContent}`);
  }

  writeLink(now) {
    this.linkDue = false;
    this.linked = now;
    this.shownLink = encode(this.state, this.zoo);
    try {
      history.replaceState(null, "", `#${this.shownLink}`);
    } catch {
      // a page inside a notebook has no address of its own
    }
  }
}

/** Elements by the last part of their names. */
function parts(prefix, names) {
  return Object.fromEntries(names.map((name) => [name, byId(`${prefix}-${name}`)]));
}

globalThis.regrax = {
  app: new App(JSON.parse(byId("data").textContent)),
  kernel: {
    boundOf,
    correlated,
    learnerOf,
    makeGame,
    nashEquilibria,
    parseSeat,
    Run,
    stationaryStep,
  },
};
