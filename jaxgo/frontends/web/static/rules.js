// How a game is played, in a few sentences that a button opens and Escape closes.

import { find, make, put } from "./make.js";

export function rules({ game, rules: told, notation }) {
  find("rules-open").disabled = false;
  put(find("rules-of"), `How to play ${game}`);
  put(find("rules-told"), ...(told ? ticked(told) : ["This game tells nothing of its rules."]));
  put(find("rules-notation"), ...ticked(notation));
}

// Words in which what stands in backticks is code.
const ticked = (text) => text.split("`").map((part, i) => (i % 2 ? make("code", {}, part) : part));

find("rules-open").addEventListener("click", () => find("rules").showModal());
find("rules-close").addEventListener("click", () => find("rules").close());
