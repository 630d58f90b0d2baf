// Everything beside the board: players, score, the search's table and graph, moves, saved games.

import { chosen, draw, find, keep, make, put } from "./make.js";

const ROWS = 14;
const amount = ({ limit }) => limit.seconds ?? limit.simulations ?? 0;
const percent = (number) => `${(100 * number).toFixed(1)} %`;

export class Panel {
  constructor(send) {
    this.send = send;
    this.chances = new Map(); // by ply: for the first player, from 0 to 1
    this.line = []; // of moves, as far as it is known, to which they belong
    this.plies = new Map(); // of positions by number
    this.marks = new Map(); // by ply: what a review says of the move that led there
    this.most = 8; // plies that the graph has room for
    this.ticked = {}; // boxes, until the server has heard of it
  }

  // -- players ------------------------------------------------------------------------------------------------
  offer(board) {
    this.board = board;
    this.choosers = Array.from({ length: board.seats }, (_, seat) => {
      const id = `player${seat}`;
      const list = make("select", { id });
      chosen(list, (spec) => this.seat(seat, spec));
      const own = make("input", { id: `${id}-spec`, placeholder: "a player by its spec, such as uct:800", hidden: true, size: 26,
        spellcheck: "false", autocomplete: "off", "aria-label": `spec of the ${["first", "second"][seat]} player`,
        onchange: () => this.choose(seat, own.value.trim()), onblur: () => this.unchosen(seat) });
      return { list, own };
    });
    put(find("players"), ...this.choosers.map(({ list, own }, seat) =>
      make("div", { class: "row" }, make("label", {}, this.board.seats === 1 ? "solver " : `${["first", "second"][seat]} `, list), own)));
    this.players = [];
  }

  // The list of each seat: a human, what is on offer, and whoever sits there by another spec.
  list(players) {
    if (players.join("\n") === this.players.join("\n") && this.players.length) return;
    this.players = players;
    this.choosers.forEach(({ list, own }, seat) => {
      const offered = [...new Set(["", ...this.board.players, players[seat]])];
      const names = offered.map((spec) => make("option", { value: spec }, spec || "you"));
      put(list, ...names, make("option", { value: "other" }, "other ..."));
      list.value = players[seat];
      own.hidden = true;
    });
  }

  seat(seat, spec) {
    if (spec === "other") {
      this.choosers[seat].own.hidden = false;
      this.choosers[seat].own.focus();
    } else this.choose(seat, spec);
  }

  // Who leaves the field of a spec as it is has chosen nobody else; who leaves the window may come back to it.
  unchosen(seat) {
    const { list, own } = this.choosers[seat];
    if (!this.players.length || !document.hasFocus()) return; // the server has yet to answer
    list.value = this.players[seat];
    own.hidden = true;
  }

  // The other seat stays as the server has it: who chooses both at once must not take the first choice back.
  choose(seat, spec) {
    this.send({ do: "seats", players: this.choosers.map((_, i) => (i === seat ? spec : null)) });
    this.players = []; // until the server has answered, the lists show what it may refuse
  }

  // -- the position -------------------------------------------------------------------------------------------
  set(position) {
    this.follow(position.moves);
    this.plies.set(position.number, position.moves.length);
    this.list(position.players);
    this.strips(position);
    this.score(position.score);
    this.moves(position);
    const kept = position.kept.map(({ players, result }, i) => ({ i, words: `${players.join(" v ")}: ${result} ` }));
    keep(find("kept"), kept.reverse(), ({ i, words }) => `${i} ${words}`,
      ({ i, words }) => make("li", {}, words, make("button", { "data-kept": i }, "save")));
    this.graph(position);
    this.now = position.number;
    this.fresh();
    if (document.activeElement !== find("amount")) find("amount").value = amount(position);
    // without its box the server does not know of it
    if (document.activeElement !== find("delay") && position.loop.on) find("delay").value = position.loop.delay;
    find("amount").max = position.limit.simulations ? 200000 : 120; // as the server takes them
    find("unit").value = position.limit.seconds ? "seconds" : position.limit.simulations ? "simulations" : "";
    this.boxes({ loop: position.loop.on, analyse: position.analysing });
    if (!position.reviewing && !find("reviewed").querySelector("table")) put(find("reviewed")); // one that was ended
  }

