"""Files for systemd and for containers."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from agent.commands.serve import add

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def systemd_analyze() -> str:
    """The program that looks at units."""
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("needs systemd-analyze")
    return tool


def test_systemd_has_nothing_to_say_about_the_units(systemd_analyze: str, tmp_path: Path) -> None:
    """Every key stands in a section that knows it: others are ignored."""
    program = shutil.which("true")
    assert program is not None
    units = []
    for unit in sorted((ROOT / "contrib" / "systemd").iterdir()):
        units.append(tmp_path / unit.name)
        units[-1].write_text(re.sub(r"(?<=^ExecStart=)\S+", program, unit.read_text(), flags=re.MULTILINE))
    verified = subprocess.run([systemd_analyze, "verify", "--man=no", *units], capture_output=True, text=True)
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")


def test_service_has_no_more_rights_than_it_needs(systemd_analyze: str) -> None:
    """Its exposure, from 0 to 10, is 2 at most; the network, and memory that is written and executed, are 1 of it."""
    unit = ROOT / "contrib" / "systemd" / "ggp-agent.service"
    told = subprocess.run(
        [systemd_analyze, "security", "--offline=true", "--threshold=20", unit], capture_output=True, text=True
    )
    assert told.returncode == 0, told.stdout + told.stderr


def test_image_is_built_from_what_it_copies_alone() -> None:
    """The build context holds what the image copies, and neither `.git` nor an environment."""
    recipe = (ROOT / "contrib" / "container" / "Containerfile").read_text()
    copied = [name for names in re.findall(r"^COPY (.+) \S+$", recipe, re.MULTILINE) for name in names.split()]
    everything, *others = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] != "#"]
    assert everything == "*"
    assert [line[1:] for line in others if line.startswith("!")] == copied


def test_containers_trust_no_address_of_their_own() -> None:
    """The image's own options, and those that the documentation gives in their place: see `docs/container.md`."""
    recipe = (ROOT / "contrib" / "container" / "Containerfile").read_text()
    page = (ROOT / "docs" / "container.md").read_text()
    commands = [json.loads(*re.findall(r"^CMD (.+)", recipe, re.MULTILINE))]
    commands += [line.split() for line in re.findall(r"^ +(serve .+)", page, re.MULTILINE)]
    parser = argparse.ArgumentParser()
    add(parser.add_subparsers())
    assert [parser.parse_args(command).local_page for command in commands] == [False, False]
