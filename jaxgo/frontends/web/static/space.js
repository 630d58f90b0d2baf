// A board of several levels, drawn in space: turned by dragging, one level at a time if wanted, next slots grey.

import { draw, put, ringed } from "./make.js";

const SIZE = 520;

export class Space {
  constructor(shape) {
    this.shape = shape;
    const [rows, columns] = shape.picture;
    this.wide = (columns + 1) / shape.levels;
    this.rows = rows;
    this.columns = this.wide - 1;
    this.yaw = 0.6;
    this.pitch = 0.5;
    this.scene = draw("g");
    this.picture = draw("svg", { class: "diagram space", "aria-hidden": "true", viewBox: `0 0 ${SIZE} ${SIZE}` },
      draw("rect", { class: "back", width: SIZE, height: SIZE, rx: 6 }), this.scene);
    this.state = null;
    const apart = Math.hypot(this.rows, this.columns);
    this.rise = Math.min(1, (1.25 * apart) / shape.levels);
    this.unit = (SIZE * 0.94) / (apart + 0.45 * this.rise * shape.levels);
  }

  place(cell) {
    const [, width] = this.shape.picture;
    const across = cell % width;
    return { row: Math.floor(cell / width), column: across % this.wide, level: Math.floor(across / this.wide) };
  }

  // From rows, columns and height to the paper; `far` orders what hides what.
  project(row, column, height) {
    const [x, y] = [column - (this.columns - 1) / 2, row - (this.rows - 1) / 2];
    const [cos, sin] = [Math.cos(this.yaw), Math.sin(this.yaw)];
    const [across, deep] = [x * cos - y * sin, x * sin + y * cos];
    const up = height - (this.shape.levels * this.rise) / 2;
    const [tall, flat] = [Math.cos(this.pitch), Math.sin(this.pitch)];
    return { x: SIZE / 2 + this.unit * across, y: SIZE / 2 + this.unit * (deep * flat - up * tall), far: deep * tall + up * flat };
  }

  turn(dx, dy) {
    this.yaw -= dx / 120;
    this.pitch = Math.min(1.5, Math.max(0.12, this.pitch + dy / 160));
    this.redraw();
  }

  set(state) {
    this.state = state;
    this.redraw();
  }

  redraw() {
    if (!this.state) return;
    const { codes, choices, last, cursor, thought, show } = this.state;
    const parts = [];
    const slots = new Map(choices.map((choice) => [choice.at, choice]));
    const heat = new Map();
    if (thought && show.overlay) {
      for (const move of thought.moves) {
        const choice = choices.find((one) => one.action === move.action);
        const number = move[show.overlay];
        const known = number !== null && (show.overlay === "prior" || move.visits);
        if (choice && known) heat.set(choice.at, show.overlay === "value" ? (number + 1) / 2 : number);
      }
    }
    const ghosts = new Map(thought && show.line ? thought.line.map((one) => [one.cell, one]) : []);
    this.shape.at.forEach((place, cell) => {
      if (!place) return;
      const { row, column, level } = this.place(cell);
      if (level === 0) parts.push(...this.base(row, column, cell));
      const dim = show.level !== "" && Number(show.level) !== level;
      const piece = this.shape.pieces[codes[cell]];
      const spot = this.project(row, column, (level + 0.5) * this.rise);
      const radius = this.unit * 0.42 * Math.min(1, this.rise + 0.12);
      if (piece.there) {
        parts.push([spot.far, this.ball(spot, radius, ["zero", "one"][piece.seat] ?? "none", cell, dim, last.includes(cell))]);
      } else if (slots.has(cell)) {
        parts.push([spot.far, this.slot(spot, radius * 0.6, cell, dim, heat.get(cell), ghosts.get(cell))]);
      } else if (ghosts.has(cell)) {
        parts.push([spot.far, this.ghost(spot, radius, ghosts.get(cell))]);
      }
      if (cell === cursor) {
        const ring = ringed("circle", { class: "corner", cx: spot.x, cy: spot.y, r: radius + 4 });
        parts.push([spot.far + 0.01, draw("g", { class: "cursor" }, ...ring)]);
      }
    });
    parts.sort((a, b) => a[0] - b[0]);
    put(this.scene, ...parts.map(([, part]) => part));
  }

  // The square under a stack, and its peg.
  base(row, column, cell) {
    const corners = [[-0.5, -0.5], [-0.5, 0.5], [0.5, 0.5], [0.5, -0.5]].map(([r, c]) => this.project(row + r, column + c, 0));
    const d = `M${corners.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}Z`;
    const [foot, top] = [this.project(row, column, 0), this.project(row, column, this.shape.levels * this.rise)];
    return [
      [-1000 + foot.far, draw("path", { class: "board line", d, "data-cell": cell })],
      [foot.far - 0.4, draw("path", { class: "peg", d: `M${foot.x} ${foot.y}L${top.x} ${top.y}` })],
    ];
  }

  ball({ x, y }, r, kind, cell, dim, last) {
    const shine = draw("circle", { class: "shine", cx: x - r * 0.3, cy: y - r * 0.35, r: r * 0.25 });
    const ring = last ? ringed("circle", { class: "last", cx: x, cy: y, r: r * 0.55 }) : [];
    return draw("g", { class: dim ? "dim" : "", "data-cell": cell }, draw("circle", { class: kind, cx: x, cy: y, r, "data-cell": cell }), shine, ...ring);
  }

  slot({ x, y }, r, cell, dim, heat, ghost) {
    const words = heat === undefined ? [] : [draw("text", { class: "heat-text", x, y, dy: ".35em" }, Math.round(100 * heat))];
    const own = ghost ? [draw("circle", { class: `${["zero", "one"][this.shape.pieces[ghost.code].seat] ?? "none"} ghost`, cx: x, cy: y, r: r * 0.8 })] : [];
    return draw("g", { class: dim ? "dim" : "" }, ...own, draw("circle", { class: "slot", cx: x, cy: y, r, "data-cell": cell,
      "fill-opacity": 0.25 + 0.6 * Math.sqrt(heat ?? 0) }), ...words);
  }

  ghost({ x, y }, r, { code, number }) {
    const kind = ["zero", "one"][this.shape.pieces[code].seat] ?? "none";
    return draw("g", {}, draw("circle", { class: `${kind} ghost`, cx: x, cy: y, r: r * 0.8 }),
      draw("text", { class: "ghost-number", x, y, dy: ".35em" }, number));
  }
}
