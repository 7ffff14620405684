// A player's thoughts: its value of the position, the moves considered, the expected continuation.
import { chip, h, plain, short } from "./dom.js";

const NAMES = {
  playouts: "Playouts",
  visits: "Visits",
  nodes: "Nodes",
  depth: "Depth",
  level: "Level",
  score: "Score",
  new_visits: "New visits",
};

/** Fewest playouts, visits or nodes for a value, and fewest visits for that of one move: of fewer it is chance. */
const FEWEST = 20;
const FEWEST_VISITS = 5;

/** Whether a thought says anything: it does not where there was no choice. */
export function telling(thought) {
  return thought && (thought.value !== null || thought.candidates.length > 1);
}

/** Returns the value that a thought is sure enough of; null where it is not. */
export function valueOf(thought) {
  const { playouts, visits, nodes } = thought.info;
  return thought.proven || (playouts ?? visits ?? nodes ?? FEWEST) >= FEWEST ? thought.value : null;
}

/** Makes the panel of one role's thoughts for the page of its match. */
export function thinkingPanel(role, index, thought, answer, page) {
  const [least, most] = page.range();
  const say = (move) => page.say(move);
  const value = valueOf(thought);
  const certainty = thought.proven
    ? proof(thought, (least + most) / 2)
    : thought.spread && thought.spread[1] - thought.spread[0] >= 0.5
      ? `${Math.round(thought.spread[0])} to ${Math.round(thought.spread[1])} lately`
      : "not proven";
  const meter = h("div", { class: `meter role-${index % 6}`, "aria-hidden": "true" });
  if (value !== null) {
    const share = (goal) => (100 * (goal - least)) / (most - least);
    const spread = (thought.spread ?? [value, value]).map(share);
    const swing = h("i", { class: "swing" });
    swing.style.left = `${spread[0]}%`;
    swing.style.width = `${spread[1] - spread[0]}%`;
    const bar = h("i", { class: "bar" });
    bar.style.width = `${share(value)}%`;
    meter.append(bar, swing);
  }
  return h(
    "article",
    { class: "thought" },
    h("h3", {}, chip(index, page.emblems), plain(role), h("span", { class: "quiet" }, ` · ${thought.engine}`)),
    h(
      "p",
      { class: "value" },
      h("strong", {}, value === null ? "no value" : value.toFixed(value % 1 && !thought.proven ? 1 : 0)),
      h("span", { class: "quiet" }, value === null ? "" : ` expected of ${most} · ${certainty}`),
    ),
    meter,
    h("p", { class: "best" }, h("span", { class: "quiet" }, answer ? "played " : "best so far "), h("code", {}, say(answer ?? thought.move))),
    candidates(thought, answer ?? thought.move, say),
    thought.line.length > 1
      ? h("p", { class: "variation" }, h("span", { class: "quiet" }, "expects "), ...thought.line.flatMap((move, place) => [place ? " → " : "", h("code", {}, say(move))]))
      : null,
    figures(thought),
    thought.reason ? h("p", { class: "reason quiet" }, thought.reason) : null,
  );
}

function proof({ value, plies }, even) {
  return plies ? `${value >= even ? "wins" : "loses"} in ${plies} ${plies === 1 ? "ply" : "plies"}` : "proven";
}

/** Makes the table of the moves looked at, in the order of what decides: visits where they are counted, or values. */
function candidates({ candidates: moves }, chosen, say) {
  if (moves.length < 2) return null;
  const counted = moves.some(({ visits }) => visits !== null);
  const most = Math.max(1, ...moves.map(({ visits }) => visits ?? 0));
  const rows = counted ? [...moves].sort((one, other) => (other.visits ?? 0) - (one.visits ?? 0)) : moves;
  const value = (one) => (one.value === null || (counted && !one.proven && (one.visits ?? 0) < FEWEST_VISITS) ? "–" : one.value.toFixed(1) + (one.proven ? " ✓" : ""));
  const heads = ["Move", ...(counted ? ["Visits, which decide"] : []), "Value"];
  return h(
    "table",
    { class: "candidates" },
    h("caption", { class: "unseen" }, "The moves looked at"),
    h("thead", {}, h("tr", {}, heads.map((text, place) => h("th", { scope: "col", class: place ? "number" : "" }, text)))),
    h(
      "tbody",
      {},
      rows.map((one) => {
        const share = h("i", { class: "share", "aria-hidden": "true" });
        share.style.width = `${(100 * (one.visits ?? 0)) / most}%`;
        return h(
          "tr",
          { class: one.move === chosen ? "chosen" : "" },
          h("td", {}, h("code", {}, say(one.move)), counted && share),
          counted && h("td", { class: "number" }, short(one.visits)),
          h("td", { class: "number" }, value(one)),
        );
      }),
    ),
  );
}

function figures(thought) {
  const rows = Object.entries(thought.info).map(([name, what]) => [NAMES[name] ?? name.replaceAll("_", " "), typeof what === "number" ? short(what) : String(what)]);
  if (thought.rate) rows.push([`${NAMES[thought.rate.of]} per second`, short(thought.rate.value)]);
  rows.push(["Time", `${thought.seconds.toFixed(1)} s`]);
  return h("dl", { class: "figures" }, rows.map(([name, what]) => h("div", {}, h("dt", {}, name), h("dd", {}, what))));
}
