// Plots: values over a match, a line for each thinking role in a band for its spread; and any lines.
import { h, plain, s, short } from "./dom.js";
import { valueOf } from "./thinking.js";

const NARROWEST = 280;
const HEIGHT = 180;
const LEFT = 30;
const DIGIT = 7;
const RIGHT = 10;
const TOP = 10;
const BOTTOM = 22;

const MOST_BLUNDERS = 3;
const LEAST_LOSS = 12;

/** Returns the values of a role that are sure enough, by ply. */
function valuesOf(steps, index) {
  return steps.flatMap(({ ply, thinking }) => {
    const thought = thinking[index];
    const value = thought ? valueOf(thought) : null;
    return value === null ? [] : [{ ply, thought, value }];
  });
}

/** Returns the moves that lost most, by ply, each with its loss: where a value of a role jumps from one ply to a later
 * one, down by its own move, up by another's. */
export function blunders(roles, steps) {
  const found = new Map();
  roles.forEach((_, index) => {
    const values = valuesOf(steps, index);
    values.slice(1).forEach(({ ply, value }, place) => {
      const before = values[place];
      const loss = Math.abs(value - before.value);
      const at = value < before.value ? before.ply + 1 : ply;
      if (loss >= LEAST_LOSS && loss > (found.get(at) ?? 0)) found.set(at, loss);
    });
  });
  return new Map([...found].sort(([, one], [, other]) => other - one).slice(0, MOST_BLUNDERS));
}

/** Makes the plot, `room` pixels wide, of goals within a range; `choose(ply)` is called for a clicked ply. */
export function plot(room, roles, steps, shown, goals, [least, most], choose) {
  const width = Math.max(NARROWEST, room);
  const last = Math.max(1, steps.length - 1);
  const marks = [least, (least + most) / 2, most].map(Math.round);
  const left = Math.max(LEFT, 9 + DIGIT * Math.max(...marks.map((value) => String(value).length)));
  const x = (ply) => left + (ply / last) * (width - left - RIGHT);
  const y = (value) => TOP + ((most - value) / (most - least)) * (HEIGHT - TOP - BOTTOM);
  const svg = s("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, class: "plot", role: "img" });
  for (const value of marks) {
    svg.append(
      s("line", { class: "rule", x1: left, x2: width - RIGHT, y1: y(value), y2: y(value) }),
      s("text", { class: "axis", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, String(value)),
    );
  }
  for (const ply of ticks(last)) {
    svg.append(s("text", { class: "axis", x: x(ply), y: HEIGHT - 6, "text-anchor": "middle" }, String(ply)));
  }
  const words = [];
  roles.forEach((role, index) => {
    const points = valuesOf(steps, index);
    if (!points.length) return;
    const group = s("g", { class: `line role-${index % 6}` });
    const band = points.filter(({ thought }) => thought.spread);
    if (band.length > 1) {
      const upper = band.map(({ ply, thought }) => `${x(ply)},${y(thought.spread[1])}`);
      const lower = band.map(({ ply, thought }) => `${x(ply)},${y(thought.spread[0])}`).reverse();
      group.append(s("polygon", { class: "band", points: [...upper, ...lower].join(" ") }));
    }
    group.append(s("polyline", { points: points.map(({ ply, value }) => `${x(ply)},${y(value)}`).join(" ") }));
    for (const { ply, thought, value } of points) {
      if (thought.proven) {
        group.append(s("rect", { class: "proven", x: -4, y: -4, width: 8, height: 8, transform: `translate(${x(ply)} ${y(value)}) rotate(45)` }));
      } else if (points.length < 60) {
        group.append(s("circle", { cx: x(ply), cy: y(value), r: 2.5 }));
      }
    }
    if (goals.length && goals[index] !== null) {
      group.append(s("circle", { class: "goal", cx: x(last), cy: y(goals[index]), r: 5 }));
    }
    svg.append(group);
    const [first, final] = [points[0].value, points[points.length - 1].value];
    words.push(`${plain(role)}: from ${Math.round(first)} to ${Math.round(final)}`);
  });
  if (!words.length) return null;
  for (const [ply] of blunders(roles, steps)) svg.append(s("text", { class: "lost", x: x(ply), y: TOP + 6, "text-anchor": "middle" }, "?"));
  svg.append(s("line", { class: "here", x1: x(shown), x2: x(shown), y1: TOP, y2: HEIGHT - BOTTOM }));
  svg.setAttribute("aria-label", `Value over the match. ${words.join("; ")}.`);
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * width;
    choose(Math.round(Math.min(1, Math.max(0, (place - left) / (width - left - RIGHT))) * last));
  });
  return h(
    "figure",
    {},
    svg,
    h(
      "figcaption",
      { class: "quiet" },
      "Expected goal by ply. Band: how far it moved while being thought about; diamond: proven; question mark: a move that lost much" + (goals.length ? "; ring: result." : "."),
    ),
  );
}

