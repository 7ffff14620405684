"""Problems of a rulesheet that its matches show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from agent.lab.appraisal.match import PlayedMatch, RandomSurvey, Seen
from agent.sheet import Sheet
from protocol.sheets import span
from protocol.terms import position_of

FEW_MATCHES = 5
"""Least number of ended matches after which a role's low goals are remarkable."""

SHOWN_MOVES, SHOWN_TEXT = 5, 100
"""Most moves that are named, and most characters of a rule that are shown."""


@dataclass(frozen=True)
class SheetProblem:
    """A remark about a rulesheet."""

    kind: str
    """`endless`, `stuck`, `low`, `rule`, `move`, `unknown`, `weak`, `failed` or `lost`."""
    text: str
    line: int | None = None
    """Line of the rulesheet, from 1."""


def problems(
    sheet: Sheet,
    roles: Sequence[str],
    matches: Sequence[PlayedMatch],
    seen: Seen,
    unknown: frozenset[int] = frozenset(),
    survey: RandomSurvey | None = None,
    lost: int = 0,
) -> list[SheetProblem]:
    """Returns all problems, the gravest first. `roles` are those of players; `seen` is of all matches together."""
    weak = survey is not None and not survey.matches
    survey = survey or RandomSurvey()
    found = [*_endings(matches, survey), *_stuck(matches, survey), *_low(roles, matches, survey)]
    found += _rules(sheet, seen, unknown, survey)
    found += _moves(roles, seen, survey)
    if weak:
        text = "the rules are too large to be compiled: the matches were played weakly, by Monte-Carlo search"
        found.append(SheetProblem("weak", text))
    if failed := sum(match.errors for match in matches):
        found.append(SheetProblem("failed", f"the search failed at {failed} moves, which were played at random"))
    if lost:
        found.append(SheetProblem("lost", f"{lost} matches are missing: their workers ended twice"))
    return found


def _endings(matches: Sequence[PlayedMatch], survey: RandomSurvey) -> list[SheetProblem]:
    endless = [match for match in matches if match.outcome == "endless"]
    if not endless:
        return []
    text = f"{len(endless)} of {len(matches)} matches had no end within {endless[0].plies} plies"
    if survey.matches:
        text += f"; of {survey.matches} random matches {survey.ended} ended"
    return [SheetProblem("endless", text)]


def _stuck(matches: Sequence[PlayedMatch], survey: RandomSurvey) -> list[SheetProblem]:
    counts = Counter(role for match in matches for role in match.stuck)
    found = [
        SheetProblem("stuck", f"{role} had no legal move before the end in {count} of {len(matches)} matches")
        for role, count in counts.items()
    ]
    return found + [
        SheetProblem("stuck", f"{role} had no legal move before the end in some random match")
        for role in survey.stuck
        if role not in counts
    ]


def _low(roles: Sequence[str], matches: Sequence[PlayedMatch], survey: RandomSurvey) -> list[SheetProblem]:
    ended = [match for match in matches if match.outcome == "finished"]
    if len(ended) < FEW_MATCHES:
        return []
    found = []
    for number, role in enumerate(roles):
        lowest = min(match.lowest[number] for match in ended)
        best = [match.goals[number] for match in ended] + ([survey.best[number]] if survey.best else [])
        if max(best) <= lowest:
            random = f" and {survey.ended} random ones" if survey.best else ""
            text = f"{role} never got more than its lowest goal, {lowest}, in {len(ended)} matches{random}"
            found.append(SheetProblem("low", text))
    return found


def _rules(sheet: Sheet, seen: Seen, unknown: frozenset[int], survey: RandomSurvey) -> list[SheetProblem]:
    found = []
    for kind, statements, told in (
        ("rule", survey.rules - seen.fired - survey.seen.fired - unknown, f"never fired in {_places(seen, survey)}"),
        ("unknown", unknown, "takes too long to tell whether it fires"),
    ):
        for statement in sorted(statements):
            line, text = _statement(sheet.source, statement)
            found.append(SheetProblem(kind, f"{told}: {text}", line))
    return found


@lru_cache(4096)
def _statement(source: str, index: int) -> tuple[int, str]:
    """Line and beginning of a statement; kept, as each report tells it again."""
    start, end = span(source, (index,))
    text = " ".join(source[start:end].split())
    shown = text if len(text) <= SHOWN_TEXT else text[: SHOWN_TEXT - 3] + "..."
    return position_of(source, start).line, shown


def _moves(roles: Sequence[str], seen: Seen, survey: RandomSurvey) -> list[SheetProblem]:
    legal = seen.legal | survey.seen.legal
    found = []
    for number, moves in enumerate(survey.moves):
        never = [move for move in moves if (number, move) not in legal]
        if never:
            named = ", ".join(never[:SHOWN_MOVES]) + (", .." if len(never) > SHOWN_MOVES else "")
            what = f"{len(never)} of {len(moves)} moves of {roles[number]} were never legal"
            found.append(SheetProblem("move", f"{what} in {_places(seen, survey)}: {named}"))
    return found


def _places(seen: Seen, survey: RandomSurvey) -> str:
    random = f", nor in {survey.matches} random matches" if survey.matches else ""
    return f"{seen.positions} positions{random}"
