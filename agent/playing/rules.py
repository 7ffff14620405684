"""Checks the rules of a START, or tells why they cannot be played."""

from __future__ import annotations

import logging

from agent.playing.messages import Refused
from games.gdl.rules.check import CheckedRules, check
from games.gdl.rules.diagnostics import InvalidRulesError
from protocol.kif import write
from protocol.messages import Start

log = logging.getLogger(__name__)

LONGEST_REASON = 2000
"""Most characters of a refusal: terms may be as long as a stranger likes."""


def check_rules(start: Start) -> CheckedRules | Refused:
    """Checks the rules and the role of a START; logs warnings."""
    try:
        checked = check(start.rules)
    except InvalidRulesError as error:
        found = [d for d in error.diagnostics if d.severity == "error"]
        places = [f"{place(start, d.path)}{d.message}" for d in found[:5]]
        return Refused(("; ".join(places) or str(error))[:LONGEST_REASON])
    except Exception as error:
        log.exception("the rules cannot be checked")
        return Refused(f"{type(error).__name__} while the rules were checked")
    for diagnostic in checked.diagnostics[:20]:
        log.warning("%s%s", place(start, diagnostic.path), diagnostic.message)
    if start.role not in checked.roles:
        roles = ", ".join(map(write, checked.roles))
        return Refused(f"there is no role {write(start.role)}, only {roles}"[:LONGEST_REASON])
    return checked


def place(start: Start, path: tuple[int, ...]) -> str:
    """Returns the place of a part of the rules in the received text, as a prefix of a message about it."""
    if not path or not start.source:
        return ""
    position = start.locate(path)
    return f"line {position.line}, column {position.column}: "
