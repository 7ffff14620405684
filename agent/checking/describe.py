"""`ggp-agent inspect`: describes a rulesheet as the agent sees it."""

from __future__ import annotations

from typing import Any

from agent.boards.layout import Layout
from agent.checking.insight import PROOF_SECONDS, proven_values, reached_by
from agent.checking.playouts import speed_of
from agent.checking.sample_match import draw_sample, play_sample, sample_json
from agent.checking.sampling import Sample, sample
from agent.checking.structure import part_lines, structure_of, symmetry_lines
from agent.checking.timing import timed
from agent.console import console, print_fields, print_remarks
from agent.search.registry import engines_for
from agent.sheet import Sheet, load
from games import families
from games.gdl.interpreter.machine import Interpreter
from games.gdl.running.machine import CircuitMachine
from games.machine import StateMachine
from protocol.kif import write

_LABELS = {
    "reached": "reached by random play",
    "latches": "stay once true",
    "never_legal": "moves never legal",
}
"""Labels of keys that are no words for people."""

_APART = ("no_circuit", "faults", "warnings", "refusals", "symmetries", "parts", "sample_match")
"""Keys printed below the other fields."""

PLAYOUT_SECONDS = 1.0
"""CPU seconds of measured playouts."""

SHOWN_POSITIONS = 3
"""Positions of a sample match: first, middle and last."""


def describe(file: str, *, positions: int = SHOWN_POSITIONS) -> dict[str, Any]:
    """Prints a rulesheet's roles, kind, size, engine, set-up time, playout speed, what random matches reach, the proven
    value of a small game, symmetries, parts, a sample match and warnings; returns them as JSON data.

    `file` is a rulesheet file or the name of an own rulesheet; `positions` of the sample match are drawn. Raises
    `InputError` and `GameError`.
    """
    sheet, reading = timed(lambda: load(file))
    compilation, setup = timed(sheet.compile)
    machine = compilation.machine or Interpreter(sheet.checked)
    found = sample(machine)
    (family, refusals), recognising = timed(lambda: _family(machine))
    speed = speed_of(machine, PLAYOUT_SECONDS)
    match = play_sample(machine)
    layout = Layout(match.positions[0], sheet.rulesheet)
    result: dict[str, Any] = {
        "game": sheet.name,
        "roles": [write(role) for role in sheet.roles],
        "kind": _kind(machine, found),
        "constant_sum": found.constant_sum,
        "sample": {
            "matches": found.matches,
            "dead_ends": found.dead_ends,
            "mean_steps": round(found.steps / max(1, found.matches + found.dead_ends), 1),
            "mean_moves": round(found.moves / max(1, found.choices), 1),
        },
        "size": _size(sheet, machine),
        "machine": "circuit" if isinstance(machine, CircuitMachine) else "interpreter",
        "no_circuit": compilation.failed,
        "faults": compilation.faults,
        "family": family,
        "refusals": refusals,
        "engine": next(engines_for(machine, 0)).name,
        "setup_cpu_seconds": round(reading + setup, 4),
        "recognition_cpu_seconds": round(recognising, 4),
        "playouts_per_s": round(speed.playouts_per_s, 2),
        "transitions_per_s": round(speed.transitions_per_s, 2),
        **_insights(sheet, machine, layout),
        "sample_match": sample_json(match, positions),
        "warnings": sheet.warnings(),
    }
    _print(result)
    if positions:
        _print_lines(["", "a match at random", *draw_sample(match, layout, machine, positions)])
    return result


def _insights(sheet: Sheet, machine: StateMachine, layout: Layout) -> dict[str, Any]:
    """Findings on a circuit."""
    if not isinstance(machine, CircuitMachine):
        return {}
    # Before the search, which has threads: this forks.
    structure = structure_of(machine.game.circuit, layout)
    reached = reached_by(machine)
    proven: dict[str, Any] = {}
    if not sheet.imperfect:
        # A proof takes every role to see the state.
        values = proven_values(machine)
        proven["proven_value"] = values and dict(zip(map(write, machine.roles), values, strict=True))
    return {
        "stage_seconds": machine.game.stage_seconds,
        "reached": {
            "facts": reached.facts,
            "possible_facts": reached.possible_facts,
            "moves": reached.moves,
            "possible_moves": reached.possible_moves,
        },
        "latches": reached.latches,
        "never_legal": reached.never_legal,
        **proven,
        **structure,
    }


def _kind(machine: StateMachine, found: Sample) -> str:
    return "one player" if len(machine.roles) == 1 else f"{len(machine.roles)} players, {found.kind}"


def _size(sheet: Sheet, machine: StateMachine) -> dict[str, int]:
    size = {"statements": len(sheet.rulesheet), "rules": len(sheet.checked.rules)}
    if isinstance(machine, CircuitMachine):
        game = machine.game
        size |= {
            "facts": len(game.fluents) + len(game.always),
            "moves": sum(map(len, game.moves)),
            "circuit_edges": game.edges,
        }
        if machine.lean is not None:
            lean = machine.lean.game
            size |= {"facts_searched": len(lean.fluents) + len(lean.always), "edges_searched": lean.edges}
    return size


def _family(machine: StateMachine) -> tuple[str | None, dict[str, str]]:
    """The family of a game; without one, the reasons by title."""
    refusals: dict[str, str] = {}
    if isinstance(machine, CircuitMachine):
        for family in families.FAMILIES:
            refusal = family.refusal(machine)
            if refusal is None:
                return family.name, {}
            refusals[family.title] = refusal
    return None, refusals


def _print(result: dict[str, Any]) -> None:
    labels = {
        key: key.replace("_", " ").replace(" per s", "/s").replace("cpu seconds", "CPU seconds") for key in result
    }
    labels |= _LABELS
    warnings = result["warnings"]
    missing = {"family": "none with native rules", "proven_value": f"none within {PROOF_SECONDS:g} s of search a role"}
    fields = [
        (labels[key], missing.get(key, "none") if value is None else _text(value))
        for key, value in result.items()
        if key not in _APART
    ]
    print_fields([*fields, ("warnings", str(len(warnings) or "none"))])
    print_remarks(warnings)
    print_remarks([f"error: {fault}" for fault in result["faults"]])
    if result["no_circuit"] is not None:
        _print_lines([f"no circuit: {result['no_circuit']}"])
    _print_lines([f"not recognised as {title}: {reason}" for title, reason in result["refusals"].items()])
    if "symmetries" in result:
        _print_lines(symmetry_lines(result["symmetries"]))
    if "parts" in result:
        _print_lines(part_lines(result["parts"]))


def _print_lines(lines: list[str]) -> None:
    screen = console()
    for line in lines:
        screen.print(line, soft_wrap=True, markup=False, highlight=False)


def _text(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(str, value))
        case dict() if not value:
            return "none"
        case dict():
            return ", ".join(f"{key.replace('_', ' ')} {number:,}" for key, number in value.items())
        case float() if value >= 100:
            return f"{value:,.0f}"
        case _:
            return str(value)
