// The board: drawn as SVG from what the server tells, and moves chosen on it by touching cells in turn.

import { draw, make, marked, put, ringed } from "./make.js";
import { Space } from "./space.js";

const FAR = 12; // pixels that a pointer moves before it drags

// Which moves are still meant after these cells were touched.
export const meant = (choices, cells) =>
  choices.filter((choice) => choice.steps.length >= cells.length && cells.every((cell, i) => choice.steps[i].includes(cell)));

export class Board {
  constructor(stage, { play, ask, say }) {
    Object.assign(this, { stage, play, ask, say });
    this.chosen = [];
    this.cursor = 0;
    this.position = null;
    this.thought = null;
    this.show = { overlay: "share", line: true, legal: false, space: true, level: "" };
    this.turned = false;
    this.walked = false; // by keys: behind a click arrows to the sides go through the game
  }

  // A new kind of board.
  begin(board) {
    this.shape = board;
    this.position = this.thought = this.held = null;
    this.chosen = [];
    this.space = board.levels > 1 ? new Space(board) : null;
    const [width, height] = board.size;
    this.cursor = board.at.findIndex((place) => place !== null);
    this.turned &&= board.turns;
    this.layers = Object.fromEntries(
      ["board", "labels", "pieces", "last", "ghosts", "heat", "targets", "hits", "cursor"].map((name) => [name, draw("g", { class: name })]),
    );
    this.flat = draw("svg", { class: `diagram flat ${board.grid}`, "aria-hidden": "true", viewBox: `0 0 ${width} ${height}` },
      draw("rect", { class: "back", width, height, rx: 6 }), ...Object.values(this.layers));
    this.flat.style.setProperty("--ratio", width / height); // what is dragged is no wider than it is drawn
    put(this.layers.board, ...board.marks.map(marked));
    this.lay();
    const focused = this.frame && this.frame === document.activeElement;
    this.frame = make("div", { id: "board", tabindex: 0, role: "application", "aria-label": `${board.game} board`,
      "aria-describedby": "status board-keys" });
    this.frame.addEventListener("keydown", (event) => this.key(event));
    this.frame.addEventListener("focus", () => (this.walked ||= !this.held));
    this.frame.addEventListener("pointerdown", (event) => this.down(event));
    this.frame.addEventListener("pointermove", (event) => this.move(event));
    this.frame.addEventListener("pointerup", (event) => this.up(event));
    this.frame.addEventListener("pointercancel", () => this.letGo());
    put(this.stage, this.frame);
    if (focused) this.frame.focus({ preventScroll: true });
    this.sized?.disconnect();
    this.sized = new ResizeObserver(() => this.letters());
    this.sized.observe(this.frame);
    this.view();
  }

  // Pixels of the screen for one of the drawing, which fills its room in one direction only.
  get scale() {
    const { width, height } = this.flat.getBoundingClientRect();
    return Math.min(width / this.shape.size[0], height / this.shape.size[1]);
  }

  // Words keep a size that can be read, whatever that of the board.
  letters() {
    const { scale } = this;
    if (!scale) return;
    for (const [name, usual, least, most] of [["--name", 14, 9.5, 20], ["--small", 12, 8, 18], ["--word", 14, 9.5, 99]]) {
      this.flat.style.setProperty(name, `${Math.min(most, Math.max(least, usual * scale)) / scale}px`);
    }
  }

  // Where the cells are, seen from the side of the first player or from the other one.
  lay() {
    const { shape, layers, turned } = this;
    const [width, height] = shape.size;
    this.at = shape.at.map((place) => (turned && place ? [width - place[0], height - place[1]] : place));
    if (turned) layers.board.setAttribute("transform", `rotate(180 ${width / 2} ${height / 2})`);
    else layers.board.removeAttribute("transform");
    put(layers.labels, ...shape.labels[Number(turned)].map(marked));
    put(layers.hits, ...this.at.flatMap((place, cell) => place === null ? [] : [draw(...this.cell(cell, { class: "hit", "data-cell": cell }))]));
  }

  turn(turned) {
    this.turned = turned;
    if (!this.shape) return;
    this.lay();
    this.redraw();
  }

  get inSpace() {
    return this.space !== null && this.show.space;
  }

  view() {
    put(this.frame, this.inSpace ? this.space.picture : this.flat);
    this.redraw();
  }