/** Makes a plot, `room` pixels wide, with a title and a legend; each series has a `colour`, a role's index. */
export function lines(room, { title, x: across, y: up, series }) {
  const width = Math.max(NARROWEST, room);
  const points = series.flatMap((one) => one.points);
  const last = Math.max(1, ...points.map(([at]) => at));
  const marks = rounded(Math.min(0, ...points.map(([, value]) => value)), Math.max(0, ...points.map(([, value]) => value)));
  const [least, most] = [marks[0], marks[marks.length - 1]];
  const left = Math.max(LEFT, 12 + DIGIT * Math.max(...marks.map((value) => short(value).length)));
  const x = (at) => left + (at / last) * (width - left - RIGHT);
  const y = (value) => TOP + ((most - value) / (most - least)) * (HEIGHT - TOP - BOTTOM);
  const svg = s("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, class: "plot still", role: "img" });
  for (const value of marks) {
    svg.append(
      s("line", { class: "rule", x1: left, x2: width - RIGHT, y1: y(value), y2: y(value) }),
      s("text", { class: "axis", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, short(value)),
    );
  }
  for (const at of ticks(last)) svg.append(s("text", { class: "axis", x: x(at), y: HEIGHT - 6, "text-anchor": "middle" }, String(at)));
  const words = [];
  const legend = [];
  for (const { name, points: own, colour, dashed } of series) {
    if (!own.length) continue;
    const group = s("g", { class: `line role-${colour % 6}${dashed ? " dashed" : ""}` }, s("polyline", { points: own.map(([at, value]) => `${x(at)},${y(value)}`).join(" ") }));
    svg.append(group);
    words.push(`${name}: from ${short(own[0][1])} to ${short(own[own.length - 1][1])}`);
    legend.push(h("span", { class: "key" }, s("svg", { viewBox: "0 0 20 4", "aria-hidden": "true" }, s("g", { class: group.getAttribute("class") }, s("polyline", { points: "0,2 20,2" }))), name));
  }
  svg.setAttribute("aria-label", `${title}. ${words.join("; ")}.`);
  return h("figure", {}, h("h3", {}, title), svg, h("figcaption", { class: "quiet" }, `${up} by ${across}. `, legend.length > 1 ? legend : null));
}

/** Draws an interval (`low` and `high`, if there is one) with its value marked; null without a value. */
export function interval({ value, low, high }, [least, most]) {
  if (value === null) return null;
  const x = (at) => (100 * (at - least)) / (most - least);
  const from = x(low ?? value);
  return s(
    "svg",
    { class: "interval", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { class: "whole", x: 0, y: 3, width: 100, height: 2 }),
    s("rect", { class: "likely", x: from, y: 1.5, width: Math.max(0.5, x(high ?? value) - from), height: 5 }),
    s("rect", { class: "mean", x: Math.min(98.5, Math.max(0, x(value) - 0.75)), y: 0, width: 1.5, height: 8 }),
  );
}

/** Returns round numbers about as far apart as a third of the range, which they cover. */
function rounded(least, most) {
  const power = 10 ** Math.floor(Math.log10((most - least) / 3 || 1));
  const step = power * [1, 2, 2.5, 5, 10].find((one) => 3 * one * power >= (most - least) * 0.999);
  const found = [];
  for (let at = Math.floor(least / step); (at - 1) * step < most * 0.999 || found.length < 2; at += 1) found.push(Number((at * step).toPrecision(6)));
  return found;
}

function ticks(last) {
  const steps = [1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000];
  const step = steps.find((one) => last / one <= 8) ?? 2000;
  const found = [];
  for (let ply = 0; ply <= last; ply += step) found.push(ply);
  return found;
}
