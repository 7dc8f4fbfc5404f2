// The page: one state, the plays computed from it, and figures that are redrawn once per frame.

import { correlated, nashEquilibria } from "../kernel/equilibria.js";
import { makeGame, resized } from "../kernel/games.js";
import { Run } from "../kernel/play.js";
import { generator } from "../kernel/random.js";
import { boundOf, KINDS, learnerOf, parseSeat } from "../kernel/seats.js";
import { stationaryStep } from "../kernel/steps.js";
import { Adversary } from "./adversary.js";
import { listen, showControls, showPlaying } from "./controls.js";
import { Details } from "./details.js";
import { byId, html, say, set } from "./dom.js";
import { asGiven, fitting, tourSeat, withoutThird, withThird } from "./edits.js";
import { Hand } from "./hand.js";
import { PayoffTable } from "./payoffs.js";
import { ADVERSARY_SCENE, Scenes, SCENES, sceneState } from "./scenes.js";
import { Seating } from "./seating.js";
import { exportButtons, pairing } from "./sharing.js";
import { Stage } from "./stage.js";
import { startAt } from "./starts.js";
import { decode, encode, freshState, MAX_ROUNDS, PACES } from "./state.js";
import { Tour } from "./tour.js";

const BUDGET = 9; // milliseconds of a frame for rounds that are to be caught up
const SOLVING = 4; // milliseconds of a frame for equilibria
const LONGEST = 100; // milliseconds that a frame counts for: a page that was hidden does not jump
const REST = 2000; // milliseconds at the end of a play, before it starts again
const HAND_ROUNDS = 20; // that charts have room for when a person plays
const MAX_FRAMES = 2000; // whose durations are kept

class App {
  constructor(data) {
    this.zoo = data.zoo;
    this.data = data;
    this.layers = []; // from files
    this.isPlaying = false;
    this.frames = [];
    this.state = data.game ? freshState(data.game) : sceneState(1, this.zoo);
    this.makeViews();
    listen(this);
    this.open();
    requestAnimationFrame((now) => this.frame(now));
  }

  get run() {
    return this.runs[0];
  }

  /** The round at which play ends. */
  get last() {
    return this.isByHand ? this.state.seats[0].actions.length : this.state.horizon;
  }

  get isByHand() {
    return this.state.seats[0].kind === "hand";
  }

