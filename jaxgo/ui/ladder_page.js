"use strict";
// Shows the games of the page. A ply is the list of what it toggles: what it draws anew and what it takes away.
(() => {
  const {size, parts, games} = JSON.parse(document.getElementById("games").textContent);
  const at = (id) => document.getElementById(id);
  const viewer = at("viewer");
  let game, ply;

  function draw() {
    const shown = new Set();
    for (const turn of game.turns.slice(0, ply + 1))
      for (const part of turn) shown.delete(part) || shown.add(part);
    const drawn = [...shown].sort((a, b) => a - b).map((part) => parts[part]);
    at("diagram").innerHTML = `<rect class="back" width="100%" height="100%" rx="6"/>` + drawn.join("");
    for (const seat of [0, 1]) at(`disc${seat}`).className = `disc ${["zero", "one"][seat ^ game.dark[ply]]}`;
    const last = game.moves.length, opening = ply && ply <= game.opening ? ", opening" : "";
    const move = ply && `${game.moves[ply - 1]} (${["first", "second"][game.movers[ply - 1]]}${opening})`;
    const words = ply ? `move ${ply} of ${last}: ${move}` : `start of ${last} moves`;
    at("ply").textContent = words + (ply === last ? `; ${game.result}` : "");
    for (const [id, end] of [["first", 0], ["prev", 0], ["next", last], ["last", last]]) at(id).disabled = ply === end;
    for (const [number, item] of [...at("moves").children].entries()) {
      item.className = number + 1 === ply ? "here" : "";
      if (number + 1 === ply) at("moves").scrollTop = item.offsetTop - at("moves").clientHeight / 2;
    }
    if (!ply) at("moves").scrollTop = 0;
  }

  function go(to) {
    ply = Math.max(0, Math.min(to, game.moves.length));
    draw();
  }

  function choose(number) {
    game = games[number];
    at("seat0").textContent = game.seats[0];
    at("seat1").textContent = game.seats[1];
    at("moves").replaceChildren(...game.moves.map((name, index) => {
      const item = document.createElement("li");
      item.textContent = name;
      item.onclick = () => go(index + 1);
      return item;
    }));
    for (const button of document.querySelectorAll("button[data-game]"))
      button.setAttribute("aria-pressed", String(button.dataset.game === String(number)));
    go(game.opening);
  }

  for (const button of document.querySelectorAll("button[data-game]"))
    button.onclick = () => {
      choose(Number(button.dataset.game));
      viewer.scrollIntoView({block: "nearest"});
    };
  const moves = {first: () => 0, prev: () => ply - 1, next: () => ply + 1, last: () => game.moves.length};
  for (const [id, where] of Object.entries(moves)) at(id).onclick = () => go(where());
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.target.closest?.(".wide")) return;
    const keys = {ArrowLeft: "prev", ArrowRight: "next"};
    if (viewer.contains(event.target)) Object.assign(keys, {Home: "first", End: "last"});
    if (!keys[event.key]) return;
    event.preventDefault();
    go(moves[keys[event.key]]());
  });
  at("diagram").setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`);
  for (const one of document.querySelectorAll(".script")) one.hidden = false;
  choose(0);
})();
