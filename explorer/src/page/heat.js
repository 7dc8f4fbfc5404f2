// A joint distribution as a table of shades, a block per action of the third player.

import { outcome, ravel } from "../kernel/games.js";
import { range } from "../kernel/vectors.js";
import { frame, short, svg, tipOn, watchWidth } from "./dom.js";

export class Heat {
  constructor(body) {
    this.picture = svg("svg", {
      role: "img",
      "aria-label": "How often each joint action is played",
    });
    body.replaceChildren(this.picture);
    tipOn(this.picture, (point) => this.textAt(point));
    watchWidth(body, (width) => {
      this.width = width;
      this.key = null;
      if (this.last) this.update(...this.last);
    });
  }

  update(game, joint) {
    this.last = [game, joint];
    if (!this.width) return;
    const key = JSON.stringify([game.sizes, game.actions, game.players, this.width]);
    if (key !== this.key) this.layOut(game);
    this.key = key;
    const most = Math.max(...joint, 1e-12);
    this.cells.forEach(({ rect, text }, index) => {
      rect.setAttribute("fill-opacity", (0.06 + 0.74 * (joint[index] / most)).toFixed(3));
      text.textContent =
        joint[index] >= 0.0005
          ? joint[index].toFixed(joint[index] > 0.9995 ? 0 : 3).replace(/^0/, "")
          : "0";
    });
  }

  textAt([x, y]) {
    if (!this.last) return "";
    const [game, joint] = this.last;
    const index = this.cells.findIndex(({ box }) => {
      return x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height;
    });
    if (index < 0) return "";
    const paid = game.payoffs.map((table) => short(table[index]));
    return `${outcome(game, index)}: ${short(joint[index])} of play, pays ${paid.join(", ")}`;
  }

  layOut(game) {
    const [rows, columns, blocks = 1] = game.sizes;
    const left = Math.min(92, 24 + 6.4 * Math.max(...game.actions[0].map((name) => name.length)));
    const across = this.width < 500 ? 1 : Math.min(blocks, 3);
    const cell = Math.min((this.width - across * left - 6) / (across * columns), 76);
    const tall = Math.min(cell, 46);
    const high = rows * tall + 44;
    this.cells = [];
    const groups = range(blocks).map((block) =>
      this.block(game, block, {
        left,
        cell,
        tall,
        x: (block % across) * (left + columns * cell),
        y: Math.floor(block / across) * high,
      }),
    );
    const height = Math.ceil(blocks / across) * high;
    frame(this.picture, this.width, height);
    this.picture.replaceChildren(...groups);
  }

  block(game, block, { left, cell, tall, x, y }) {
    const [rows, columns] = game.sizes;
    const from = x + left;
    const text = (style, at, down, words) =>
      svg("text", { class: style, x: at, y: y + down }, words);
    const group = svg("g");
    if (game.sizes.length > 2)
      group.append(
        text("", from, 11, `${game.players[2]}: ${clipped(game.actions[2][block], 14)}`),
      );
    const room = Math.max(3, Math.floor(cell / 6.8));
    range(columns).forEach((j) => {
      const name = clipped(game.actions[1][j], room);
      group.append(text("middle strong", from + (j + 0.5) * cell, 28, name));
    });
    range(rows).forEach((i) => {
      const top = 34 + i * tall;
      const name = clipped(game.actions[0][i], 12);
      group.append(text("end strong", from - 8, top + tall / 2 + 4, name));
      range(columns).forEach((j) => {
        const index = ravel([i, j, block].slice(0, game.sizes.length), game.sizes);
        const box = { x: from + j * cell, y: y + top, width: cell, height: tall };
        group.append(...this.cell(index, box));
      });
    });
    return group;
  }

  cell(index, box) {
    const rect = svg("rect", { class: "cell s-n0 f-n0", ...box, rx: 5 });
    const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 + 4 };
    const text = svg("text", { class: "cell-text on", ...middle });
    this.cells[index] = { rect, text, box };
    return [rect, text];
  }
}

export function clipped(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
