// The page: one state, one play computed from it, and views that are redrawn once per frame.

import { correlated, nashEquilibria } from "../kernel/equilibria.js";
import { MAX_FILE_BYTES, readGame } from "../kernel/formats.js";
import { readCheckpoint } from "../kernel/checkpoints.js";
import { makeGame, resized, width } from "../kernel/games.js";
import { Run } from "../kernel/play.js";
import { generator } from "../kernel/random.js";
import { worstDeviations } from "../kernel/regret.js";
import { boundOf, KINDS, learnerOf, parseSeat, regretOf } from "../kernel/seats.js";
import { stationaryStep } from "../kernel/steps.js";
import { Adversary } from "./adversary.js";
import { Chart, shownRounds } from "./chart.js";
import { byId, html, say, short } from "./dom.js";
import { Heat } from "./heat.js";
import { PayoffTable } from "./payoffs.js";
import { Bars, Simplex, Square } from "./pictures.js";
import { Plane } from "./plane.js";
import { Seating } from "./seating.js";
import { asCommand, asPython, exportButtons } from "./sharing.js";
import { builtInLayer, decode, encode, freshState, MAX_ROUNDS, SPEEDS } from "./state.js";
import { Tour } from "./tour.js";

const BUDGET = 9; // milliseconds of a frame for rounds that are to be caught up
const SPEED_WORDS = ["5 rounds a second", "30 rounds a second", "1 round a frame", "10 rounds a frame", "100 rounds a frame"];
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

class App {
  constructor(data) {
    this.zoo = data.zoo;
    this.data = data;
    this.isPlaying = false;
    this.due = 0; // parts of a round at slow speeds
    this.frames = [];
    this.state = freshState(this.zoo, data.game);
    this.watchSight();
    this.makeViews();
    this.listen();
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
    const change = { change: (game) => this.editGame(game), resize: (player, size) => this.resizeGame(player, size) };
    this.payoffs = new PayoffTable(byId("payoffs"), change);
    this.seating = new Seating(byId("seats"), (n, seat, rebuild) => this.changeSeat(n, seat, rebuild));
    this.gapChart = new Chart(byId("gaps-body"), { lines: GAP_LINES, label: "Equilibrium gaps over rounds", xLog: true, yLog: true });
    this.regretChart = new Chart(byId("regret-body"), { lines: REGRET_LINES, label: "Regret of one player over rounds, with its bound" });
    this.plane = new Plane(byId("plane-body"));
    this.heat = new Heat(byId("joint-body"));
    this.adversary = new Adversary({ grid: byId("adversary-grid"), presets: byId("adversary-presets"), chart: byId("adversary-body"), note: byId("adversary-note") });
    const parts = { steps: byId("tour-steps"), title: byId("tour-title"), body: byId("tour-body"), figure: byId("tour-figure"), back: byId("tour-back"), next: byId("tour-next") };
    this.tour = new Tour(parts, { apply: (set) => this.applyTour(set), moved: (step) => this.save(() => (this.state.tour = step)) });
    for (const card of document.querySelectorAll("figure.card")) card.querySelector(".head").append(exportButtons(card));
    byId("game").replaceChildren(...this.zoo.map((game) => html("option", { value: game.name }, game.name)), html("option", { value: "", hidden: true }, "your own"));
  }

