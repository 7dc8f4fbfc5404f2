// Eight scenes, each a question to vote on before it is played.

import { parseSeat } from "../kernel/seats.js";
import { byId, html, say } from "./dom.js";
import { freshState } from "./state.js";

const twice = (seat) => [seat, seat];

/** `right` is the index of the vote that play proves; `versus` are the learners of a second play beside the first,
 *  `isPaying` shows payoffs and equilibria first. */
export const SCENES = [
  {
    name: "Will Hedge settle?",
    game: "matching-pennies",
    seats: twice("hedge(0.12)"),
    starts: [
      [0.65, 0.35],
      [0.5, 0.5],
    ],
    horizon: 400,
    situation:
      "Two players show a coin. One wins if the coins match, the other if they differ. Both use Hedge, which plays more of whatever has paid better so far. Will they settle on half and half?",
    votes: ["They settle", "They circle", "One of them wins"],
    right: 1,
    answer:
      "They circle, further and further out. But the ring, the average of all they played, moves to the equilibrium in the middle. That is what small regret buys: not calm play, but a good average.",
  },
  {
    name: "And with optimism?",
    game: "matching-pennies",
    seats: twice("hedge(0.12)"),
    versus: twice("optimistic_hedge(0.12)"),
    starts: [
      [0.65, 0.35],
      [0.5, 0.5],
    ],
    horizon: 400,
    situation:
      "The same game from the same start. On the right both players are optimistic: they count the last loss twice, as a guess at the next one. What will that change?",
    votes: ["Nothing", "It circles faster", "It settles"],
    right: 2,
    answer:
      "One guess turns the spiral inwards: now play itself reaches the equilibrium, not only its average.",
  },
  {
    name: "Rock-paper-scissors: who wins?",
    game: "rock-paper-scissors",
    seats: twice("hedge(0.12)"),
    starts: [
      [0.6, 0.2, 0.2],
      [0.2, 0.6, 0.2],
    ],
    horizon: 400,
    situation:
      "Player 1 starts with a taste for rock, player 2 with a taste for paper, and paper beats rock. Both learn with Hedge. Who is ahead in the end?",
    votes: ["Player 1", "Player 2", "Nobody"],
    right: 2,
    answer:
      "Nobody. The lead changes hands with every lap, and the average of each player ends close to one third each, where nobody can gain.",
  },
  {
    name: "Does fictitious play converge?",
    game: "shapley",
    seats: twice("fictitious_play()"),
    starts: [
      [0.6, 0.3, 0.1],
      [0.2, 0.3, 0.5],
    ],
    horizon: 1000,
    situation:
      "Fictitious play answers the average of everything seen so far as well as it can. In rock-paper-scissors that average converges. In Shapley's game, where only the winner is paid, does it?",
    votes: ["Play settles", "The average settles", "Neither"],
    right: 2,
    answer:
      "Neither. Play runs round the six winning outcomes, each lap longer than the one before, so even the average keeps circling. Shapley proved it in 1964.",
  },
  {
    name: "Can a traffic light beat Nash?",
    game: "chicken",
    seats: twice("hedge(0.1)"),
    starts: [
      [0.55, 0.45],
      [0.45, 0.55],
    ],
    horizon: 200,
    isAverage: true,
    isPaying: true,
    situation:
      "Two drivers meet: each can swerve or dare. Suppose a light tells each of them, privately, what to do, and both would rather obey than not. Can it pay the two more than any Nash equilibrium?",
    votes: ["No, Nash is the limit", "Yes"],
    right: 1,
    answer:
      "Yes. Hedge ends in a Nash equilibrium where one always swerves, and no Nash equilibrium pays the two more than 28/3 together. The best correlated equilibrium (CE) pays 21/2: click it in the list.",
  },
  {
    name: "Hedge or Blum-Mansour?",
    game: "shapley",
    seats: twice("hedge(0.3)"),
    versus: twice("blum_mansour(hedge(1.0))"),
    starts: [
      [0.5, 0.3, 0.2],
      [0.2, 0.5, 0.3],
    ],
    horizon: 1000,
    situation:
      "Shapley's game again: Hedge on the left, Blum-Mansour on the right. Suppose a player may ask “what if I had played b whenever I played a?” In which play does that question stop paying?",
    votes: ["In both", "Only for Hedge", "Only for Blum-Mansour"],
    right: 2,
    answer:
      "Only for Blum-Mansour. Both CCE gaps fall, so no single action would have been better. But Hedge keeps a swap gap of 0.13 per round, while Blum-Mansour drives it towards 0.",
  },
  {
    name: "Will prisoners cooperate?",
    game: "prisoners-dilemma",
    seats: twice("hedge(0.1)"),
    starts: [
      [0.95, 0.05],
      [0.95, 0.05],
    ],
    horizon: 100,
    isAverage: true,
    situation:
      "Both would be better off if both cooperated, and they start out cooperating 95 % of the time. They learn for a hundred rounds. What do they learn?",
    votes: ["To cooperate", "To defect"],
    right: 1,
    answer:
      "To defect. Whatever the other does, defecting pays more, so every round of cooperation is regretted. Little regret does not mean a good outcome.",
  },
  {
    name: "How much regret can you force?",
    game: "matching-pennies",
    seats: twice("hedge(0.12)"),
    horizon: 20,
    situation:
      "Now you are nature: each round you decide what each of three actions costs, 0 or 1. Hedge sees only the past, you know Hedge. In twenty rounds, how much regret can the worst losses force?",
    votes: ["Less than 1", "About 3", "More than 10"],
    right: 1,
    answer:
      "3.3, and no sequence of 0s and 1s forces more: these losses are the worst of all. Regret grows only like the square root of the rounds. Now paint your own.",
  },
];

