// A joint distribution as a table of shades, a block per action of the third player.

import { ravel } from "../kernel/games.js";
import { range } from "../kernel/vectors.js";
import { set, svg, watchWidth } from "./dom.js";

export class Heat {
  constructor(body) {
    this.picture = svg("svg", {
      role: "img",
      "aria-label": "How often each joint action is played",
    });
    body.replaceChildren(this.picture);
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

  layOut(game) {
    const [rows, columns, blocks = 1] = game.sizes;
    const left = Math.min(92, 24 + 6.4 * Math.max(...game.actions[0].map((name) => name.length)));
    const across = blocks > 2 && this.width < 500 ? 1 : Math.min(blocks, this.width < 500 ? 1 : 3);
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
    set(this.picture, { width: this.width, height, viewBox: `0 0 ${this.width} ${height}` });
    this.picture.replaceChildren(...groups);
  }

  block(game, block, { left, cell, tall, x, y }) {
    const [rows, columns] = game.sizes;
    const group = svg("g", { transform: `translate(${x} ${y})` });
    if (game.sizes.length > 2)
      group.append(
        svg(
          "text",
          { x: left, y: 11 },
          `${game.players[2]}: ${clipped(game.actions[2][block], 14)}`,
        ),
      );
    const fit = (name) => clipped(name, Math.max(3, Math.floor(cell / 6.8)));
    range(columns).forEach((j) =>
      group.append(
        svg(
          "text",
          { class: "middle strong", x: left + (j + 0.5) * cell, y: 28 },
          fit(game.actions[1][j]),
        ),
      ),
    );
    range(rows).forEach((i) => {
      group.append(
        svg(
          "text",
          { class: "end strong", x: left - 8, y: 34 + (i + 0.5) * tall + 4 },
          clipped(game.actions[0][i], 12),
        ),
      );
      range(columns).forEach((j) =>
        group.append(
          ...this.cell(
            ravel([i, j, block].slice(0, game.sizes.length), game.sizes),
            left + j * cell,
            34 + i * tall,
            cell,
            tall,
          ),
        ),
      );
    });
    return group;
  }

  cell(index, x, y, wide, high) {
    const rect = svg("rect", { class: "cell s-n0 f-n0", x, y, width: wide, height: high, rx: 5 });
    const text = svg("text", { class: "cell-text on", x: x + wide / 2, y: y + high / 2 + 4 });
    this.cells[index] = { rect, text };
    return [rect, text];
  }
}

export function clipped(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
