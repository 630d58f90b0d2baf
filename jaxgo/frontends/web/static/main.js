// The page: a socket to the server, and what the buttons and keys do. The server decides; this only shows and asks.

import { Board } from "./board.js";
import { listen } from "./keys.js";
import { chosen, find, keep, make, put } from "./make.js";
import { Panel } from "./panel.js";
import { rules } from "./rules.js";
import { Run } from "./run.js";

let socket = null;
let games = [];
let shape = null;
let position = null;
let boards = 0; // that the server has told of since it said hello
let usual = null; // what the server began with
let coming = false; // whether the game that the tab has kept is still to be put up
let kept = null; // that game
let due = null; // the request for another game that the server has not answered yet
let before = null; // the position to show again if it refuses
let source = ""; // the text of the file that the game is from, which tells who played it
let sought = null; // that of the game that the server was asked for last
let aim = null; // so many moves of the game are to be shown
let asked = null; // the number of the position from which the server was asked for them
let played = null; // the number of the position in which a move was chosen
let typed = false; // whether that was by its name, which is kept until it has been played
let wait = 500; // milliseconds until the next try to connect

const MOST = 64 * 1024; // characters of a message
const KEPT = "game"; // what the tab remembers when it is read again
const TRIES = 5; // to put it up

// Whether it was sent.
const send = (message) => {
  const text = JSON.stringify(message);
  if (socket?.readyState !== WebSocket.OPEN) complain("not connected; the server may have been stopped");
  else if (text.length > MOST) complain(`that is too long: ${text.length} characters, of ${MOST} that can be sent`);
  else {
    sought = sources[message.do]?.(message) ?? sought;
    complain("");
    socket.send(text);
    if (sources[message.do]) leave(message);
    return true;
  }
  return false;
};
const sources = { load: ({ text }) => text, setup: ({ source = "" }) => source, new: () => "" };
const complain = (text) => put(find("error"), text);
// A move, by its action or its name: one for each position, whatever the second click of two is on. Whether it was sent.
const play = (move) => {
  if (!position || played === position.number || !send({ do: "play", ...move, number: position.number })) return false;
  played = position.number;
  return true;
};
const say = (text) => put(find("said"), text);
const panel = new Panel(send);
const run = new Run({ replay, meet });
const board = new Board(find("stage"), { play: (action) => play({ action }), say, ask: (choices) => menu(choices) });

// -- what the server tells ------------------------------------------------------------------------------------

