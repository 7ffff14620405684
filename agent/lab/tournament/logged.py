"""The page of a tournament that is over, or was interrupted: from its log."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from agent import bounded_json
from agent.errors import InputError
from agent.lab.tournament.contenders import Contender, parse_contender
from agent.lab.tournament.results import MatchResult, Settings, read_result
from agent.lab.tournament.showing import TournamentPage
from agent.web.gallery import key_of

MOST_BYTES = 1 << 30
"""Of a log that is read."""

_BEGINNING = b'{"seed": '
"""Of every line: the first of the settings."""

_BROKEN = (ValueError, TypeError, KeyError, AttributeError)


def read_tournament(path: Path) -> TournamentPage | None:
    """The tournament in a log; None where the file is something else. A last line that is not complete is left out.

    Raises `InputError` where it is a log that cannot be shown.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(_BEGINNING)) != _BEGINNING:
                return None
            file.seek(0)
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise InputError(f"{path} is too large to be shown")
    settings: Settings | None = None
    contenders: dict[str, Contender] = {}
    sources: dict[str, str] = {}
    results: list[MatchResult] = []
    try:
        for line in data[: data.rfind(b"\n") + 1].splitlines():
            row: dict[str, Any] = bounded_json.loads(line.decode())
            settings = Settings(**{field.name: row.pop(field.name) for field in fields(Settings)})
            result = read_result(row)
            for label, spec in zip(result.seats, result.specs, strict=True):
                contenders.setdefault(label, parse_contender(f"{label}={spec}", [spec.partition("@")[0]]))
            if result.rulesheet:
                sources.setdefault(result.game, result.rulesheet)
            results.append(result)
    except _BROKEN:
        if not results:
            return None
        raise InputError(f"{path}: line {len(results) + 1} is no match of a tournament") from None
    if settings is None:
        return None
    games = list(dict.fromkeys(result.game for result in results))
    page = TournamentPage(
        key_of(path.stem, str(path.resolve())), path.stem, list(contenders.values()), games, sources, settings
    )
    page.results = results
    return page
