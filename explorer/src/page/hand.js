// Your own hand in seat 1: a button per action, and what the last round brought.

import { ravel } from "../kernel/games.js";
import { argmax } from "../kernel/vectors.js";
import { html, say, short } from "./dom.js";
import { capital, named } from "./stage.js";

export class Hand {
  /** `choose(action)` plays a round. */
  constructor(body, choose) {
    Object.assign(this, { body, choose });
  }

  /** A button per action of player 1, or nothing without a game. */
  show(game) {
    this.game = game;
    this.body.hidden = !game;
    if (!game) return;
    this.words = html("p");
    const buttons = game.actions[0].map((name, action) =>
      html(
        "button",
        { type: "button", class: "main", onclick: () => this.choose(action) },
        html("kbd", {}, String(action + 1)),
        ` ${named(name)}`,
      ),
    );
    this.body.replaceChildren(html("strong", {}, "Your move"), ...buttons, this.words);
  }

  key(text) {
    const action = Number(text) - 1;
    if (this.game && action in this.game.actions[0]) this.choose(action);
  }

  update(run) {
    const { game } = this;
    if (!run.round) return say(this.words, "Choose an action to play a round.");
    const joint = run.shown.map(argmax);
    const played = joint.map(
      (a, n) => `${n ? capital(game.players[n]) : "You"}: ${game.actions[n][a]}`,
    );
    const paid = game.payoffs[0][ravel(joint, game.sizes)];
    const [seat] = run.players;
    const regret = seat.regrets.external.at(run.round - 1);
    const best = game.actions[0][argmax(seat.totals.map((total) => -total))];
    say(
      this.words,
      `${played.join(". ")}. You are paid ${short(paid)}, ${short(-seat.suffered)} in all. Your regret: ${short(regret)}, against always playing ${named(best)}.`,
    );
  }
}