  listen() {
    const on = (id, event, act) => byId(id).addEventListener(event, act);
    on("play", "click", () => this.toggle());
    on("once", "click", () => this.goTo(this.state.rounds + 1));
    on("reset", "click", () => this.goTo(0));
    on("horizon", "change", () => this.setHorizon(Number(byId("horizon").value)));
    on("speed", "input", () => this.setSpeed(Number(byId("speed").value)));
    on("drawn", "change", () => this.replay(() => (this.state.drawn = byId("drawn").checked)));
    on("seed", "change", () => this.replay(() => (this.state.seed = Math.min(Math.max(Math.round(Number(byId("seed").value)) || 0, 0), 999_999))));
    on("game", "change", () => this.chooseGame(byId("game").value));
    on("third", "click", () => this.togglePlayers());
    on("shuffle", "click", () => this.shuffle());
    on("open-file", "click", () => byId("file").click());
    on("file", "change", () => this.openFiles([...byId("file").files]));
    on("joint-what", "change", () => (this.dirty = true));
    on("copy-link", "click", () => this.copy({ text: this.link(), note: "Link copied." }));
    on("copy-python", "click", () => this.copy(asPython(this.state, this.zoo)));
    on("copy-command", "click", () => this.copy(asCommand(this.state, this.zoo)));
    addEventListener("hashchange", () => this.followLink());
    addEventListener("keydown", (event) => this.shortcut(event));
    this.listenForFiles();
  }

  listenForFiles() {
    const shade = byId("drop");
    addEventListener("dragover", (event) => {
      event.preventDefault();
      shade.classList.add("over");
    });
    addEventListener("dragleave", (event) => event.relatedTarget ?? shade.classList.remove("over"));
    addEventListener("drop", (event) => {
      event.preventDefault();
      shade.classList.remove("over");
      this.openFiles([...event.dataTransfer.files]);
    });
  }

  shortcut(event) {
    const inField = /INPUT|SELECT|TEXTAREA|BUTTON|A|SUMMARY/.test(event.target.tagName) || event.target.getAttribute?.("role");
    if (inField || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " ") {
      event.preventDefault();
      this.toggle();
    }
    if (event.key === ".") this.goTo(this.state.rounds + 1);
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
    this.showPictures();
    this.gameChanged();
    this.controls();
  }

  /** Payoffs have changed: equilibria and the plane follow. */
  gameChanged() {
    const { game, plane } = this.state;
    this.nash = nashEquilibria(game);
    this.solved = {};
    this.plane.setGame(game, plane, this.nash);
    const known = this.zoo.find((one) => one.name === game.name);
    say(byId("game-about"), known?.about ?? "Your own game.");
    byId("game").value = known ? game.name : "";
    say(byId("third"), game.sizes.length === 2 ? "Add a player" : "Remove a player");
    this.showTabs();
    this.dirty = true;
  }

  setGame(given, seats) {
    const before = this.state;
    this.state = { ...freshState(this.zoo, given), horizon: before.horizon, speed: before.speed, tour: before.tour, seed: before.seed, drawn: before.drawn };
    this.state.seats = this.state.game.sizes.map((d, n) => fitting(seats?.[n] ?? before.seats[Math.min(n, before.seats.length - 1)], d));
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
    this.gameChanged();
    this.pictures.forEach((picture) => (picture.backKey = null));
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
    this.replay(() => (this.state.seats = this.state.seats.map((old, m) => (m === n ? seat : old))));
    if (rebuild) this.seating.show(this.state);
    this.showTabs();
  }

