"""What commands fail with, as opposed to what goes wrong inside a match."""

from __future__ import annotations


class CommandError(Exception):
    """A command cannot do what it was asked; the text is for the person who asked.

    CommandError
    ├── InputError          what it was given makes no sense (a file, a rulesheet, an option)
    └── PlayerStartError    a built-in player did not come up
    """


def first_line(error: Exception) -> str:
    """The first line of what an error says; what kind it is where it says nothing."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


class InputError(CommandError):
    """What the command was given makes no sense."""


class PlayerStartError(CommandError):
    """A built-in player did not come up."""
