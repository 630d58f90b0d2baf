// A run of training that the page stands beside: where it is, its curves, its ladder, and games to replay.

import { draw, find, make, put } from "./make.js";

const [WIDE, HIGH, LEFT, FOOT, TOP] = [320, 120, 40, 16, 6];

export class Run {
  constructor({ replay, meet }) {
    Object.assign(this, { replay, meet, told: null });
    find("meet").addEventListener("click", () => this.meet(this.told));
    setInterval(() => this.told && this.state(), 1000);
  }

  set(told) {
    this.told = told;
    find("run").hidden = false;
    find("meet").hidden = !told.player;
    this.state();
    const most = Math.max(...told.curves.flatMap(({ lines }) => lines.flatMap((line) => line.points.map(([minute]) => minute))), 1e-6);
    put(find("curves"), ...told.curves.map((curve) => make("figure", {}, chart(curve, most), legend(curve))));
    const table = find("ladder");
    table.hidden = !told.ladder.length;
    put(table.tBodies[0], ...told.ladder.map(([name, value, error]) => make("tr", {}, make("td", {}, name),
      make("td", { class: "n" }, `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(0)} ± ${error.toFixed(0)}`))));
    const games = JSON.stringify(told.groups);
    if (games === this.games) return; // a button that is made anew while it is pressed is never clicked
    this.games = games;
    put(find("run-games"), ...told.groups.flatMap(({ about, games }) => [make("p", {}, `games ${about}`),
      make("ol", {}, ...games.map((game) => make("li", {}, `${game.result}, ${game.actions.length} moves `,
        make("button", { onclick: () => this.replay(told, game) }, "replay"))))]));
  }

  state() {
    const { name, iteration, seconds, budget, written, step, curves } = this.told;
    const of = budget ? ` of ${long(budget)}` : "";
    const news = written === null ? "nothing written yet" : `last news ${ago(Date.now() / 1000 - written)}`;
    const lost = curves.some(({ lines }) => lines.some(({ points }) => points.at(-1)[1] === null));
    const newest = step === null ? "no player yet" : `newest player: step ${step}`;
    put(find("run-state"), make("b", {}, name), `: iteration ${iteration.toLocaleString("en")}, ${long(seconds)}${of}; ${newest}; ${news}${lost ? "; a loss is no number any more" : ""}`);
  }
}

function ago(seconds) {
  const [number, unit] = seconds < 90 ? [seconds, "s"] : seconds < 5400 ? [seconds / 60, "min"] : [seconds / 3600, "h"];
  return `${Math.max(0, Math.round(number))} ${unit} ago`;
}

// How long a run takes, in the unit that is read most easily.
function long(seconds) {
  const [number, unit] = seconds < 5400 ? [seconds / 60, "minutes"] : seconds < 172800 ? [seconds / 3600, "hours"] : [seconds / 86400, "days"];
  return `${short(number)} ${unit}`;
}

const short = (number) => (Math.abs(number) >= 10000 ? `${Math.round(number / 1000)}k` : String(Number(number.toPrecision(3))));

// Round numbers at even steps, few of them, from below the lower one to above the higher one.
function rounded(low, high) {
  const least = (high > low ? high - low : 1) / 4;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * [1, 2, 5, 10].find((many) => many * power >= least);
  const first = Math.floor(low / step);
  return Array.from({ length: Math.max(1, Math.ceil(high / step) - first) + 1 }, (_, i) => (first + i) * step);
}

// The points of a line in parts that are drawn: it is broken where its value is no number.
function whole(points) {
  const parts = [[]];
  for (const point of points) {
    if (point[1] === null) parts.push([]);
    else parts.at(-1).push(point);
  }
  return parts.filter((part) => part.length);
}

// Lines over minutes, of which all charts have as many; a third number of a point is half the length of its bar.
function chart({ title, lines }, most) {
  const points = lines.flatMap((line) => whole(line.points).flat());
  const levels = rounded(Math.min(0, ...points.map(([, value, error = 0]) => value - error)),
    Math.max(...points.map(([, value, error = 0]) => value + error)));
  const [low, high] = [levels[0], levels.at(-1)];
  const x = (minute) => (LEFT + ((WIDE - LEFT - 6) * minute) / most).toFixed(1);
  const y = (value) => (TOP + ((HIGH - TOP - FOOT) * (high - value)) / (high - low)).toFixed(1);
  const marks = levels.flatMap((value) => [
    draw("path", { class: "middle", d: `M${LEFT} ${y(value)}H${WIDE - 6}` }),
    draw("text", { class: "tick end", x: LEFT - 4, y: y(value), dy: ".35em" }, short(value)),
  ]);
  const drawn = lines.flatMap((line, i) => whole(line.points).flatMap((own) => [
    draw("path", { class: `curve c${i}${own.length === 1 ? " alone" : ""}`,
      d: `M${own.map(([minute, value]) => `${x(minute)} ${y(value)}`).join("L")}h0` }),
    ...own.filter((point) => point.length > 2).map(([minute, value, error]) =>
      draw("path", { class: `curve c${i}`, d: `M${x(minute)} ${y(value - error)}V${y(value + error)}` })),
  ]));
  return draw("svg", { class: "graph chart", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `${title} over minutes` },
    ...marks, ...drawn, draw("text", { class: "tick", x: LEFT, y: HIGH - 3 }, "0"),
    draw("text", { class: "tick end", x: WIDE - 6, y: HIGH - 3 }, long(60 * most)));
}

function legend({ title, lines, left }) {
  const named = lines.filter((line) => line.name && line.points.length);
  return make("figcaption", {}, make("b", {}, title), ...(named.length > 1 ? lines : []).map((line, i) =>
    line.points.length ? make("span", { class: `key c${i}` }, line.name) : ""), left.length ? ` not drawn: ${left.join(", ")}` : "");
}
