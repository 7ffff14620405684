// A player's thoughts: its value of the position, the moves considered, the expected continuation.
import { h, plain, short } from "./dom.js";

const NAMES = {
  playouts: "Playouts",
  visits: "Visits",
  nodes: "Nodes",
  depth: "Depth",
  level: "Level",
  score: "Score",
  new_visits: "New visits",
};

/** Makes the panel of one role's thoughts; goals are within a range. */
export function thinkingPanel(role, index, thought, answer, [least, most]) {
  const value = thought.value;
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
    h("h3", {}, h("span", { class: `chip role-${index % 6}`, "aria-hidden": "true" }), plain(role), h("span", { class: "quiet" }, ` · ${thought.engine}`)),
    h(
      "p",
      { class: "value" },
      h("strong", {}, value === null ? "no value" : value.toFixed(value % 1 && !thought.proven ? 1 : 0)),
      h("span", { class: "quiet" }, value === null ? "" : ` expected of ${most} · ${certainty}`),
    ),
    meter,
    h("p", { class: "best" }, h("span", { class: "quiet" }, answer ? "played " : "best so far "), h("code", {}, plain(answer ?? thought.move))),
    candidates(thought),
    thought.line.length > 1
      ? h("p", { class: "variation" }, h("span", { class: "quiet" }, "expects "), ...thought.line.flatMap((move, place) => [place ? " → " : "", h("code", {}, plain(move))]))
      : null,
    figures(thought),
    thought.reason ? h("p", { class: "reason quiet" }, thought.reason) : null,
  );
}

function proof({ value, plies }, even) {
  return plies ? `${value >= even ? "wins" : "loses"} in ${plies} ${plies === 1 ? "ply" : "plies"}` : "proven";
}

function candidates(thought) {
  if (thought.candidates.length < 2) return null;
  const counted = thought.candidates.some((candidate) => candidate.visits !== null);
  const valued = thought.candidates.some((candidate) => candidate.value !== null);
  const most = Math.max(1, ...thought.candidates.map((candidate) => candidate.visits ?? 0));
  return h(
    "table",
    { class: "candidates" },
    h("caption", { class: "unseen" }, "The best moves"),
    h(
      "thead",
      {},
      h("tr", {}, h("th", { scope: "col" }, "Move"), valued && h("th", { scope: "col", class: "number" }, "Value"), counted && h("th", { scope: "col", class: "number" }, "Visits")),
    ),
    h(
      "tbody",
      {},
      thought.candidates.map((candidate) => {
        const share = h("i", { class: "share", "aria-hidden": "true" });
        share.style.width = `${(100 * (candidate.visits ?? 0)) / most}%`;
        return h(
          "tr",
          {},
          h("td", {}, h("code", {}, plain(candidate.move)), counted && share),
          valued && h("td", { class: "number" }, candidate.value === null ? "" : candidate.value.toFixed(1) + (candidate.proven ? " ✓" : "")),
          counted && h("td", { class: "number" }, short(candidate.visits)),
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