  set(position) {
    if (this.position?.number !== position.number) this.chosen = [];
    if (this.thought && this.thought.number !== position.number) this.thought = null;
    this.position = position;
    this.redraw();
  }

  // Until there is another position nothing can be touched.
  leave() {
    this.position = this.held = null;
    this.chosen = [];
  }

  think(thought) {
    this.thought = thought;
    this.redraw();
  }

  // -- drawing ------------------------------------------------------------------------------------------------
  redraw() {
    if (!this.position || !this.shape) return;
    if (this.inSpace) {
      this.space.set({ ...this.position, cursor: this.cursor, thought: this.thought, show: this.show });
      return;
    }
    const { codes, last } = this.position;
    const { shape, layers } = this;
    put(layers.pieces, ...(shape.grid === "blocks" ? this.blocks(codes) : codes.flatMap((code, cell) => this.piece(code, cell))));
    put(layers.last, ...last.flatMap((cell) => ringed("circle", this.around(cell, "last", 0.2))));
    put(layers.heat, ...this.heat());
    put(layers.ghosts, ...this.ghosts());
    put(layers.targets, ...this.targets());
    put(layers.cursor, ...ringed(...this.cell(this.cursor, { class: "corner" }, 4)));
    this.shift();
  }

  // The block that is held stays where it has been dragged to, whatever is drawn anew meanwhile.
  shift() {
    if (!this.held?.shift) return;
    const code = this.position.codes[this.held.cell];
    this.layers.pieces.querySelector(`[data-block="${code}"]`)?.setAttribute("transform", `translate(${this.held.shift})`);
  }

  piece(code, cell) {
    const { pieces } = this.shape;
    if (!pieces[code].there || !this.at[cell]) return [];
    return [draw("g", { class: "piece", transform: `translate(${this.at[cell]})` }, ...pieces[code].marks.map(marked))];
  }

  // Cells of one block grow together.
  blocks(codes) {
    const { pieces, at, cell: size, picture: [, width] } = this.shape;
    const gap = size * 0.07;
    return [...new Set(codes)].filter((code) => pieces[code].there).map((code) => {
      const cells = codes.flatMap((other, cell) => (other === code ? [cell] : []));
      const word = ["zero", "one"][pieces[code].seat] ?? "none";
      const has = (cell) => codes[cell] === code;
      const rects = cells.map((cell) => {
        const [x, y] = at[cell];
        const right = (cell + 1) % width !== 0 && has(cell + 1);
        const below = has(cell + width);
        return draw("path", { class: word, "stroke-width": 0, "shape-rendering": "crispEdges",
          d: `M${x - size / 2 + gap} ${y - size / 2 + gap}h${size - 2 * gap + (right ? 2 * gap : 0)}v${size - 2 * gap}` +
            `h${-(size - 2 * gap + (right ? 2 * gap : 0))}z` +
            (below ? `M${x - size / 2 + gap} ${y + size / 2 - gap}h${size - 2 * gap + (right && has(cell + width + 1) ? 2 * gap : 0)}v${2 * gap}` +
              `h${-(size - 2 * gap + (right && has(cell + width + 1) ? 2 * gap : 0))}z` : "") });
      });
      const [x, y] = at[cells[0]];
      return draw("g", { "data-block": code }, ...rects,
        draw("text", { class: `${word}-text`, x, y, dy: ".35em" }, pieces[code].word));
    });
  }

  // The attributes of a circle around what is on a cell.
  around(cell, kind, size) {
    const [x, y] = this.at[cell];
    const piece = this.shape.pieces[this.position.codes[cell]];
    const says = piece.marks.length > 1 || piece.marks[0]?.[0] === "path";
    const own = this.shape.grid === "blocks" ? 0.36 : says ? 0.45 : 0;
    const wide = piece.there ? Math.max(size, own) : size;
    return { class: kind, cx: x, cy: y, r: this.shape.cell * wide };
  }

  // The outline of a cell, so far inside of it: its tag and its attributes.
  cell(cell, look, inside = 0) {
    const { cell: size, outline } = this.shape;
    const [x, y] = this.at[cell];
    const half = size / 2 - inside;
    if (outline) return ["path", { ...look, d: outline, transform: `translate(${x} ${y}) scale(${(2 * half) / size})` }];
    return ["rect", { ...look, x: x - half, y: y - half, width: 2 * half, height: 2 * half, ...(inside && { rx: 4 }) }];
  }