  /** Show what the link says, or play the first scene. */
  open() {
    const text = location.hash.slice(1);
    const isState = text.includes("=");
    try {
      if (isState) this.state = decode(text, this.zoo);
    } catch (error) {
      this.tell(`This link could not be read: ${error.message}.`);
    }
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!isState && isStill) this.state.rounds = this.last;
    this.newGame();
    this.adversary.load(this.state);
    this.tour.go(this.state.tour);
    this.showHall();
    if (!isState && !isStill) this.play();
  }

  makeViews() {
    const layers = () => this.layers;
    this.payoffs = new PayoffTable(byId("payoffs"), {
      change: (game) => this.editGame(game),
      resize: (player, size) => this.setGame(asGiven(resized(this.state.game, player, size))),
    });
    this.seating = ["seats", "versus"].map((key) => {
      const change = (n, seat, isNew) => this.changeSeat(key, n, seat, isNew);
      return new Seating(byId(key), { change, layers, isFirst: key === "seats" });
    });
    this.scenes = new Scenes({ choose: (index) => this.showScene(index), play: () => this.vote() });
    this.hand = new Hand(byId("hand"), (action) => this.playByHand(action));
    this.stages = [0, 1].map((index) => new Stage(this, index));
    byId("stages").replaceChildren(...this.stages.map(({ element }) => element));
    this.details = new Details(this);
    this.adversary = new Adversary(
      parts("adversary", ["grid", "presets", "body", "note"]),
      (losses) =>
        this.save(() => {
          this.state.losses = losses;
          if (this.state.scene === ADVERSARY_SCENE) this.state.rounds = this.last;
        }),
    );
    const tour = parts("tour", ["steps", "title", "body", "figure", "back", "next", "apply"]);
    this.tour = new Tour(tour, this);
    for (const card of document.querySelectorAll("main > section figure.card"))
      if (!card.querySelector(".out"))
        card
          .querySelector(".head")
          .append(exportButtons(card, () => this.caption(this.state.seats)));
    byId("game").replaceChildren(
      ...this.zoo.map(({ name }) => html("option", { value: name }, name)),
      html("option", { value: "", hidden: true }, "your own"),
    );
    this.watchSight();
  }

  /** Know which figures are on the screen, or nearly: only those are drawn while play runs. */
  watchSight() {
    this.inSight = new Set();
    const look = (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) this.inSight.add(target.id);
        else this.inSight.delete(target.id);
      }
      this.dirty = true;
    };
    const observer = new IntersectionObserver(look, { rootMargin: "80px" });
    document.querySelectorAll("figure.card").forEach((card) => observer.observe(card));
  }

  // ---- changing the state

  /** A change that leaves the plays as they are. */
  save(change) {
    change?.();
    this.linkDue = true;
    this.dirty = true;
  }

  /** A change after which the same number of rounds is played again. */
  replay(change) {
    change?.();
    const { game, seats, versus, starts, drawn, seed } = this.state;
    const options = { starts, seed: drawn ? seed : null };
    this.runs = [seats, versus ?? []]
      .filter((learners) => learners.length)
      .map((learners) => new Run(game, learners.map(learnerOf), options));
    this.rest = 0;
    this.save();
  }

  /** A new game, or new learners from a scene or a link: everything is shown again. */
  newGame() {
    this.replay();
    this.isNew = true;
    const { game } = this.state;
    this.arrange();
    this.payoffs.show(game);
    this.details.gameChanged();
    this.stages.forEach((stage) => stage.showGame());
    this.showAbout();
    this.showSeats();
  }

  /** Classes that say how the figures are arranged; pictures are laid out again if one changes. */
  arrange() {
    const { game, scene, versus, isHall } = this.state;
    const root = document.documentElement;
    const { classList } = byId("figures");
    const before = `${root.className} ${classList}`;
    root.classList.toggle("in-hall", isHall);
    classList.toggle("square", game.sizes.join() === "2,2");
    classList.toggle("paying", Boolean(SCENES[scene - 1]?.isPaying));
    classList.toggle("compared", Boolean(versus));
    document.body.classList.toggle("adversarial", scene === ADVERSARY_SCENE);
    this.stages[1].element.hidden = !versus;
    if (`${root.className} ${classList}` !== before) dispatchEvent(new Event("resize"));
  }

  showAbout() {
    const { game, scene } = this.state;
    const known = this.zoo.find(({ name }) => name === game.name);
    const about = known?.about ?? "Your own game.";
    say(byId("game-about"), about);
    byId("game").value = known ? game.name : "";
    this.scenes.show(scene, { title: game.name || "Your own game", text: about });
  }

  showSeats() {
    const { state } = this;
    this.seating[0].show(state, state.seats);
    this.seating[1].show(state, state.versus ?? []);
    set(byId("compare"), { "aria-pressed": Boolean(state.versus) });
    say(byId("compare"), state.versus ? "Show one play only" : "Compare two plays");
    this.arrange();
    this.stages.forEach((stage) => stage.showSeats());
    this.details.showSeats();
    this.hand.show(this.isByHand ? state.game : null);
    showControls(this);
  }

  /** Another game: learners stay where they fit, and play begins. */
  setGame(given) {
    const { seats } = this.state;
    this.state = freshState(given, this.state);
    this.state.seats = this.state.game.sizes.map((d, n) =>
      fitting(seats[Math.min(n, seats.length - 1)], d),
    );
    this.tell("");
    this.newGame();
    this.play();
  }

  chooseGame(name) {
    const game = this.zoo.find((known) => known.name === name);
    if (game) this.setGame(game);
  }

  showScene(index) {
    this.tell("");
    this.pause();
    this.state = sceneState(index, this.zoo, this.state);
    this.newGame();
    this.adversary.load(this.state);
    scrollTo({ top: 0 });
  }

  nextScene(by) {
    const index = Math.min(Math.max(this.state.scene + by, 1), SCENES.length);
    if (index !== this.state.scene) this.showScene(index);
  }

  vote() {
    if (!this.isPlaying) this.play();
  }

  editGame(game) {
    this.replay(() => (this.state.game = { ...game, name: "" }));
    this.leaveScene();
    this.details.gameChanged();
    this.stages.flatMap(({ pictures }) => pictures).forEach((picture) => (picture.backKey = null));
  }

  /** What is shown is no longer the scene. */
  leaveScene() {
    this.state.scene = 0;
    this.arrange();
    this.showAbout();
  }

  togglePlayers() {
    const given = asGiven(this.state.game);
    this.setGame(given.sizes.length === 3 ? withoutThird(given) : withThird(given));
  }

  shuffle() {
    const next = generator(Math.floor(Math.random() * 2 ** 31));
    const given = asGiven(this.state.game);
    given.payoffs = given.payoffs.map((table) => table.map(() => Math.round(next() * 20 - 10)));
    this.setGame({ ...given, name: "" });
  }

  /** `isNew`: another kind of learner, which plays at once; else a parameter, replayed to the same round. */
  changeSeat(key, n, seat, isNew) {
    const { state } = this;
    const isHand = seat.kind === "hand";
    state[key] = state[key].map((old, m) => (m === n ? seat : old));
    if (isNew) {
      state.rounds = 0;
      state.drawn ||= isHand;
      if (isHand) state.horizon = HAND_ROUNDS;
      state.scene = 0;
    }
    this.replay();
    if (!isNew) return this.stages.forEach((stage) => stage.showSeats());
    this.showAbout();
    this.showSeats();
    this.play();
  }

  /** A second play of the same game from the same starts, at first with optimistic learners. */
  toggleCompare() {
    const { state } = this;
    const other = { kind: "optimistic_hedge", value: 0.25 };
    state.versus = state.versus ? null : state.seats.map(() => other);
    state.scene = 0;
    this.replay(() => (state.rounds = 0));
    this.showAbout();
    this.showSeats();
    this.play();
  }

  playByHand(action) {
    const [seat, ...others] = this.state.seats;
    const actions = [...seat.actions.slice(0, this.state.rounds), action];
    this.replay(() => {
      this.state.seats = [{ ...seat, actions }, ...others];
      this.state.rounds = actions.length;
    });
    showControls(this);
  }

  moveStarts(changes) {
    this.replay(() => {
      this.state.starts = this.state.starts.map(
        (start, n) => changes.find(([m]) => m === n)?.[1] ?? start,
      );
    });
  }

  /** Start at an equilibrium and see whether play stays. */
  startAt(strategies) {
    this.replay(() => {
      this.state.starts = strategies.map(startAt);
      this.state.rounds = 0;
    });
    this.play();
    this.scrollToStage();
  }

  scrollToStage() {
    byId("figures").scrollIntoView({ block: "start" });
  }

  showJoint(what) {
    this.save(() => (this.state.joint = what));
    byId("joint-what").value = what;
    byId("joint").scrollIntoView({ block: "nearest" });
  }

  showPlayer(player) {
    this.save(() => (this.state.player = player));
    this.stages.forEach((stage) => stage.showSeats());
    this.details.showSeats();
  }

  showAverage(isAverage) {
    this.save(() => (this.state.isAverage = isAverage));
    this.stages.forEach((stage) => stage.showSeats());
  }

  /** A step of the story in the sandbox. */
  applyTour({ game, seats, horizon, starts }) {
    const given = this.zoo.find(({ name }) => name === game);
    this.state = freshState(given, { ...this.state, horizon, drawn: false });
    this.state.seats = seats.map((text) => tourSeat(text, given.sizes[0], horizon));
    if (starts) this.state.starts = starts;
    this.tell("");
    this.newGame();
    this.play();
    this.scrollToStage();
  }

  /** The step of every learner that has one. */
  setSteps(value) {
    const hasStep = ({ kind }) => KINDS[kind].parameter?.name === "step";
    this.replay(() => {
      this.state.seats = this.state.seats.map((seat) =>
        hasStep(seat) ? { ...seat, value } : seat,
      );
    });
    this.showSeats();
  }

  setHorizon(value) {
    const horizon = Math.min(Math.max(Math.round(value) || 2, 2), MAX_ROUNDS);
    this.replay(() => {
      this.state.horizon = horizon;
      this.state.rounds = Math.min(this.state.rounds, horizon);
    });
    this.showSeats();
  }

  // ---- playing

  goTo(rounds) {
    this.pause();
    const wanted = Math.min(rounds, this.isByHand ? this.last : MAX_ROUNDS);
    const isBack = wanted < this.run.round;
    const change = () => (this.state.rounds = wanted);
    if (isBack) this.replay(change);
    else this.save(change);
  }

  /** Back to round 0; moves made by hand are forgotten. */
  startOver() {
    if (this.isByHand) this.state.seats[0] = { kind: "hand", actions: [] };
    this.goTo(0);
    showControls(this);
  }

  play() {
    if (this.isByHand) return this.pause();
    if (this.state.rounds >= this.last) this.replay(() => (this.state.rounds = 0));
    this.isPlaying = true;
    this.due = 0;
    this.rest = 0;
    showPlaying(this);
  }

  pause() {
    this.isPlaying = false;
    showPlaying(this);
  }

  toggle() {
    if (this.isByHand) return this.tell("You are player 1: choose an action to play a round.");
    if (!this.isPlaying) return this.play();
    this.pause();
    this.announce();
  }

  /** Large type and no settings; the browser's full screen where it is allowed. */
  toggleHall() {
    this.save(() => (this.state.isHall = !this.state.isHall));
    this.showHall();
    if (this.state.isHall) document.documentElement.requestFullscreen?.().catch(() => {});
    else if (document.fullscreenElement) document.exitFullscreen();
  }

  showHall() {
    const { isHall } = this.state;
    this.arrange();
    set(byId("hall"), { "aria-pressed": isHall });
    say(byId("hall"), isHall ? "Leave full screen" : "Full screen");
  }

  followLink() {
    if (!location.hash.includes("=") || location.hash.slice(1) === this.shownLink) return;
    this.pause();
    this.open();
  }

  tell(message) {
    say(byId("message"), message);
  }

  /** What an exported picture shows. */
  caption(seats) {
    const { game, rounds } = this.state;
    return `${game.name || "own game"}, ${pairing(seats)}, round ${rounds}`;
  }

  link(changes = {}) {
    return `${location.href.split("#")[0]}#${encode({ ...this.state, ...changes }, this.zoo)}`;
  }

  // ---- frames

  frame(now) {
    requestAnimationFrame((next) => this.frame(next));
    const began = performance.now();
    const passed = Math.min(now - (this.before ?? now), LONGEST);
    this.before = now;
    if (this.isPlaying) this.playOn(passed);
    this.catchUp();
    const solving = this.details.plane.work(SOLVING);
    if (this.dirty || solving) this.draw();
    const isLinkDue = this.linkDue && !this.isPlaying;
    if (isLinkDue && (!this.linked || now - this.linked > 400)) this.writeLink(now);
    this.frames.push(performance.now() - began);
    if (this.frames.length > MAX_FRAMES) this.frames.shift();
  }

  /** Play as many rounds as are due; at the end rest for a moment, then start again. */
  playOn(passed) {
    if (this.rest > 0) {
      this.rest -= passed;
      if (this.rest <= 0) this.replay(() => (this.state.rounds = 0));
      return;
    }
    this.due += (this.last * passed) / PACES[this.state.pace];
    const rounds = Math.min(Math.floor(this.due), this.last - this.state.rounds);
    this.due -= Math.floor(this.due);
    if (rounds > 0) this.save(() => (this.state.rounds += rounds));
    if (this.state.rounds < this.last) return;
    this.rest = REST;
    this.due = 0;
    if (!this.scenes.isAnswered) this.announce();
  }

  /** Play rounds that the state asks for, as many as a frame has time for. */
  catchUp() {
    const until = performance.now() + BUDGET;
    const { rounds } = this.state;
    while (this.runs.some(({ round }) => round < rounds) && performance.now() < until) {
      for (const run of this.runs) run.advance(Math.min(20, rounds - run.round));
      this.dirty = true;
    }
    if (this.run.round >= this.last && this.last) this.scenes.reveal();
  }

  /** All figures; while play runs only those in sight, and the charts take turns, two frames for all of them. */
  draw() {
    const { state, stages, details } = this;
    const running = this.isPlaying || this.run.round < state.rounds;
    const turn = (this.turn = 1 - (this.turn ?? 0));
    this.dirty = this.wasRunning && !running; // once more, all of them
    this.wasRunning = running;
    say(byId("round"), String(this.run.round));
    byId("scrub").value = state.rounds;
    const isAll = !running || this.isNew;
    const due = (id, when) => isAll || (this.inSight.has(id) && when === turn);
    this.isNew = false;
    stages.slice(0, this.runs.length).forEach((stage) => {
      if (due(stage.where.element.id, turn)) stage.drawWhere();
      if (due(stage.regret.element.id, 0)) stage.drawRegret();
      if (due(stage.gaps.element.id, 1)) stage.drawGaps();
    });
    if (due("plane", 0)) details.drawPlane();
    if (due("joint", 1)) details.drawJoint();
    if (due("bound", 0)) details.drawBound();
    if (state.scene === ADVERSARY_SCENE)
      this.adversary.reveal(state.rounds || this.adversary.rounds);
    if (this.isByHand) this.hand.update(this.run);
  }

  /** What a screen reader says once play has ended. */
  announce() {
    this.stages[0].drawRegret();
    say(byId("spoken"), `Round ${this.run.round}. ${this.stages[0].regret.note.textContent}`);
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