const told = {
  hello(message) {
    wait = 500;
    games = message.games;
    put(find("game"), ...games.map((game) => make("option", { value: game.name, title: game.about }, game.name)));
    if (!shape) status(`setting up ${message.game}`);
    [boards, usual, due, before, position, played] = [0, null, null, null, null, null]; // this server knows nothing of what another one told
    put(find("link"));
    complain("");
    offer();
    coming = goOn();
    if (!coming) follow();
  },
  board(message) {
    if (shape?.game !== message.game) board.turned = Boolean(coming && kept?.setup.game === message.game && kept.turned);
    shape = message;
    [position, before, aim, asked] = [null, null, null, null];
    [source, sought] = [sought ?? source, null];
    boards += 1;
    if (boards > 1) due = null; // the first board is what the server began with, whatever it was asked for
    offer();
    status(`setting up ${(due && called(due)) || message.game}`);
    put(find("moves-now"));
    find("game").value = message.game;
    document.title = `jaxgo: ${message.game}`;
    find("spatial").hidden = message.levels === 1;
    find("points").hidden = !message.points;
    if (!message.points && board.show.overlay === "owned") find("overlay").value = board.show.overlay = "share";
    put(find("level"), make("option", { value: "" }, "all"),
      ...Array.from({ length: message.levels }, (_, i) => make("option", { value: i }, i + 1)));
    board.show.level = "";
    options(message.options);
    for (const button of document.querySelectorAll("[data-save]")) button.hidden = !message.files.includes(button.dataset.save);
    rules(message);
    find("turn").hidden = !message.turns;
    for (const id of ["resign", "swap", "draw", "review"]) find(id).hidden = message.seats === 1;
    panel.forget();
    panel.offer(message);
    board.begin(message);
    sides();
    find("levels").hidden = !board.inSpace;
  },
  position(message) {
    if (begins(message)) {
      source = "";
      panel.forget();
    }
    // a page that is behind hears of several moves at once
    const mover = message.players[message.mover];
    if (mover && message.moves.length > position?.moves.length) say(`${mover} plays ${message.moves.at(-1)}`);
    else if (message.number !== (position ?? before)?.number) say(""); // what was said is of another position
    position = message;
    if (due && renews(due)) { // a click on it would be lost
      remember();
      [before, position] = [message, null];
      return;
    }
    due = before = null;
    panel.set(message);
    const moved = board.position?.number !== message.number; // else what is being chosen stays so
    board.set(message);
    if (moved) menu([]);
    if (moved && typed) [find("move").value, typed] = ["", false];
    status(message.status);
    put(find("moves-now"), ...message.choices.map((choice) => make("option", { value: choice.name })));
    const banner = find("banner");
    banner.hidden = !message.result;
    put(banner, message.result ? message.result.text : "");
    find("go").hidden = !message.paused || Boolean(message.result) || !message.players[message.seat];
    offer();
    remember();
    step();
  },
  thought(message) {
    panel.think(message);
    if (position && message.number === position.number) {
      board.think(message);
      if (message.hint) say(`hint: ${message.name}`);
    }
    if (position) panel.graph(position);
  },
  review(message) {
    panel.review(message);
    if (position) panel.set(position);
  },
  run: (message) => run.set(message),
  status: (message) => position && status(message.text), // that of a game which was left is not told
  error(message) {
    [aim, asked, sought, played, typed] = [null, null, null, null, false];
    if (coming && kept?.setup.players) { // who played may be on offer no more: the game is put up without them
      const { players, source, ...setup } = kept.setup;
      kept = null;
      send(setup);
    } else if (coming) {
      coming = false;
      forget();
      stay();
    } else stay();
    complain(message.text);
  },
  file(message) {
    const link = make("a", { href: URL.createObjectURL(new Blob([message.text], { type: message.type })), download: message.name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  },
};

// Another game was asked for: until the server has set it up nothing can be chosen in this one.
function leave(message) {
  due = message;
  before = position ?? before;
  position = aim = asked = null;
  board.leave();
  menu([]);
  offer();
  status(`setting up ${called(message)}`);
}

// The strip of each player is at his side of the board.
function sides() {
  const [above, below] = board.turned ? ["seat0", "seat1"] : ["seat1", "seat0"];
  find("stage").before(find(above));
  find("stage").after(find(below));
  find("turn").setAttribute("aria-pressed", String(board.turned));
}

// It was refused, or something else was: the page shows what there is.
function stay() {
  due = null;
  if (before) told.position(before);
  if (shape) find("game").value = shape.game;
  if (position) panel.refused(position);
}

// What a request for another game calls it.
const called = ({ do: what, game }) => game || (what === "new" ? "a new game" : "the game");

// Whether the server answers a request for another game with a board first: not where it is the game that is here.
function renews({ do: what, game, options: own }) {
  const sorted = (some) => JSON.stringify(Object.entries(some).sort());
  return what !== "new" || Boolean(game && (game !== shape.game || sorted(own) !== sorted(shape.options)));
}

// Whether a position begins a new game on the same board. Who gave up before any move may take it back: that is none.
function begins(message) {
  const bare = ({ moves, undone }) => !moves.length && !undone;
  const was = position ?? before;
  if (!was || message.number === was.number || !bare(message) || message.resigned !== null) return false;
  return !bare(was) || was.resigned === null;
}

function status(text) {
  if (find("status").textContent !== text) put(find("status"), text);
}

// The buttons that do something now: none until the game is set up.
function offer() {
  const { moves, undone, result } = position ?? { moves: [], undone: 0, result: null };
  const [begun, over] = [moves.length > 0, Boolean(result)];
  const idle = { first: !begun, back: !begun, undo: !begun && !over, // who gave up can go on
    last: !undone, on: !undone, redo: !undone, review: !begun && !undone, hint: over, resign: over };
  for (const id of Object.keys(does)) find(id).disabled = !position || Boolean(idle[id]);
}

// Moves that the board alone cannot tell apart, and those without cells. After a choice keys are for the board.
function menu(choices) {
  const focused = find("menu").contains(document.activeElement);
  const others = position ? position.choices.filter((choice) => !choice.steps.length) : [];
  keep(find("menu"), [...choices, ...others], ({ action, name }) => `${action} ${name}`,
    ({ action, name }) => make("button", { "data-action": action, onclick: () => play({ action }) }, name));
  if (choices.length) find("menu").scrollIntoView({ block: "nearest" }); // on a phone it may be out of sight
  if (focused && !find("menu").contains(document.activeElement)) board.frame.focus({ preventScroll: true });
}

function connect() {
  socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket`);
  socket.onmessage = (event) => {
    const message = JSON.parse(event.data);
    told[message.tell]?.(message);
  };
  socket.onclose = ({ reason }) => {
    put(find("link"), reason || "not connected; trying again");
    setTimeout(connect, wait);
    wait = Math.min(10000, 2 * wait);
  };
}

// -- links ----------------------------------------------------------------------------------------------------

// A link holds the game, its options, where it began if that is not the usual start, and the actions of its moves.
function link() {
  const words = new URLSearchParams({ game: shape.game, ...Object.fromEntries(Object.entries(shape.options).map(([k, v]) => [`o.${k}`, v])) });
  if (position.start) words.set("start", position.start);
  if (position.actions.length) words.set("moves", position.actions.join("."));
  return `${location.origin}/#${words}`;
}

// Sets up what the address tells; whether it tells something.
function follow() {
  const words = new URLSearchParams(location.hash.slice(1));
  const game = words.get("game");
  if (!game) return false;
  const own = Object.fromEntries([...words].filter(([name]) => name.startsWith("o.")).map(([name, value]) => [name.slice(2), value]));
  const actions = (words.get("moves") ?? "").split(".").filter(Boolean).map(Number);
  const text = words.get("start") ?? "";
  if (actions.length || text) send({ do: "setup", game, options: own, text, actions });
  else send({ do: "new", game, options: own });
  return true;
}

// -- a page that is read again, or connected again ------------------------------------------------------------

// The tab keeps its game, because the server forgets a visitor who leaves: until it has put the game up as well.
function remember() {
  const { start: text, actions, later, resigned, players, paused, undone, limit, loop } = position;
  const moves = { text, actions: [...actions, ...later], undo: later.length, resigned };
  const setup = { do: "setup", game: shape.game, options: shape.options, ...moves, players, source };
  if (JSON.stringify(setup).length > MOST) setup.source = "";
  const now = JSON.stringify({ hash: location.hash, setup, limit, loop, paused: paused || undone > 0, turned: board.turned });
  if (boards === 1) usual ??= now;
  coming &&= boards === 1;
  if (coming) return;
  if (now === usual) forget();
  else store(now);
}

function store(text) {
  try {
    sessionStorage.setItem(KEPT, text);
  } catch {
    // a browser that keeps nothing
  }
}

function forget() {
  try {
    sessionStorage.removeItem(KEPT);
  } catch {
    // a browser that keeps nothing
  }
}

// Goes on with the game that was kept, unless a link brought another one; whether there was one.
function goOn() {
  try {
    kept = JSON.parse(sessionStorage.getItem(KEPT));
  } catch {
    return false;
  }
  const tries = (kept?.tries ?? 0) + 1;
  if (kept?.hash !== location.hash || tries > TRIES) { // what cannot be put up again must not come back for ever
    forget();
    return false;
  }
  store(JSON.stringify({ ...kept, tries }));
  send(kept.setup);
  const { seconds, simulations } = kept.limit ?? {};
  if (seconds || simulations) send({ do: "budget", ...(seconds ? { seconds } : { simulations }) });
  if (kept.loop?.on) send({ do: "loop", ...kept.loop });
  if (!kept.paused) send({ do: "go" });
  return true;
}

// -- a run that is watched -------------------------------------------------------------------------------------

function replay({ game, options: own }, { start, actions }) {
  send({ do: "setup", game, options: own, text: start, actions, undo: actions.length });
  find("stage").scrollIntoView({ block: "nearest" });
}

function meet({ game, options: own, player, seats }) {
  send({ do: "setup", game, options: own, players: seats === 1 ? [player] : ["", player] });
}

function options(chosen) {
  const usual = games.find((game) => game.name === shape.game)?.options ?? {};
  const fields = Object.entries(usual).map(([name, value]) => make("label", {}, `${name} `,
    make("input", { name, value: chosen[name] ?? value, "data-usual": value, size: 8, autocomplete: "off" })));
  put(find("options"), ...fields, fields.length ? make("button", {}, "play with these") : "this game has no options");
}

// -- what buttons and keys do ---------------------------------------------------------------------------------

// Walks through the game to so many moves. What is pressed before the server has answered is counted from there, too.
function walk(ply) {
  aim = Math.max(0, Math.min(position.moves.length + position.undone, ply));
  step();
}

function step() {
  const here = position.moves.length;
  if (aim === here || aim > here + position.undone) aim = null;
  if (aim === null || asked === position.number) return;
  asked = position.number;
  send({ do: aim < here ? "undo" : "redo", count: Math.abs(aim - here), number: asked });
}

const on = (count) => walk((aim ?? position.moves.length) + count);
const does = {
  new: () => send({ do: "new" }),
  undo: () => send({ do: "undo" }),
  redo: () => on(1),
  back: () => on(-1),
  on: () => on(1),
  first: () => walk(0),
  last: () => walk(position.moves.length + position.undone),
  hint: () => send({ do: "hint" }),
  review: () => send({ do: "review" }),
  stop: () => send({ do: "stop" }),
  swap: () => send({ do: "swap" }),
  draw: () => send({ do: "draw" }),
  resign: () => send({ do: "resign" }),
  go: () => send({ do: "go" }),
  turn: () => {
    board.turn(!board.turned);
    sides();
    remember();
  },
  copy: async () => {
    const copied = await navigator.clipboard?.writeText(link()).then(() => true, () => false); // not every page may
    history.replaceState(null, "", link());
    remember();
    say(copied ? "the link is copied, and in the address bar" : "the link is in the address bar");
  },
  "options-open": () => {
    const form = find("options");
    form.hidden = !form.hidden;
    find("options-open").setAttribute("aria-expanded", String(!form.hidden));
  },
};

for (const [id, act] of Object.entries(does)) find(id).addEventListener("click", act);
chosen(find("game"), (game) => {
  if (send({ do: "new", game, options: {} })) history.replaceState(null, "", location.pathname);
  else if (shape) find("game").value = shape.game;
});
find("options").addEventListener("submit", (event) => {
  event.preventDefault();
  const inputs = [...event.target.querySelectorAll("input")].filter((input) => input.value !== input.dataset.usual);
  send({ do: "new", game: shape.game, options: Object.fromEntries(inputs.map((input) => [input.name, input.value])) });
});
find("typed").addEventListener("submit", (event) => {
  event.preventDefault();
  typed = play({ name: find("move").value.trim().slice(0, 40) });
});
find("position").addEventListener("submit", (event) => {
  event.preventDefault();
  send({ do: "setup", text: find("text").value });
});
find("file").addEventListener("change", (event) => {
  const [file] = event.target.files;
  if (file) load(file);
  event.target.value = "";
});
document.addEventListener("dragover", (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
document.addEventListener("drop", (event) => {
  const [file] = event.dataTransfer?.files ?? [];
  if (!file) return;
  event.preventDefault(); // the browser would leave the page to show it
  load(file);
});

async function load(file) {
  if (file.size > 60000) complain("that file is too large; a record has at most 60 kB");
  else send({ do: "load", text: decoded(await file.arrayBuffer()) });
}

// A file is UTF-8, or in the letters that an SGF names.
function decoded(bytes) {
  const latin = new TextDecoder("latin1").decode(bytes);
  const named = /CA\s*\[\s*([\w.:+-]+)\s*\]/.exec(latin)?.[1];
  for (const charset of ["utf-8", named]) {
    try {
      return new TextDecoder(charset, { fatal: true }).decode(bytes);
    } catch {
      // it is written otherwise, or there are no such letters
    }
  }
  return latin;
}

// A number without a unit means seconds, another unit its usual number, and no number no limit.
const usually = { seconds: 1, simulations: 400 };
for (const id of ["amount", "unit"]) {
  find(id).addEventListener("change", () => {
    const amount = Number(find("amount").value);
    const unit = find("unit").value || (id === "amount" ? "seconds" : "");
    const many = id === "unit" ? usually[unit] : amount;
    if (unit && many > 0) send({ do: "budget", [unit]: unit === "seconds" ? many : Math.max(1, Math.round(many)) });
    else {
      if (!(amount > 0)) find("amount").value = 0;
      send({ do: "budget" });
    }
  });
}
for (const id of ["loop", "analyse"]) find(id).addEventListener("change", () => panel.tick(id));
// A pause is told with its box: alone it would be refused, and so be another one, while the box is being ticked.
for (const id of ["loop", "delay"]) {
  find(id).addEventListener("change", () => {
    const on = find("loop").checked;
    if (on || id === "loop") send({ do: "loop", on, delay: Number(find("delay").value) });
  });
}
find("analyse").addEventListener("change", (event) => send({ do: "analyse", on: event.target.checked }));
for (const id of ["overlay", "line", "legal", "space", "level"]) {
  find(id).addEventListener("change", (event) => {
    board.show[id] = event.target.type === "checkbox" ? event.target.checked : event.target.value;
    board.view();
    find("levels").hidden = !board.inSpace;
  });
}
find("roots").addEventListener("click", ({ target }) => target.dataset.action && play({ action: Number(target.dataset.action) }));
find("graph").addEventListener("click", (event) => position && walk(panel.plyAt(event)));
find("moves").addEventListener("click", ({ target }) => position && target.dataset.ply && walk(Number(target.dataset.ply)));
find("files").addEventListener("click", ({ target }) => {
  if (target.dataset.save) send({ do: "save", kind: target.dataset.save });
  if (target.dataset.kept) send({ do: "save", kind: "json", game: Number(target.dataset.kept) });
});
listen(does, () => position);
offer();
window.addEventListener("hashchange", () => follow() || (position && remember())); // the game stays, at another address
connect();
