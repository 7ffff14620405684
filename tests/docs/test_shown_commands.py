"""README and docs show commands that exist, with options that exist; those that end by themselves run."""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from agent.cli import make_parser

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "contrib").rglob("*"))]

HISTORY = ("experiments.md", "strength.md")
"""Pages of past measurements, with the commands of their time."""

SHEET = ROOT / "games" / "rulesheets" / "tic_tac_toe.kif"

STANDS_FOR = {"GAME": "tic_tac_toe", "FILE": str(SHEET), "FILE|DIR..": str(SHEET), "GAME..": "tic_tac_toe"}
"""An example of each placeholder."""


def shown(page: Path) -> list[str]:
    """The commands that a page shows as lines of code, without what they are started with or piped into."""
    text = re.sub(r"\\\n\s*", "", page.read_text(encoding="utf-8"))
    lines = re.findall(r"^ {4}(?!podman)(?:.*[ /])?ggp-agent (.*)$", text, re.MULTILINE)
    return [re.split(r" {3,}| \| | >", line)[0].strip() for line in lines]


def named(page: Path) -> list[str]:
    """The commands that a page names in its sentences and tables."""
    text = page.read_text(encoding="utf-8")
    return [" ".join(words.split()) for words in re.findall(r"`ggp-agent ([^`]+)`", text) if "..." not in words]


def parser_of(words: list[str]) -> tuple[argparse.ArgumentParser, list[str]]:
    """The parser of the command that words begin with, and the words after its name. Raises `KeyError`."""
    parser = make_parser()
    while words and not words[0].startswith("-"):
        below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        if not below:
            break
        parser, words = below[0].choices[words[0]], words[1:]
    return parser, words


CURRENT = [page for page in PAGES if page.is_file() and page.name not in (*HISTORY, "commands.md")]
SHOWN = [(page, line) for page in CURRENT for line in shown(page)]
NAMED = [(page, line) for page in CURRENT for line in named(page)]


@pytest.mark.parametrize(("page", "line"), SHOWN, ids=[line for _, line in SHOWN])
def test_shown_command_is_accepted(page: Path, line: str) -> None:
    """The command line takes it as it stands, placeholders apart."""
    words = [STANDS_FOR.get(word, word) for word in shlex.split(line)]
    try:
        make_parser().parse_args(words)
    except SystemExit:
        pytest.fail(f"{page.relative_to(ROOT)}: ggp-agent {line}")


def test_named_commands_and_options_exist() -> None:
    """What sentences and tables name in passing is there."""
    wrong = []
    for page, line in NAMED:
        words = [word for word in line.split() if word != "COMMAND"]
        try:
            parser, rest = parser_of(words)
        except KeyError as error:
            wrong.append(f"{page.name}: ggp-agent {line}: {error}")
            continue
        options = [word.split("=")[0] for word in rest if word.startswith("--")]
        wrong += [f"{page.name}: ggp-agent {line}: {o}" for o in options if o not in parser._option_string_actions]
    assert NAMED
    assert wrong == []


ENDS = ("inspect", "validate", "match reversi")
"""Beginnings of shown commands that end by themselves. Tournaments shown need a server, or an engine of their page."""


@pytest.mark.e2e
@pytest.mark.parametrize("line", sorted({line for _, line in SHOWN if line.startswith(ENDS)}))
def test_shown_command_runs(line: str, tmp_path: Path) -> None:
    """It ends with status 0."""
    for name in ("my_game.kif", "stones.kif"):
        (tmp_path / name).write_text(SHEET.read_text())
    words = [STANDS_FOR.get(word, word) for word in shlex.split(line)]
    done = subprocess.run(
        [sys.executable, "-m", "agent.cli", *words], cwd=tmp_path, capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0, done.stderr