  // A position that was on its way when a box was ticked does not know of it: the box stays as it is.
  boxes(told) {
    for (const [id, on] of Object.entries(told)) {
      if (this.ticked[id] === on) delete this.ticked[id];
      find(id).checked = this.ticked[id] ?? on;
    }
  }

  tick(id) {
    this.ticked[id] = find(id).checked;
  }

  // What the server has refused is not so.
  refused(position) {
    this.ticked = {};
    this.set(position);
    find("amount").value = amount(position);
    find("delay").value = position.loop.delay;
  }

  // Another move than the one that was taken back begins another line, of which the graph knows nothing.
  follow(moves) {
    const same = this.line.findIndex((name, i) => i < moves.length && name !== moves[i]);
    if (same >= 0) {
      for (const known of [this.chances, this.marks]) for (const ply of known.keys()) if (ply > same) known.delete(ply);
      put(find("reviewed")); // it was of another game
    }
    if (same >= 0 || moves.length > this.line.length) this.line = moves;
  }

  // All moves of the game, those that were taken back behind the one that the board shows.
  moves({ moves: names, ahead }) {
    const list = find("moves");
    const before = list.querySelectorAll(":scope > :not(.ahead)").length;
    keep(list, [...names, ...ahead], (name, i) => `${i} ${name}`, (name, i) => make("li", {}, make("button", { "data-ply": i + 1 }, name)));
    [...list.children].forEach((item, i) => {
      const here = i + 1 === names.length;
      item.classList.toggle("ahead", i >= names.length);
      item.firstChild.classList.toggle("here", here);
      if (here) item.firstChild.setAttribute("aria-current", "true");
      else item.firstChild.removeAttribute("aria-current");
      const mark = this.marks.get(i + 1);
      item.firstChild.dataset.kind = mark?.kind ?? "";
      item.firstChild.title = mark?.said ?? "";
    });
    const here = list.children[names.length - 1];
    if (names.length !== before) list.scrollTop = here ? here.offsetTop - list.offsetTop - list.clientHeight / 2 : 0;
  }

  strips({ players, seat, captured, points, result, dark }) {
    for (const one of [0, 1]) {
      const strip = find(`seat${one}`);
      strip.hidden = one >= players.length;
      strip.classList.toggle("to-move", one === seat && !result);
      const facts = [];
      if (points) facts.push(`${+points[one].toFixed(1)} points`);
      if (captured[one]) facts.push(`lost ${captured[one]}`);
      put(strip, make("span", { class: `disc ${["zero", "one"][one ^ dark]}` }), make("b", {}, players[one] || "you"), " ",
        make("span", { class: "facts" }, facts.join(", ")));
    }
  }

  score(rows) {
    const table = find("score");
    table.hidden = !rows.length;
    put(table.tBodies[0], ...rows.map(([name, ...counts]) => make("tr", {}, make("td", {}, name),
      ...counts.map((count) => make("td", { class: "n" }, count)))));
  }

  // -- the search ---------------------------------------------------------------------------------------------
  think(thought) {
    const ply = this.plies.get(thought.number);
    if (ply !== undefined) {
      const first = thought.seat === 0 ? thought.value : -thought.value;
      this.chances.set(ply, (first + 1) / 2);
    }
    const speed = thought.seconds ? `, ${Math.round(thought.simulations / thought.seconds).toLocaleString("en")} a second` : "";
    const exact = thought.solved ? ", proven" : "";
    put(find("thinking"), make("b", {}, thought.name), ` by ${thought.by}: ${thought.simulations.toLocaleString("en")} simulations in ` +
      `${thought.seconds.toFixed(1)} s${speed}; value ${thought.value.toFixed(3)}${exact}`);
    this.rows(thought);
    this.thought = thought.number;
    this.fresh();
  }

