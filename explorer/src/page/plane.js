// The payoff plane: what two players can be paid, in equilibrium and at all, and the average of play walking in.

import { equilibriumPolygon, feasible } from "../kernel/polygons.js";
import { axis } from "./chart.js";
import { frame, legend, nearest, pathOf, set, short, svg, tipOn, watchWidth } from "./dom.js";

const MARGIN = { left: 48, right: 14, top: 12, bottom: 38 };
const swatch = (style) => svg("rect", { class: style, x: 3, y: 0, width: 20, height: 10 });
const marks = () => [
  [swatch("poly all"), "possible"],
  [swatch("poly cce"), "CCE"],
  [swatch("poly ce"), "CE"],
  [svg("path", { class: "nash", d: "M13 0L18 5L13 10L8 5Z" }), "Nash"],
  [svg("circle", { class: "mean-dot", cx: 13, cy: 5, r: 4 }), "average so far"],
];

export class Plane {
  constructor(body) {
    this.shapes = Object.fromEntries(
      ["all", "cce", "ce"].map((name) => [name, svg("path", { class: `poly ${name}` })]),
    );
    this.frame = svg("g");
    this.nash = svg("path", { class: "nash" });
    this.walk = svg("path", { class: "mean" });
    this.dot = svg("circle", { class: "mean-dot", r: 5.5 });
    this.picture = svg(
      "svg",
      {
        role: "img",
        "aria-label": "Average payoffs of two players, with the payoffs of equilibria",
      },
      this.frame,
      ...Object.values(this.shapes),
      this.nash,
      this.walk,
      this.dot,
    );
    body.replaceChildren(this.picture, legend(marks()));
    tipOn(this.picture, (point) => nearest(this.spots(), point));
    this.polygons = {};
    watchWidth(body, (width) => {
      this.width = width;
      if (this.last) this.redraw();
    });
  }

  /** A new game or new axes: the polygons are found one program at a time by `work`. */
  setGame(game, players, nash) {
    this.game = game;
    this.players = players;
    this.equilibria = nash;
    this.polygons = { all: feasible(game, players) };
    this.searches = ["cce", "ce"].map((concept) => [
      concept,
      equilibriumPolygon(game, concept, players),
    ]);
    this.last ??= { points: [] };
    this.redraw();
  }

  /** Solve programs for a few milliseconds; true while there is more to do. */
  work(milliseconds) {
    const until = performance.now() + milliseconds;
    while (this.searches?.length && performance.now() < until) {
      const [concept, search] = this.searches[0];
      const { value, done } = search.next();
      if (!done) continue;
      this.polygons[concept] = value;
      this.searches.shift();
      this.redraw();
    }
    return Boolean(this.searches?.length);
  }

  redraw() {
    if (!this.width) return;
    this.place();
    for (const [name, shape] of Object.entries(this.shapes)) {
      const corners = (this.polygons[name] ?? []).map((point) => this.at(point));
      shape.setAttribute("d", pathOf(corners, true));
      shape.classList.toggle("thin", corners.length < 3);
    }
    const diamonds = this.equilibria.map((profile) => this.at(this.paid(profile)));
    const diamond = ([x, y]) =>
      pathOf(
        [
          [x - 8, y],
          [x, y - 8],
          [x + 8, y],
          [x, y + 8],
        ],
        true,
      );
    this.nash.setAttribute("d", diamonds.map(diamond).join(""));
    this.update(this.last.points);
  }

  paid({ payoffs }) {
    return this.players.map((n) => payoffs[n]);
  }

  /** Places with a text: equilibria, corners of the sets, and the average. */
  spots() {
    if (!this.across) return [];
    const spot = (kind) => (point) => [
      this.at(point),
      `${kind}: ${point.map((u) => short(u)).join(" and ")}`,
    ];
    return [
      ...this.last.points.slice(-1).map(spot("Average so far")),
      ...this.equilibria.map((profile) => spot("Nash equilibrium")(this.paid(profile))),
      ...(this.polygons.ce ?? []).map(spot("CE")),
      ...(this.polygons.cce ?? []).map(spot("CCE")),
      ...this.polygons.all.map(spot("Possible")),
    ];
  }

  /** The running averages, a point per shown round. */
  update(points) {
    this.last = { points };
    if (!this.width || !this.across) return;
    const placed = points.map((point) => this.at(point));
    this.walk.setAttribute("d", pathOf(placed));
    this.dot.setAttribute("visibility", placed.length ? "visible" : "hidden");
    if (placed.length)
      set(this.dot, { cx: placed.at(-1)[0].toFixed(1), cy: placed.at(-1)[1].toFixed(1) });
  }

  place() {
    this.height = Math.min(300, Math.max(240, this.width * 0.72));
    frame(this.picture, this.width, this.height);
    const [x, y] = [0, 1].map((k) => this.polygons.all.map((point) => point[k]));
    this.across = axis(Math.min(...x), Math.max(...x), false, true);
    this.up = axis(Math.min(...y), Math.max(...y), false, true);
    this.drawAxes();
  }

  at([x, y]) {
    const part = (range, value) => (value - range.low) / (range.high - range.low);
    return [
      MARGIN.left + part(this.across, x) * (this.width - MARGIN.left - MARGIN.right),
      this.height - MARGIN.bottom - part(this.up, y) * (this.height - MARGIN.top - MARGIN.bottom),
    ];
  }

  drawAxes() {
    const bottom = this.height - MARGIN.bottom;
    const rows = this.up.ticks.flatMap((value) => {
      const [, y] = this.at([this.across.low, value]);
      return [
        svg("path", { class: "grid", d: `M${MARGIN.left} ${y}H${this.width - MARGIN.right}` }),
        svg("text", { class: "end", x: MARGIN.left - 7, y: y + 4 }, short(value, 3)),
      ];
    });
    const columns = this.across.ticks.map((value) =>
      svg("text", { class: "middle", x: this.at([value, 0])[0], y: bottom + 17 }, short(value, 3)),
    );
    const [first, second] = this.players.map((n) => this.game.players[n]);
    const names = [
      svg(
        "text",
        { class: "end", x: this.width - MARGIN.right, y: this.height - 4 },
        `paid to ${first}`,
      ),
      svg(
        "text",
        { transform: `translate(11 ${MARGIN.top + 4}) rotate(-90)`, class: "end" },
        `paid to ${second}`,
      ),
    ];
    this.frame.replaceChildren(...rows, ...columns, ...names);
  }
}
