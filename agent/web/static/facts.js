// Facts as a table by relation, with the changes since the position before.
import { h, plain } from "./dom.js";

/** Splits a fact's text into its relation and the rest. */
function parts(text) {
  const inner = plain(text).trim();
  const end = inner.search(/[\s()]/);
  return end < 0 ? [inner, ""] : [inner.slice(0, end), inner.slice(end).trim()];
}

/** Makes the table; null where there is nothing to show. */
export function factTable(rest, gone) {
  const rows = new Map();
  const add = (text, kind) => {
    const [relation, others] = parts(text);
    if (!rows.has(relation)) rows.set(relation, []);
    rows.get(relation).push({ text: others || "true", kind });
  };
  for (const [text, isNew] of rest) add(text, isNew ? "new" : "");
  for (const text of gone) add(text, "gone");
  if (!rows.size) return null;
  const order = (one, other) => one.text.localeCompare(other.text, undefined, { numeric: true });
  const body = [...rows.keys()].sort().map((relation) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, relation),
      h(
        "td",
        {},
        rows
          .get(relation)
          .sort(order)
          .map(({ text, kind }) =>
            kind === "gone"
              ? h("del", { class: "fact gone" }, h("span", { class: "unseen" }, "no longer: "), text)
              : kind === "new"
                ? h("ins", { class: "fact new" }, h("span", { class: "unseen" }, "new: "), text)
                : h("span", { class: "fact" }, text),
          ),
      ),
    ),
  );
  return h("table", { class: "facts" }, h("caption", { class: "unseen" }, "Facts that are true here"), h("tbody", {}, body));
}