  // What a search thinks of the moves, on the cells where they land; the better of moves that share one.
  heat() {
    const { thought, show, shape } = this;
    if (!thought || !show.overlay) return [];
    if (show.overlay === "owned") return this.owned(thought.owned);
    const at = new Map(this.position.choices.map((choice) => [choice.action, choice.at]));
    const seen = new Set();
    return thought.moves.flatMap((move) => {
      const cell = at.get(move.action) ?? -1;
      const number = move[show.overlay];
      if (cell < 0 || seen.has(cell) || number === null || (show.overlay !== "prior" && !move.visits) || !this.at[cell]) return [];
      seen.add(cell);
      const part = show.overlay === "value" ? (number + 1) / 2 : number;
      if (part < 0.01 && seen.size > 12) return [];
      const [x, y] = this.at[cell];
      const best = move.action === thought.action;
      return [
        draw("circle", { class: best ? "heat best" : "heat", cx: x, cy: y, r: shape.cell * (0.16 + 0.3 * Math.sqrt(part)) }),
        draw("text", { class: "heat-text", x, y, dy: ".35em" }, Math.round(100 * part)),
      ];
    });
  }

  // Whose each point will be, by the net of who thinks: the surer, the larger.
  owned(values) {
    return values.flatMap((value, cell) => {
      if (!this.at[cell] || Math.abs(value) < 0.05) return [];
      const [x, y] = this.at[cell];
      const half = this.shape.cell * 0.22 * Math.sqrt(Math.abs(value));
      return [draw("rect", { class: `owned ${value > 0 ? "zero" : "one"}`, x: x - half, y: y - half, width: 2 * half, height: 2 * half })];
    });
  }

  ghosts() {
    if (!this.thought || !this.show.line) return [];
    return this.thought.line.filter(({ cell }) => this.at[cell]).reverse().flatMap(({ cell, code, number }) => {
      const [x, y] = this.at[cell];
      return [
        draw("g", { class: "ghost", transform: `translate(${x} ${y})` }, ...this.shape.pieces[code].marks.map(marked)),
        draw("text", { class: "ghost-number", x: x + 11, y: y - 9, dy: ".35em" }, number),
      ];
    });
  }

  targets() {
    const { choices } = this.position;
    const step = this.chosen.length;
    const marks = this.chosen.flatMap((cell) => ringed("circle", this.around(cell, "chosen", 0.45)));
    if (step === 0 && !this.show.legal) return marks;
    const cells = new Set(meant(choices, this.chosen).flatMap((choice) => choice.steps[step] ?? []));
    return [...marks, ...[...cells].map((cell) => draw("circle", this.around(cell, "target", 0.14)))];
  }

  // -- touching -----------------------------------------------------------------------------------------------
  cellOf(event) {
    const hit = document.elementsFromPoint(event.clientX, event.clientY).find((one) => one.dataset?.cell);
    return hit ? Number(hit.dataset.cell) : null;
  }

  down(event) {
    this.walked = false;
    if (event.button || !this.position) return;
    const cell = this.cellOf(event);
    const [x, y] = [event.clientX, event.clientY];
    this.held = { cell, x, y, last: [x, y], dragged: false, shift: null };
    if (cell !== null) this.cursor = cell;
    this.frame.setPointerCapture?.(event.pointerId);
  }

  move(event) {
    if (!this.held) return;
    const [dx, dy] = [event.clientX - this.held.x, event.clientY - this.held.y];
    if (!this.held.dragged && Math.hypot(dx, dy) < FAR) return;
    this.held.dragged = true;
    if (this.inSpace) {
      const [x, y] = this.held.last;
      this.held.last = [event.clientX, event.clientY];
      this.space.turn(event.clientX - x, event.clientY - y);
      return;
    }
    if (this.shape.grid === "blocks" && this.held.cell !== null) {
      const along = this.slide(dx, dy, this.held.cell);
      const go = along ? Math.max(0, Math.min(this.shape.cell, (dx * along.dx + dy * along.dy) / this.scale)) : 0;
      this.held.shift = along ? [go * along.dx, go * along.dy] : [0, 0];
      this.shift();
    }
  }

