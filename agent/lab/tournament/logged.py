"""The page of a tournament made from its log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.errors import InputError
from agent.lab.tournament.contenders import Contender
from agent.lab.tournament.log import read_matches, tell_damaged
from agent.lab.tournament.results import MatchResult, Settings, read_result, read_settings
from agent.lab.tournament.showing import TournamentPage
from agent.web.gallery import key_of

MOST_BYTES = 1 << 30
"""Size of a log, at most."""

_BEGINNING = b'{"seed": '
"""Beginning of every line: the first of the settings."""


def read_tournament(path: Path) -> TournamentPage | None:
    """Returns the tournament of a log; None for any other file. Ignores an incomplete last line, and tells of damaged
    ones.

    Raises `InputError` for a log that cannot be shown.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if _BEGINNING not in data:
        return None
    if len(data) > MOST_BYTES:
        raise InputError(f"{path} is too large to be shown")
    matches, damaged = read_matches(data, _read_match)
    if not matches:
        return None
    tell_damaged(path, damaged)
    contenders: dict[str, Contender] = {}
    sources: dict[str, str] = {}
    results = [result for _, result in matches]
    for result in results:
        for label, spec in zip(result.seats, result.specs, strict=True):
            # The page asks for names only: an engine of others is spelled in any way.
            contenders.setdefault(label, Contender(label, spec, "outside"))
        if result.rulesheet:
            sources.setdefault(result.game, result.rulesheet)
    games = list(dict.fromkeys(result.game for result in results))
    settings, _ = matches[-1]
    page = TournamentPage(
        key_of(path.stem, str(path.resolve())), path.stem, list(contenders.values()), games, sources, settings
    )
    page.results = results
    return page


def _read_match(row: dict[str, Any]) -> tuple[Settings, MatchResult]:
    return read_settings(row), read_result(row)
