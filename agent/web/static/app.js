// The page: chooses the view by the address, and shows the state of the connection.
import { Match } from "./match.js";
import { Overview } from "./overview.js";
import { Tournament } from "./tournament.js";

const content = document.getElementById("content");
const connection = document.getElementById("connection");
let view = null;

document.getElementById("skip").addEventListener("click", () => content.focus());

/** Shows a position ("#/match/KEY/12"), a running match ("#/match/KEY"), a tournament ("#/tournament/KEY") or all. */
function route() {
  const [, kind, key, ply] = location.hash.split("/");
  if (kind === "match" && key) {
    const wanted = ply === undefined || !/^\d+$/.test(ply) ? null : Number(ply);
    if (view instanceof Match && view.key === key) {
      view.goTo(wanted);
      return;
    }
    show(new Match(key, wanted));
  } else if (kind === "tournament" && key) {
    if (!(view instanceof Tournament && view.key === key)) show(new Tournament(key));
  } else if (!(view instanceof Overview)) {
    show(new Overview());
  }
}

function show(next) {
  view?.close();
  view = next;
  content.replaceChildren(view.element);
  window.scrollTo(0, 0);
  view.open((text) => {
    connection.textContent = text;
  });
}

window.addEventListener("hashchange", route);
window.addEventListener("keydown", (event) => {
  const busy = event.target.closest?.("input, select, textarea");
  if (busy || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (view?.onKey?.(event.key)) event.preventDefault();
});
route();
