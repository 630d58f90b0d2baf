// Elements from names, attributes and texts. Texts become text nodes; markup is never read.

const SVG = "http://www.w3.org/2000/svg";

export const find = (id) => document.getElementById(id);

export function make(tag, look = {}, ...inside) {
  return fill(document.createElement(tag), look, inside);
}

export function draw(tag, look = {}, ...inside) {
  return fill(document.createElementNS(SVG, tag), look, inside);
}

function fill(element, look, inside) {
  for (const [name, value] of Object.entries(look)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...inside.map((one) => (one instanceof Node ? one : document.createTextNode(String(one)))));
  return element;
}

export function put(element, ...inside) {
  element.replaceChildren(...inside);
}

// The children of an element, one for each item. Those that are there already stay, and with them the focus and the
// finger that are on them: a button that is made anew between press and release is never clicked.
export function keep(element, items, key, build) {
  const keys = items.map((item, i) => String(key(item, i)));
  const wanted = new Set(keys);
  const old = new Map([...element.children].map((child) => [child.dataset.key, child]));
  for (const [name, child] of old) if (!wanted.has(name)) child.remove();
  items.forEach((item, i) => {
    const child = old.get(keys[i]) ?? build(item, i);
    child.dataset.key = keys[i];
    if (element.children[i] !== child) element.insertBefore(child, element.children[i] ?? null);
  });
}

// What is chosen in a list, by pointing at it or by Enter. Browsers tell of a change at each arrow and letter, too: who
// walks through the list has not chosen yet, and who leaves it finds it as it was. A list that was opened tells of what
// was chosen alone, and of that behind all keys.
export function chosen(list, act) {
  let [before, pressed, walking] = ["", false, false];
  list.addEventListener("keydown", ({ key }) => {
    if (!walking) before = list.value;
    if (key === "Enter") {
      if (list.value !== before) act(list.value);
      walking = false;
    } else {
      pressed = true;
      setTimeout(() => (pressed = false));
    }
  });
  list.addEventListener("change", () => {
    walking = pressed;
    if (walking) return;
    act(list.value);
    list.blur(); // keys are for the board again
  });
  list.addEventListener("blur", () => {
    if (walking) list.value = before;
    walking = false;
  });
}

// A mark as the server tells it: its tag, its attributes, its text.
export const marked = ([tag, look, text]) => (text ? draw(tag, look, text) : draw(tag, look));

// A ring, dark on a wider light one: of the two one is seen on every colour.
export const ringed = (tag, look) => [draw(tag, { ...look, class: "under" }), draw(tag, look)];
