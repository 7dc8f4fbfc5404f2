// Buttons, keys and files: everything a person does that is not drawing.

import { readCheckpoint } from "../kernel/checkpoints.js";
import { MAX_FILE_BYTES, readGame } from "../kernel/formats.js";
import { byId, say } from "./dom.js";
import { asGiven } from "./edits.js";
import { asCommand, asPython } from "./sharing.js";

const SPEED_WORDS = [
  "5 rounds per second",
  "30 rounds per second",
  "1 round per frame",
  "10 rounds per frame",
  "100 rounds per frame",
];
const MAX_SEED = 999_999;
const FIELDS = /^(INPUT|SELECT|TEXTAREA|BUTTON|A|SUMMARY)$/;

export function listen(app) {
  const on = (id, event, act) => byId(id).addEventListener(event, act);
  on("play", "click", () => app.toggle());
  on("once", "click", () => app.goTo(app.state.rounds + 1));
  on("reset", "click", () => app.goTo(0));
  on("horizon", "change", () => app.setHorizon(Number(byId("horizon").value)));
  on("speed", "input", () => app.setSpeed(Number(byId("speed").value)));
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
  on("joint-what", "change", () => (app.dirty = true));
  on("copy-link", "click", () => copy(app, { text: app.link(), note: "Link copied." }));
  on("copy-python", "click", () => copy(app, asPython(app.state, app.zoo)));
  on("copy-command", "click", () => copy(app, asCommand(app.state, app.zoo)));
  addEventListener("hashchange", () => app.followLink());
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
  app.seating.layers = [...app.seating.layers.filter((one) => one.name !== layer.name), layer];
  const seat = app.state.game.sizes.indexOf(size);
  if (seat < 0)
    throw new Error(`this layer plays ${size} actions, and no seat of this game has as many`);
  app.changeSeat(seat, { kind: layer.kind, layer }, true);
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
  byId("horizon").value = app.state.horizon;
  say(byId("last"), String(app.state.horizon));
  byId("speed").value = app.state.speed;
  showSpeed(app);
  byId("drawn").checked = app.state.drawn;
  byId("seed").value = app.state.seed;
}

export function showPlaying(app) {
  say(byId("play"), app.isPlaying ? "Pause" : "Play");
  byId("play").setAttribute("aria-pressed", app.isPlaying);
}

export function showSpeed(app) {
  const words = SPEED_WORDS[app.state.speed];
  say(byId("speed-text"), words);
  byId("speed").setAttribute("aria-valuetext", words);
}
