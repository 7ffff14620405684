"""The page of a tournament made from its log."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from agent import bounded_json
from agent.errors import InputError
from agent.lab.tournament.contenders import Contender, parse_contender
from agent.lab.tournament.results import MatchResult, Settings, read_result, read_settings
from agent.lab.tournament.showing import TournamentPage
from agent.web.gallery import key_of

MOST_BYTES = 1 << 30
"""Size of a log, at most."""

_BEGINNING = b'{"seed": '
"""Beginning of every line: the first of the settings."""

_BROKEN = (ValueError, TypeError, KeyError, AttributeError)


def read_tournament(path: Path) -> TournamentPage | None:
    """Returns the tournament of a log; None for any other file. Ignores an incomplete last line.

    Raises `InputError` for a log that cannot be shown.
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
            settings = read_settings(row)
            result = read_result(row)
            for label, spec in zip(result.seats, result.specs, strict=True):
                contenders.setdefault(label, parse_contender(f"{label}={spec}", [re.split("[@+]", spec)[0]]))
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
