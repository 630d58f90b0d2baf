// The keys of the page, those of the board apart, which takes its own. What a field or a list is given stays there.

import { find } from "./make.js";

const WORDS = { n: "new", u: "undo", r: "redo", h: "hint", v: "review", s: "stop", t: "turn", a: "analyse", "?": "rules-open" };
const WALKS = { ArrowLeft: "back", ArrowRight: "on", Home: "first", End: "last" };

// Keys press the buttons of these names; those that `does` something do it even where the button is switched off, so
// that the server can tell why it does nothing, but only once there is a position.
export function listen(does, position) {
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input:not([type=checkbox]), select, textarea, dialog")) return;
    const id = WALKS[key] ?? WORDS[key];
    if (!id || find(id).hidden) return;
    if (WALKS[key] ? event.shiftKey || find(id).disabled || scrolls(key, target) : event.repeat) return;
    if (!does[id]) find(id).click();
    else if (position()) does[id]();
    else return;
    event.preventDefault();
  });
}

// Whether a key is for the browser: it scrolls sideways what is wider than its room, and the page to its ends from
// anywhere but beside the board and the moves.
function scrolls(key, target) {
  if (!key.startsWith("Arrow")) return target !== document.body && !target.closest("#left, #moves");
  for (let one = target; one; one = one.parentElement) {
    const moves = one === document.documentElement || ["auto", "scroll"].includes(getComputedStyle(one).overflowX);
    if (moves && one.scrollWidth > one.clientWidth) return true;
  }
  return false;
}
