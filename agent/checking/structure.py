"""Symmetries and independent parts of a game, in words for the author of its rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

from agent.boards.layout import Layout
from agent.checking.symmetries.finding import find_symmetries
from agent.checking.symmetries.wording import Place, describe
from agent.search.subgames.parts import Parts, find_parts
from games.child_process import Bounds, ChildLostError, ChildProcess
from games.gdl.circuit.circuit import Circuit, build_circuit
from games.gdl.grounding.ground import ground
from games.gdl.rules.check import CheckedRules
from games.gdl.rules.terms import term_text
from games.machine import GameError, Term

BOUNDS = Bounds(cpu_seconds=20, memory_bytes=8 << 30)
"""Bounds of grounding and analysis."""

MOST_GENERATORS = 8
MOST_PARTS = 12
"""Generators and parts described; of the others only the number is told."""


def structure_of(checked: CheckedRules, layout: Layout) -> dict[str, object]:
    """`symmetries` and `parts` of a game as JSON data, if they are found within bounds.

    `layout` knows columns and rows.
    """
    names = place_names(layout)
    # Rewritten rules ground faster, but may hide symmetries.
    for variant in ("plain", "split"):
        child = ChildProcess(_structure, checked, variant, names, bounds=BOUNDS)
        found: dict[str, object] = {}
        try:
            found["symmetries"] = child.receive()
            found["parts"] = child.receive()
        except (GameError, ChildLostError):
            pass
        finally:
            child.end()
        if found:
            return found
    return {}


def place_names(layout: Layout) -> dict[Place, str]:
    """Names of relations' arguments on the game's boards."""
    names: dict[Place, str] = {}
    for board in layout.boards:
        if board.lattice != "square" or board.across < 0:
            continue
        for reading in board.readings.values():
            for argument, name in ((board.across, "columns"), (board.up, "rows")):
                names[reading.name[0], reading.positions[argument]] = name
    return names


def _structure(pipe: Connection, checked: CheckedRules, variant: str, names: Mapping[Place, str]) -> dict[str, object]:
    circuit = build_circuit(ground(checked.rules, checked.roles, variant=variant), idle=False)
    pipe.send(symmetries_json(circuit, names))
    return parts_json(find_parts(circuit), circuit)


def symmetries_json(circuit: Circuit, names: Mapping[Place, str]) -> dict[str, object]:
    """`order` of the group (a lower bound unless `complete`), and `generators`: `text`, and whether the first position
    stays the same."""
    found = find_symmetries(circuit)
    return {
        "order": found.order,
        "complete": found.complete,
        "generators": [
            {"text": "; ".join(describe(one, circuit, names.get)), "keeps_first_position": one.keeps(circuit.initial)}
            for one in found.generators[:MOST_GENERATORS]
        ],
        "more_generators": max(0, len(found.generators) - MOST_GENERATORS),
    }


def parts_json(found: Parts, circuit: Circuit) -> dict[str, object]:
    """`parts` with `facts` and `moves` (counts by pattern, `?` where they differ), `manner` by role, and patterns of
    facts that no move influences."""
    return {
        "count": len(found.parts),
        "parts": [
            {
                "facts": patterns(part.facts),
                "moves": {
                    term_text(circuit.roles[role]): patterns(moves) for role, moves in sorted(part.moves.items())
                },
            }
            for part in found.parts[:MOST_PARTS]
        ],
        "manner": {term_text(role): manner for role, manner in zip(circuit.roles, found.manner, strict=True)},
        "without_moves": patterns(found.time),
    }


def patterns(terms: Sequence[Term]) -> dict[str, int]:
    """Counts of terms by pattern: common arguments, and `?` for the rest."""
    by_name: dict[tuple[str, int], list[tuple[Term, ...]]] = defaultdict(list)
    for term in terms:
        name, arguments = (term, ()) if isinstance(term, str) else (term_text(term[0]), term[1:])
        by_name[name, len(arguments)].append(arguments)
    result: Counter[str] = Counter()
    for (name, arity), found in by_name.items():
        shown = [term_text(found[0][i]) if len({one[i] for one in found}) == 1 else "?" for i in range(arity)]
        result[f"({name} {' '.join(shown)})" if shown else name] += len(found)
    return dict(result)


_MANNERS = {
    "one": "moves in one part",
    "choice": "chooses a part in each step",
    "all": "moves in all of its parts at once",
}


def symmetry_lines(found: Mapping[str, Any]) -> list[str]:
    """The symmetries in words, one a line."""
    number = f"{found['order']:,}" if found["order"] < 10**9 else f"{found['order']:.1e}".replace("+", "")
    cut = "" if found["complete"] else " (the search was cut short)"
    if not found["generators"]:
        return [f"no symmetries found{cut}"]
    lines = [f"{number} symmetries of the rules, with the identity{cut}; verified, and generated by"]
    for one in found["generators"]:
        note = "" if one["keeps_first_position"] else " (but not of the first position)"
        lines.append(f"  - {one['text']}{note}")
    if found["more_generators"]:
        lines.append(f"  ... and {found['more_generators']} more")
    return lines


def part_lines(found: Mapping[str, Any]) -> list[str]:
    """The parts in words, one a line; none where the game does not fall apart."""
    if found["count"] < 2:
        return []
    lines = [f"{found['count']} parts that do not influence one another, but for goals and the end"]
    for part in found["parts"]:
        facts = ", ".join(f"{pattern} x {number}" for pattern, number in part["facts"].items())
        moves = "; ".join(f"{role}: {', '.join(patterns)}" for role, patterns in part["moves"].items())
        lines.append(f"  - facts {facts}; moves of {moves}")
    if found["count"] > len(found["parts"]):
        lines.append(f"  ... and {found['count'] - len(found['parts'])} more")
    lines.append("  " + "; ".join(f"{role} {_MANNERS[manner]}" for role, manner in found["manner"].items()))
    if found["without_moves"]:
        lines.append(f"  facts that no move influences belong to none: {', '.join(found['without_moves'])}")
    return lines
