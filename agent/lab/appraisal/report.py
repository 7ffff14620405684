"""The report of an appraisal: figures, problems and plots, as data and for people."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from agent.lab.appraisal.figures import Figure, figures
from agent.lab.appraisal.match import Played, PlayedMatch, RandomSurvey, Seen
from agent.lab.appraisal.plots import plots
from agent.lab.appraisal.problems import SheetProblem, problems
from agent.lab.progress import Pace
from agent.lab.tables import print_table
from agent.sheet import Sheet
from games.roles import is_random_role
from protocol.kif import write


@dataclass
class Report:
    """All that is known so far."""

    sheet: Sheet
    planned: int
    """Number of matches to be played."""
    matches: list[PlayedMatch] = field(default_factory=list)
    seconds: float = 0.0
    done: bool = False
    """Whether no match will be added."""
    pace: Pace | None = None
    lost: int = 0
    """Matches missing because their workers ended twice."""
    _seen: Seen = field(default_factory=Seen)
    _unknown: frozenset[int] = frozenset()
    _survey: RandomSurvey | None = None

    def add(self, played: Played) -> None:
        """Counts a match."""
        self.matches.append(played.match)
        self._seen = Seen(
            self._seen.positions + played.seen.positions,
            self._seen.fired | played.seen.fired,
            self._seen.legal | played.seen.legal,
        )
        self._unknown |= played.unknown
        self._survey = self._survey or played.survey

    @property
    def roles(self) -> list[str]:
        """Roles of players."""
        return [write(role) for role in self.sheet.roles if not is_random_role(role)]

    @property
    def figures(self) -> list[Figure]:
        """Figures, in the order in which they are shown."""
        return figures(self.roles, self.matches)

    @property
    def problems(self) -> list[SheetProblem]:
        """Problems of the rules, the gravest first; what never happened is told once a match was played."""
        if not self.matches and not self.lost:
            return []
        return problems(self.sheet, self.roles, self.matches, self._seen, self._unknown, self._survey, self.lost)

    def as_json(self) -> dict[str, object]:
        """Returns the report as data."""
        matches = sorted(self.matches, key=lambda match: match.number)
        return {
            "game": self.sheet.name,
            "roles": self.roles,
            "matches": len(matches),
            "of": self.planned,
            "seconds": round(self.seconds, 1),
            "seconds_left": None if self.pace is None or self.done else self.pace.seconds_left,
            "done": self.done,
            "figures": [asdict(figure) for figure in self.figures],
            "problems": [asdict(problem) for problem in self.problems],
            "plots": plots(self.roles, matches),
        }

    def whole(self) -> dict[str, object]:
        """Returns the report with all matches, as data."""
        played = sorted(self.matches, key=lambda match: match.number)
        return {**self.as_json(), "played": [asdict(match) for match in played]}


def describe(report: Report) -> str:
    """Returns a line about the newest match, and how it stands."""
    match = report.matches[-1]
    if match.outcome == "finished":
        result = ", ".join(f"{role} {goal}" for role, goal in zip(report.roles, match.goals, strict=True))
    else:
        result = "no end" if match.outcome == "endless" else f"{', '.join(match.stuck)} without a move"
    if match.strong is not None:
        result += f" (strong: {report.roles[match.strong]})"
    first = report.figures[0]
    standing = "" if first.value is None else f"; {first.name} {_number(first)}"
    return f"{result} after {match.plies} plies, {match.seconds:.0f} s{standing}"


def show(report: Report) -> None:
    """Prints figures and problems."""
    print_table(["", f">{report.sheet.name}", ">95 %", "is"], [_row(figure) for figure in report.figures])
    found = report.problems
    print(f"\nproblems of the rules: {len(found) or 'none'}")
    for problem in found:
        print(f"  line {problem.line}: {problem.text}" if problem.line is not None else f"  {problem.text}")
    print(f"{len(report.matches)} matches in {report.seconds:.0f} s", flush=True)


def _row(figure: Figure) -> list[str]:
    interval = "-" if figure.low is None or figure.high is None else f"{_short(figure.low)}..{_short(figure.high)}"
    meaning = f"{figure.definition} [{figure.source}]"
    return [figure.name, _number(figure), interval, meaning if figure.reason is None else f"({figure.reason})"]


def _number(figure: Figure) -> str:
    if figure.value is None:
        return "-"
    return f"{_short(figure.value)} {figure.unit}"


def _short(number: float) -> str:
    return f"{number:.1f}" if number < 1e5 else f"{number:.1e}"