  up(event) {
    const held = this.held;
    this.held = null;
    if (!held || held.cell === null) return;
    if (!held.dragged) return this.touch(held.cell);
    if (this.inSpace) return;
    if (this.shape.grid === "blocks") {
      const along = this.slide(event.clientX - held.x, event.clientY - held.y, held.cell);
      if (along) return this.decide([along.choice]);
      return this.redraw();
    }
    const cell = this.cellOf(event);
    const choices = this.position?.choices ?? [];
    if (cell === held.cell || meant(choices, [held.cell]).some(({ steps: [some] }) => some.includes(cell))) {
      this.touch(held.cell); // a hand that was not steady
    } else if (cell !== null && meant(choices, [held.cell, cell]).length) {
      this.chosen = [held.cell];
      this.touch(cell);
    }
  }

  // The pointer was taken away, by a gesture of the browser's: nothing was meant.
  letGo() {
    this.held = null;
    this.redraw();
  }

  // The move of the held block that goes most nearly where the pointer went.
  slide(dx, dy, from) {
    const { at, picture: [, width] } = this.shape;
    let found = null;
    for (const choice of meant(this.position.choices, [from]).filter((one) => one.steps.length > 1)) {
      const [was, came] = choice.steps;
      const left = came.some((cell) => was.includes(cell + 1) && (cell + 1) % width);
      const right = came.some((cell) => was.includes(cell - 1) && cell % width);
      const way = left ? [-1, 0] : right ? [1, 0] : at[came[0]][1] < at[was[0]][1] ? [0, -1] : [0, 1];
      const far = dx * way[0] + dy * way[1];
      if (far > FAR && (!found || far > found.far)) found = { choice, far, dx: way[0], dy: way[1] };
    }
    return found;
  }

  touch(cell) {
    if (!this.position || this.position.result) return;
    const { choices } = this.position;
    this.cursor = cell;
    const firsts = new Set(choices.filter((choice) => choice.steps.length > 1).map((choice) => choice.steps[0].join()));
    const common = firsts.size === 1 ? Number([...firsts][0].split(",")[0]) : null;
    const tries = [[...this.chosen, cell], [cell], ...(common === null ? [] : [[common, cell]])];
    const again = this.chosen.length && this.chosen.at(-1) === cell;
    const done = again ? meant(choices, this.chosen).filter((choice) => choice.steps.length === this.chosen.length) : [];
    if (done.length) return this.decide(done);
    if (again) {
      this.chosen = [];
      this.ask([]);
      return this.redraw();
    }
    const cells = tries.find((some) => meant(choices, some).length);
    if (!cells) {
      this.chosen = [];
      this.ask([]);
      this.say(`no move at ${this.shape.names[cell]}`);
      return this.redraw();
    }
    this.chosen = cells;
    const left = meant(choices, cells);
    const whole = left.filter((choice) => choice.steps.length === cells.length);
    if (whole.length === left.length) return this.decide(whole);
    this.ask(whole);
    this.say(`${this.shape.names[cell]} chosen, ${left.length} moves`);
    this.redraw();
  }

  decide(choices) {
    if (choices.length === 1) {
      this.chosen = [];
      this.play(choices[0].action);
    } else {
      this.ask(choices);
      this.say(`${choices.length} moves to choose from, below the board`);
    }
    this.redraw();
  }

  // -- keys ---------------------------------------------------------------------------------------------------
  key(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (step?.[1] && !this.walked) return;
    this.walked = true;
    if (step) this.walk(...step.map((by) => (this.turned ? -by : by)));
    else if (event.key === "Enter" || event.key === " ") this.touch(this.cursor);
    else if (event.key === "Escape") {
      this.chosen = [];
      this.ask([]);
      this.redraw();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  walk(down, right) {
    if (!this.position) return;
    const [height, width] = this.shape.picture;
    let [row, column] = [Math.floor(this.cursor / width), this.cursor % width];
    for (;;) {
      row += down;
      column += right;
      if (row < 0 || column < 0 || row >= height || column >= width) return;
      if (this.shape.at[row * width + column]) break;
    }
    this.cursor = row * width + column;
    const piece = this.shape.pieces[this.position.codes[this.cursor]];
    const whose = ["first player's ", "second player's "][piece.seat ^ this.position.first] ?? "";
    this.say(`${this.shape.names[this.cursor]}: ${piece.there ? whose + piece.word : "empty"}`);
    this.redraw();
  }
}
