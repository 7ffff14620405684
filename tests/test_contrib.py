"""Files for systemd and for containers."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from agent.cli import make_parser
from agent.commands.configuration import with_configuration

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
    commands += [line.split() for line in re.findall(r" ggp-agent (serve .+)", page)]
    file = str(ROOT / "contrib" / "container" / "serve.toml")
    assert [configured(command, file).local_page for command in commands] == [False, False]


def configured(command: list[str], file: str) -> argparse.Namespace:
    """The options of a command, with another configuration file than the installed one."""
    return parsed([file if argument == "/etc/ggp-agent.toml" else argument for argument in command])


def parsed(command: list[str]) -> argparse.Namespace:
    """The options of `ggp-agent COMMAND`."""
    parser = make_parser()
    return parser.parse_args(with_configuration(command, parser))


def test_the_example_of_a_configuration_is_what_happens_without_one(tmp_path: Path) -> None:
    """With what is commented out, it is still understood."""
    example = (ROOT / "contrib" / "serve.toml").read_text()
    (tmp_path / "all.toml").write_text(re.sub(r"^# (?=[\w-]+ = )", "", example, flags=re.MULTILINE))
    assert vars(parsed(["serve", "--config", str(ROOT / "contrib" / "serve.toml")])) == vars(parsed(["serve"]))
    everything = parsed(["serve", "--config", str(tmp_path / "all.toml"), "--port", "1"])
    assert (everything.port, everything.workers, everything.local_page, everything.log_json) == (1, 2, False, True)
    assert [str(network) for network in everything.allow] == ["192.0.2.0/24", "2001:db8::/32"]
