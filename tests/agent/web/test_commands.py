"""The commands that show matches."""

from __future__ import annotations

import json
import re
import signal
import urllib.request
from pathlib import Path

import pytest

from agent.cli import main
from agent.commands.options import OK, WRONG_INPUT
from games import rulesheets

from .conftest import start_replay
from .test_pages import write_record


def test_replay_serves_records_until_it_is_interrupted(tmp_path: Path) -> None:
    """The link that is printed leads to the page of the only record; Ctrl-C ends it well."""
    record = write_record(tmp_path / "one.json", rulesheets.text("tic_tac_toe"))
    with start_replay(tmp_path) as process:
        assert process.stdout is not None
        link = re.search(r"1 match: (http://127\.0\.0\.1:\d+)/#/match/(\S+)", process.stdout.readline())
        assert link is not None
        with urllib.request.urlopen(f"{link[1]}/page/matches/{link[2]}", timeout=600) as response:
            assert json.load(response)["plies"] == len(record.moves)
        process.send_signal(signal.SIGINT)
        assert process.wait(600) == OK


@pytest.mark.parametrize(("name", "text"), [("missing.json", None), ("junk.json", "{}")])
def test_replay_says_what_is_wrong(
    tmp_path: Path, name: str, text: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files that are not there, or hold no match, end it at once."""
    if text is not None:
        (tmp_path / name).write_text(text)
    assert main(["replay", str(tmp_path / name)]) == WRONG_INPUT
    assert capsys.readouterr().err.strip()
