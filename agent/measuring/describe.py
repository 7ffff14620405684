"""The `inspect` command: what the agent makes of a rulesheet."""

from __future__ import annotations

from agent.console import print_fields, print_remarks
from agent.measuring.insight import proven_values, reached_by, stage_seconds
from agent.measuring.playouts import speed_of
from agent.measuring.sampling import Sample, sample
from agent.measuring.timing import timed
from agent.search.registry import engines_for
from agent.sheet import Sheet, load
from games.families import FAMILIES
from games.gdl.running.machine import CircuitMachine
from games.machine import StateMachine
from protocol.kif import write

_LABELS = {
    "reached": "reached by random play",
    "latches": "stay once true",
    "never_legal": "moves never legal",
}
"""Where the keys of the data are no words for people."""

PLAYOUT_SECONDS = 1.0
"""CPU seconds for which random playouts are measured."""


def describe(file: str) -> dict[str, object]:
    """Prints a rulesheet's roles, kind, size, engine, set-up time, playout speed, what random matches reach, the proven
    value of a small game, and warnings; returns them as JSON data.

    `file` is a rulesheet file or the name of an own rulesheet. Raises `InputError` and `GameError`.
    """
    sheet, reading = timed(lambda: load(file))
    machine, setup = timed(sheet.machine)
    found = sample(machine)
    family, recognising = timed(lambda: _family(machine))
    speed = speed_of(machine, PLAYOUT_SECONDS)
    result: dict[str, object] = {
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
        "family": family,
        "engine": next(engines_for(machine, 0)).name,
        "setup_cpu_seconds": round(reading + setup, 4),
        "recognition_cpu_seconds": round(recognising, 4),
        "playouts_per_s": round(speed.playouts_per_s, 2),
        "transitions_per_s": round(speed.transitions_per_s, 2),
        **_insights(sheet, machine),
        "warnings": sheet.warnings(),
    }
    _print(result)
    return result


def _insights(sheet: Sheet, machine: StateMachine) -> dict[str, object]:
    """What takes a circuit to find out."""
    if not isinstance(machine, CircuitMachine):
        return {}
    # Before the search, which has threads: this forks.
    stages = stage_seconds(sheet.checked)
    reached = reached_by(machine)
    values = proven_values(machine)
    return {
        "stage_seconds": stages,
        "reached": {
            "facts": reached.facts,
            "possible_facts": reached.possible_facts,
            "moves": reached.moves,
            "possible_moves": reached.possible_moves,
        },
        "latches": reached.latches,
        "never_legal": reached.never_legal,
        "proven_value": values and dict(zip(map(write, machine.roles), values, strict=True)),
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
    return size


def _family(machine: StateMachine) -> str | None:
    if isinstance(machine, CircuitMachine):
        for family in FAMILIES:
            if family.recognise(machine) is not None:
                return family.name
    return None


def _print(result: dict[str, object]) -> None:
    labels = {
        key: key.replace("_", " ").replace(" per s", "/s").replace("cpu seconds", "CPU seconds") for key in result
    }
    labels |= _LABELS
    warnings = result["warnings"]
    assert isinstance(warnings, list)
    fields = [(labels[key], _text(value)) for key, value in result.items() if key != "warnings"]
    print_fields([*fields, ("warnings", str(len(warnings) or "none"))])
    print_remarks(warnings)


def _text(value: object) -> str:
    match value:
        case None:
            return "none"
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