  // The moves of the root, the best first; while somebody points at them they keep their places, so that they can be hit.
  rows(thought) {
    const body = find("roots").tBodies[0];
    const held = thought.number === this.thought && body.matches(":hover, :focus-within");
    const places = new Map(held ? [...body.rows].map((row, i) => [Number(row.dataset.key), i]) : []);
    const place = ({ action }) => places.get(action) ?? ROWS;
    const moves = thought.moves.slice(0, ROWS).sort((one, other) => place(one) - place(other));
    keep(body, moves, ({ action }) => action, ({ action, name }) => make("tr", {},
      make("td", {}, make("button", { "data-action": action }, name)),
      ...["n", "n", "n", "line"].map((kind) => make("td", { class: kind }))));
    moves.forEach((move, i) => {
      const row = body.rows[i];
      const [, visits, value, prior, line] = row.cells;
      row.className = move.action === thought.action ? "best" : "";
      put(visits, `${move.visits.toLocaleString("en")} `, make("small", {}, percent(move.share)));
      put(value, move.proven || (move.visits ? move.value.toFixed(3) : ""));
      put(prior, move.prior === null ? "" : percent(move.prior));
      put(line, move.line);
    });
  }

  // What each move of the game gave away: marks on the moves and in the graph, and a column for each player.
  review({ done, total, by, first, chances, moves, players }) {
    if (!players) {
      put(find("reviewed"), `reviewing: ${done} of ${total} positions`);
      return;
    }
    this.chances = new Map(chances.map((chance, i) => [first + i, chance]));
    this.marks = new Map(moves.map((move) => [move.ply, move]));
    const share = (number) => (number === null ? "-" : `${Math.round(100 * number)} %`);
    const facts = { moves: (one) => one.moves, "own choice": (one) => share(one.own), "given away a move": (one) => percent(one.lost),
      inaccuracies: (one) => one.inaccuracy, mistakes: (one) => one.mistake, blunders: (one) => one.blunder };
    const rows = Object.entries(facts).map(([word, told]) => make("tr", {}, make("th", { scope: "row" }, word),
      ...players.map((one) => make("td", { class: "n" }, told(one)))));
    const head = ["first", "second"].map((seat, i) => make("th", { scope: "col" }, `${seat}: ${players[i].name}`));
    put(find("reviewed"), make("div", { class: "wide" }, make("table", { "aria-label": "review" },
      make("caption", {}, `as ${by} sees it`), make("thead", {}, make("tr", {}, make("td"), ...head)), make("tbody", {}, ...rows))));
  }

  // Moves of another position cannot be played here.
  fresh() {
    for (const button of find("roots").querySelectorAll("button")) button.disabled = this.thought !== this.now;
  }

  graph(position) {
    const now = position.moves.length;
    const plies = [...this.chances.keys()].filter((ply) => ply <= now + position.undone).sort((a, b) => a - b);
    this.most = Math.max(8, now + position.undone, ...plies);
    const x = (ply) => 6 + (308 * ply) / this.most;
    const y = (chance) => 6 + 78 * (1 - chance);
    const line = plies.map((ply) => `${x(ply).toFixed(1)} ${y(this.chances.get(ply)).toFixed(1)}`).join("L");
    const mark = this.marks.get(now);
    put(find("remark"), mark ? `${now}. ${position.moves.at(-1) ?? ""}: ${mark.said}` : "");
    put(find("graph"), draw("path", { class: "middle", d: `M6 ${y(0.5)}H314` }), draw("path", { class: "now", d: `M${x(now)} 6V84` }),
      ...(line ? [draw("path", { class: "curve", d: `M${line}` })] : []),
      ...plies.map((ply) => this.dot(ply, x(ply), y(this.chances.get(ply)))));
  }

  dot(ply, cx, cy) {
    const mark = this.marks.get(ply);
    const said = mark ? [draw("title", {}, `${ply} ${this.line[ply - 1] ?? ""}: ${mark.said}`)] : [];
    return draw("circle", { class: "dot", "data-kind": mark?.kind, cx, cy, r: mark ? 4 : 2 }, ...said);
  }

  // The ply that somebody points at in the graph.
  plyAt({ clientX }) {
    const { left, width } = find("graph").getBoundingClientRect();
    return Math.round((((clientX - left) / width) * 320 - 6) * (this.most / 308));
  }

  forget() {
    this.chances.clear();
    this.line = [];
    this.plies.clear();
    this.marks.clear();
    this.ticked = {};
    put(find("reviewed"));
    put(find("thinking"));
    put(find("remark"));
    put(find("roots").tBodies[0]);
  }
}
