"""Errors and warnings about a rulesheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from games.machine import RulesError


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or oddity of a rulesheet."""

    severity: Literal["error", "warning"]
    message: str
    path: tuple[int, ...]
    """Place: index of the statement, then indices of sub-terms; empty for the whole rulesheet."""

    def __str__(self) -> str:
        return f"{self.severity}: {self.message}"


class InvalidRulesError(RulesError):
    """The rulesheet has no meaning; `diagnostics` has the reasons."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        errors = [d.message for d in self.diagnostics if d.severity == "error"]
        more = f" (and {len(errors) - 3} more)" if len(errors) > 3 else ""
        super().__init__("; ".join(errors[:3]) + more)