  moveStarts(changes) {
    this.replay(() => {
      this.state.starts = this.state.starts.map((start, n) => changes.find(([m]) => m === n)?.[1] ?? start);
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
    this.replay(() => (this.state.seats = this.state.seats.map((seat) => (KINDS[seat.kind].parameter?.name === "step" ? { ...seat, value } : seat))));
    this.seating.show(this.state);
  }

  setSpeed(value) {
    this.save(() => (this.state.speed = value));
    this.speedWords();
  }

  speedWords() {
    const words = SPEED_WORDS[this.state.speed];
    say(byId("speed-text"), words);
    byId("speed").setAttribute("aria-valuetext", words);
  }

  setHorizon(value) {
    this.save(() => (this.state.horizon = Math.min(Math.max(Math.round(value) || 2, 2), MAX_ROUNDS)));
    this.seating.show(this.state);
    this.controls();
  }

  goTo(rounds) {
    this.pause();
    const wanted = Math.min(rounds, MAX_ROUNDS);
    if (wanted < this.run.round) this.replay(() => (this.state.rounds = wanted));
    else this.save(() => (this.state.rounds = wanted));
  }

  toggle() {
    if (!this.isPlaying && this.state.rounds >= this.state.horizon) this.replay(() => (this.state.rounds = 0));
    this.isPlaying = !this.isPlaying;
    this.due = 0;
    this.playButton();
    if (!this.isPlaying) this.announce();
  }

  pause() {
    this.isPlaying = false;
    this.playButton();
  }

  playButton() {
    say(byId("play"), this.isPlaying ? "Pause" : "Play");
    byId("play").setAttribute("aria-pressed", this.isPlaying);
  }

  followLink() {
    if (!location.hash.includes("=") || location.hash.slice(1) === this.shownLink) return;
    this.pause();
    this.open();
  }

  // ---- files and copies

  async openFiles(files) {
    for (const file of files) {
      try {
        if (file.size > MAX_FILE_BYTES) throw new Error(`expected a file of at most ${MAX_FILE_BYTES / 1e6} MB, got ${(file.size / 1e6).toFixed(1)} MB`);
        if (/\.safetensors$/i.test(file.name)) this.addLayer(readCheckpoint(file.name, await file.arrayBuffer()));
        else this.addGame(readGame(file.name, await file.text()), file.name);
      } catch (error) {
        this.tell(`${file.name}: ${error.message}.`);
      }
    }
    byId("file").value = "";
  }

  addGame(game, from) {
    this.setGame({ ...asGiven(game), name: game.name || from.replace(/\.\w+$/, "") });
    this.tell("");
  }

  /** A layer takes the first seat that has as many actions. */
  addLayer(layer) {
    const size = layer.heads[0].bias.length;
    this.seating.layers = [...this.seating.layers.filter((one) => one.name !== layer.name), layer];
    const seat = this.state.game.sizes.indexOf(size);
    if (seat < 0) throw new Error(`this layer plays ${size} actions, and no seat of this game has as many`);
    this.changeSeat(seat, { kind: layer.kind, layer }, true);
    this.tell("");
  }

  tell(message) {
    say(byId("message"), message);
  }

  link() {
    return `${location.href.split("#")[0]}#${encode(this.state, this.zoo)}`;
  }

  async copy({ text, note }) {
    const shown = byId("copied");
    shown.hidden = !text;
    shown.textContent = text;
    let copied = false;
    try {
      await navigator.clipboard.writeText(text);
      copied = true;
    } catch {
      getSelection()?.selectAllChildren(shown); // where the clipboard is closed the text is there to take
    }
    say(byId("take-note"), copied || !text ? note : `Select and copy the text below. ${note.replace("Copied. ", "")}`);
  }

  // ---- frames

  frame(now) {
    requestAnimationFrame((next) => this.frame(next));
    const began = performance.now();
    if (this.isPlaying) this.playOn();
    this.catchUp();
    const solving = !this.isPlaying && this.plane.work(6);
    if (this.dirty || solving) this.draw();
    if (this.linkDue && !this.isPlaying && (!this.linked || now - this.linked > 400)) this.writeLink(now);
    this.frames.push(performance.now() - began);
    if (this.frames.length > 2000) this.frames.shift();
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

  /** All views; while play runs only those in sight, and the charts take turns, two frames for all of them. */
  draw() {
    this.turn = 1 - (this.turn ?? 0);
    const running = this.isPlaying || this.run.round < this.state.rounds;
    this.dirty = running || this.turned;
    this.turned = running;
    const due = (id, turn) => !running || (this.inSight.has(id) && turn === this.turn);
    say(byId("round"), String(this.run.round));
    if (due("where", this.turn)) this.pictures.forEach((picture) => picture.update(this.run, this.state, this.nash));
    if (due("gaps", 0)) this.drawGaps();
    if (due("regret", 1)) this.drawRegret();
    if (due("plane", 0)) this.drawPlane();
    if (due("joint", 1)) this.drawJoint();
    if (!running || this.turn) this.drawWords();
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
      this.dirty = true;
    };
    const observer = new IntersectionObserver(look, { rootMargin: "80px" });
    figures.forEach((id) => observer.observe(byId(id)));
  }

  drawGaps() {
    const x = shownRounds(this.run.round, true);
    const series = (name) => (x.length ? { x, y: x.map((t) => this.run.gaps[name].at(t - 1)) } : null);
    this.gapChart.update(Object.fromEntries(Object.keys(GAP_LINES).map((name) => [name, series(name)])), Math.max(this.state.horizon, this.run.round, 10));
  }

  drawRegret() {
    const { player, seats, game, starts } = this.state;
    const x = shownRounds(this.run.round, false);
    const { regrets } = this.run.players[player];
    const of = (kind) => (x.length ? { x, y: x.map((t) => regrets[kind].at(t - 1)) } : null);
    const span = width(game, player);
    const bound = (t) => boundOf(seats[player], game.sizes[player], t, span, starts[player]);
    const bounded = x.length && bound(1) !== null ? { x, y: x.map(bound) } : null;
    this.regretChart.update({ external: of("external"), internal: of("internal"), swap: of("swap"), bound: bounded }, Math.max(this.run.round, 2));
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
      this.heat.update(game, this.run.round ? this.run.jointMean() : new Float64Array(game.payoffs[0].length));
      say(byId("joint-note"), "How often each joint action was played: the average over rounds of the product of the policies.");
      return;
    }
    const [concept, objective = "welfare"] = what.split("-");
    this.solved[what] ??= correlated(game, concept, objective);
    this.heat.update(game, this.solved[what].joint);
    const paid = this.solved[what].payoffs.map((u, n) => `${short(u, 5)} to ${game.players[n]}`);
    say(byId("joint-note"), `The ${objective === "welfare" ? "largest sum of payoffs" : "largest least payoff"} in this set is ${short(this.solved[what].value, 7)}: ${paid.join(", ")}.`);
  }

  drawWords() {
    const place = byId("words");
    if (!this.run.round) return say(place, this.stillWords() || "Press play, or drag the start.");
    const { always, whenever } = worstDeviations(this.run);
    const still = this.stillWords();
    say(place, [sentence(this.state.game, always), always.gain <= 1e-12 && whenever.gain > 1e-12 ? sentence(this.state.game, whenever) : "", still].filter(Boolean).join(" "));
  }

  /** Play that stands still says why. */
  stillWords() {
    if (this.state.starts.some(Boolean) || this.state.drawn || !this.run.tables) return "";
    const stands = this.run.tables.every((table) => {
      const worth = table.map((row) => row.reduce((total, u) => total + u, 0) / row.length);
      return Math.max(...worth) - Math.min(...worth) < 1e-12;
    });
    return stands ? "Uniform play is an equilibrium here, so nothing moves: take the start away from the centre." : "";
  }

  announce() {
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

  // ---- parts that are rebuilt with the game

  controls() {
    byId("horizon").value = this.state.horizon;
    say(byId("last"), String(this.state.horizon));
    byId("speed").value = this.state.speed;
    this.speedWords();
    byId("drawn").checked = this.state.drawn;
    byId("seed").value = this.state.seed;
  }

  showPictures() {
    const { game } = this.state;
    const move = (changes) => this.moveStarts(changes);
    const body = byId("where-body");
    body.replaceChildren();
    const room = (title, kind = "") => {
      const place = html("div", { class: `picture ${kind}` }, ...(title ? [html("h4", {}, title)] : []));
      body.append(place);
      return place;
    };
    this.pictures = game.sizes.join() === "2,2"
      ? [new Square(room("", "square"), `${game.players[0]} and ${game.players[1]}`, move)]
      : game.sizes.map((d, n) => (d === 3 ? new Simplex(room(game.players[n]), n, game.players[n], move) : new Bars(room(game.players[n]), n, game.actions[n], move)));
    const kinds = this.pictures.some((picture) => !(picture instanceof Bars));
    byId("where").querySelector(".out").hidden = !kinds; // bars are no picture to save
    say(byId("where-note"), kinds
      ? "Dot: what is played now. Ring: the average so far. Diamonds: Nash equilibria. Arrows: the replicator flow, given what the others play now. Drag the cross to move the start."
      : "Bars: what is played now. Line: the average so far.");
  }

  showTabs() {
    const { game, player, plane, seats } = this.state;
    const tab = (text, on, act) => html("button", { type: "button", "aria-pressed": on, onclick: act }, text);
    byId("regret-tabs").replaceChildren(...game.players.map((name, n) => tab(name, n === player, () => this.save(() => {
      this.state.player = n;
      this.showTabs();
    }))));
    const pairs = game.sizes.length === 3 ? [[0, 1], [0, 2], [1, 2]] : [];
    byId("plane-tabs").replaceChildren(...pairs.map((pair) => tab(pair.map((n) => n + 1).join(" and "), pair.join() === plane.join(), () => {
      this.state.plane = pair;
      this.gameChanged();
      this.save();
    })));
    const bound = boundOf(seats[player], game.sizes[player], 1, 1, null) === null
      ? `${KINDS[seats[player].kind].label} comes with no bound.`
      : `Dotted: the bound on ${regretOf(seats[player])} regret that theory gives ${KINDS[seats[player].kind].label} in this game.`;
    say(byId("regret-note"), `What this player would have gained in all by the best change of its play. ${bound}`);
    const nash = this.nash.length ? `${this.nash.length} ${game.sizes.length === 2 ? "extreme" : "pure"} Nash ${this.nash.length === 1 ? "equilibrium" : "equilibria"}` : "No pure Nash equilibrium";
    say(byId("plane-note"), `${nash}. CE and CCE: every payoff that an equilibrium of the kind can give.`);
  }
}

function sentence(game, { player, told, instead, gain }) {
  if (gain <= 1e-12) return told === null ? "Nobody would have gained by one fixed action." : "";
  const name = (a) => (/^\d+$/.test(game.actions[player][a]) ? `action ${game.actions[player][a]}` : game.actions[player][a]);
  const how = told === null ? `always playing ${name(instead)}` : `playing ${name(instead)} whenever it played ${name(told)}`;
  const who = game.players[player];
  return `${who[0]?.toUpperCase() ?? ""}${who.slice(1)} would have gained ${short(gain, 3)} a round by ${how}.`;
}

/** A seat that fits a number of actions: trained layers are for their own. */
function fitting(seat, actions) {
  return seat.layer && seat.layer.heads[0].bias.length !== actions ? { kind: "hedge", value: 0.25 } : seat;
}

function asGiven({ name, players, actions, payoffs, sizes }) {
  return { name, players, actions, sizes, payoffs: payoffs.map((table) => Array.from(table)) };
}

/** A third player with two actions, paid nothing, whose choice changes nothing until it is edited. */
function withThird({ players, actions, payoffs, sizes }) {
  const twice = payoffs.map((table) => table.flatMap((u) => [u, u]));
  return { name: "", players: [...players, "player 3"], actions: [...actions, ["left", "right"]], sizes: [...sizes, 2], payoffs: [...twice, twice[0].map(() => 0)] };
}

/** The game that is left when the third player always plays its first action. */
function withoutThird({ players, actions, payoffs, sizes }) {
  const kept = payoffs.slice(0, 2).map((table) => table.filter((_, a) => a % sizes[2] === 0));
  return { name: "", players: players.slice(0, 2), actions: actions.slice(0, 2), sizes: sizes.slice(0, 2), payoffs: kept };
}

function tourSeat(text, actions, horizon) {
  if (text === "layer") return { kind: "linear_attention", layer: builtInLayer("linear_attention") };
  if (text === "star") return { kind: "hedge", value: Number(stationaryStep(actions, horizon).toPrecision(10)) };
  return parseSeat(text);
}

globalThis.regrax = {
  app: new App(JSON.parse(byId("data").textContent)),
  kernel: { boundOf, correlated, learnerOf, makeGame, nashEquilibria, parseSeat, Run, stationaryStep },
};
