"""Writes `commands.md` beside this file, from the help texts of all commands: `python docs/make_commands.py`."""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path
from textwrap import wrap
from unittest import mock

from agent.cli import main
from agent.commands.options import own_rulesheets

PAGE = Path(__file__).with_name("commands.md")
WIDTH = 100

HEAD = """# Commands

Made from the help texts by `python docs/make_commands.py`. A NAME is one of the
{own}.
"""
"""Head of the page, with the line that the help texts of such commands end with."""


def page() -> str:
    """Returns the text of the page."""
    with mock.patch.dict(os.environ, {"COLUMNS": str(WIDTH), "XDG_STATE_HOME": "/home/you/.local/state"}):
        own = "\n".join(wrap(own_rulesheets(), WIDTH))
        return HEAD.format(own=own) + "".join(_sections([]))


def _sections(command: list[str]) -> list[str]:
    """Returns the section of a command, then those of the commands below it."""
    text = _help(command)
    title = " ".join(["ggp-agent", *command])
    sections = [f"\n## {title}\n\n```text\n{text}```\n"]
    below = re.search(r"^  (?:COMMAND|FAMILY)\n((?: {4}.*\n)+)", text, re.MULTILINE)
    for name in re.findall(r"^ {4}(\w+)", below[1], re.MULTILINE) if below else ():
        sections += _sections([*command, name])
    return sections


def _help(command: list[str]) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        main([*command, "--help"])
    return re.sub(r"\nown rulesheets: (?:.+\n)+", "", output.getvalue())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
