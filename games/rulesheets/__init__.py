"""The project's own rulesheets (`*.kif`), written from descriptions of the games, and access to them."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

SUFFIX = ".kif"


def names() -> list[str]:
    """The names of the package's rulesheets, sorted."""
    return sorted(
        entry.name.removesuffix(SUFFIX) for entry in resources.files(__name__).iterdir() if entry.name.endswith(SUFFIX)
    )


def path(name: str) -> Path:
    """The file of the rulesheet `name`. Raises `KeyError` if there is none."""
    if name not in names():
        raise KeyError(name)
    return Path(str(resources.files(__name__) / f"{name}{SUFFIX}"))


def text(name: str) -> str:
    """The text of the rulesheet `name`. Raises `KeyError` if there is none."""
    return path(name).read_text(encoding="utf-8")
