// Buttons, keys and files: everything a person does that is not drawing.

import { readCheckpoint } from "../kernel/checkpoints.js";
import { MAX_FILE_BYTES, readGame } from "../kernel/formats.js";
import { byId, say } from "./dom.js";
import { asGiven } from "./edits.js";
import { asCommand, asPython } from "./sharing.js";

const MAX_SEED = 999_999;
const FIELDS = /^(INPUT|SELECT|TEXTAREA|BUTTON|A|SUMMARY)$/;

export function listen(app) {
  const on = (id, event, act) => byId(id).addEventListener(event, act);
  on("play", "click", () => app.toggle());
  on("once", "click", () => app.goTo(app.state.rounds + 1));
  on("reset", "click", () => app.startOver());
  on("horizon", "change", () => app.setHorizon(Number(byId("horizon").value)));
  on("scrub", "input", () => app.goTo(Number(byId("scrub").value)));
  on("pace", "change", () => app.save(() => (app.state.pace = byId("pace").value)));
  on("compare", "click", () => app.toggleCompare());
  on("hall", "click", () => app.toggleHall());
  on("drawn", "change", () => app.replay(() => (app.state.drawn = byId("drawn").checked)));
  on("seed", "change", () =>
    app.replay(
      () =>
        (app.state.seed = Math.min(
          Math.max(Math.round(Number(byId("seed").value)) || 0, 0),
          MAX_SEED,
        )),
    ),
  );
  on("game", "change", () => app.chooseGame(byId("game").value));
  on("third", "click", () => app.togglePlayers());
  on("shuffle", "click", () => app.shuffle());
  on("open-file", "click", () => byId("file").click());
  on("file", "change", () => openFiles(app, [...byId("file").files]));
  on("joint-what", "change", () => app.save(() => (app.state.joint = byId("joint-what").value)));
  on("copy-link", "click", () => copy(app, { text: app.link(), note: "Link copied." }));
  on("copy-hall", "click", () => {
    copy(app, { text: app.link({ isHall: true }), note: "Link copied. It opens in large type." });
  });
  on("copy-python", "click", () => copy(app, asPython(app.state, app.zoo)));
  on("copy-command", "click", () => copy(app, asCommand(app.state, app.zoo)));
  addEventListener("hashchange", () => app.followLink());
  addEventListener("fullscreenchange", () => {
    const hasLeft = !document.fullscreenElement && app.state.isHall;
    if (hasLeft) app.toggleHall(); // by Escape
  });
  addEventListener("keydown", (event) => shortcut(app, event));
  listenForFiles(app);
}

function listenForFiles(app) {
  const shade = byId("drop");
  addEventListener("dragover", (event) => {
    event.preventDefault();
    shade.classList.add("over");
  });
  addEventListener("dragleave", (event) => event.relatedTarget ?? shade.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    shade.classList.remove("over");
    openFiles(app, [...event.dataTransfer.files]);
  });
}

function shortcut(app, event) {
  const inField = FIELDS.test(event.target.tagName) || event.target.getAttribute?.("role");
  if (inField || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === " ") {
    event.preventDefault();
    app.toggle();
  }
  if (event.key === ".") app.goTo(app.state.rounds + 1);
  if (event.key === "f") app.toggleHall();
  if (app.state.isHall && event.key === "PageDown") app.nextScene(1);
  if (app.state.isHall && event.key === "PageUp") app.nextScene(-1);
  app.hand.key(event.key);
}

async function openFiles(app, files) {
  for (const file of files) {
    try {
      if (file.size > MAX_FILE_BYTES)
        throw new Error(
          `expected a file of at most ${MAX_FILE_BYTES / 1e6} MB, got ${(file.size / 1e6).toFixed(1)} MB`,
        );
      if (/\.safetensors$/i.test(file.name))
        addLayer(app, readCheckpoint(file.name, await file.arrayBuffer()));
      else addGame(app, readGame(file.name, await file.text()), file.name);
    } catch (error) {
      app.tell(`${file.name}: ${error.message}.`);
    }
  }
  byId("file").value = "";
}

function addGame(app, game, from) {
  app.setGame({ ...asGiven(game), name: game.name || from.replace(/\.\w+$/, "") });
  app.tell("");
}

/** A layer takes the first seat that has as many actions. */
function addLayer(app, layer) {
  const size = layer.heads[0].bias.length;
  app.layers = [...app.layers.filter(({ name }) => name !== layer.name), layer];
  const seat = app.state.game.sizes.indexOf(size);
  if (seat < 0)
    throw new Error(`this layer plays ${size} actions, and no seat of this game has as many`);
  app.changeSeat("seats", seat, { kind: layer.kind, layer }, true);
  app.tell("");
}

async function copy(app, { text, note }) {
  const shown = byId("copied");
  shown.hidden = !text;
  shown.textContent = text;
  if (!text) return say(byId("take-note"), note); // the clipboard keeps what it holds
  let copied = false;
  try {
    await navigator.clipboard.writeText(text);
    copied = true;
  } catch {
    getSelection()?.selectAllChildren(shown); // where the clipboard is closed the text is there to take
  }
  say(
    byId("take-note"),
    copied ? note : `Select and copy the text below. ${note.replace("Copied. ", "")}`,
  );
}

export function showControls(app) {
  const { state } = app;
  byId("horizon").value = state.horizon;
  byId("scrub").max = Math.max(app.last, 1);
  byId("pace").value = state.pace;
  byId("joint-what").value = state.joint;
  byId("drawn").checked = state.drawn;
  byId("seed").value = state.seed;
  say(byId("third"), state.game.sizes.length === 2 ? "Add a player" : "Remove a player");
}

export function showPlaying(app) {
  say(byId("play"), app.isPlaying ? "Pause" : "Play");
  byId("play").setAttribute("aria-pressed", app.isPlaying);
}