export const ADVERSARY_SCENE = SCENES.length;

/** The state of a scene, before its first round. */
export function sceneState(index, zoo, page) {
  const scene = SCENES[index - 1];
  const given = zoo.find(({ name }) => name === scene.game);
  const state = freshState(given, { ...page, horizon: scene.horizon, drawn: false });
  const read = (specs) => specs.map(parseSeat);
  return {
    ...state,
    scene: index,
    seats: read(scene.seats),
    versus: scene.versus ? read(scene.versus) : null,
    starts: scene.starts ?? state.starts,
    isAverage: scene.isAverage ?? false,
    losses: index === ADVERSARY_SCENE ? null : state.losses,
  };
}

/** The list of scenes, the question of the one that is shown, its votes and its answer. */
export class Scenes {
  /** `choose(index)` shows a scene, `play()` plays it. */
  constructor({ choose, play }) {
    this.play = play;
    this.buttons = SCENES.map(({ name }, i) =>
      html(
        "button",
        { type: "button", onclick: () => choose(i + 1) },
        html("b", {}, String(i + 1)),
        ` ${name}`,
      ),
    );
    byId("scene-list").replaceChildren(...this.buttons.map((button) => html("li", {}, button)));
  }

  show(index, otherwise) {
    const scene = SCENES[index - 1];
    this.scene = scene;
    this.isAnswered = false;
    this.buttons.forEach((button, i) => button.setAttribute("aria-pressed", i + 1 === index));
    if (scene) this.buttons[index - 1].scrollIntoView?.({ block: "nearest", inline: "center" });
    say(byId("question"), scene?.name ?? otherwise.title);
    say(byId("situation"), scene?.situation ?? otherwise.text);
    this.votes = (scene?.votes ?? []).map((text) => {
      const vote = () => {
        this.votes.forEach((button) =>
          button.setAttribute("aria-pressed", button === this.votes[i]),
        );
        this.play();
      };
      const i = scene.votes.indexOf(text);
      return html("button", { type: "button", "aria-pressed": false, onclick: vote }, text);
    });
    byId("votes").replaceChildren(...this.votes);
    byId("answer").classList.remove("told");
    say(byId("answer"), scene ? "Vote, then press play." : "");
  }

  /** Play has ended: the right vote is marked and explained. */
  reveal() {
    if (!this.scene || this.isAnswered) return;
    this.isAnswered = true;
    this.votes[this.scene.right].classList.add("right");
    byId("answer").classList.add("told");
    say(byId("answer"), this.scene.answer);
  }
}
