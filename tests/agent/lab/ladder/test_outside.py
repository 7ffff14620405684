"""Engines of others: their moves, their rules, their end."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from agent.errors import CommandError, InputError
from agent.lab.ladder import named, uci
from agent.lab.ladder.kept import kept_values
from agent.lab.ladder.named import make_outside
from agent.lab.ladder.rules import check_rules
from agent.lab.ladder.uci import UciEngine
from agent.lab.tournament.results import MatchResult
from protocol.kif import read_one
from tests.agent.lab.ladder import games
from tests.agent.lab.ladder.games import HEAP, RACE, HeapEngine
from tests.matches import interpreter_of
from tests.processes import PATIENCE, runs, until

FAKE = Path(__file__).with_name("fake_uci.py")

StartFake = Callable[..., UciEngine]


@pytest.fixture
def fake() -> Iterator[StartFake]:
    """Starts the fake engine with options."""
    with ExitStack() as stack:

        def start(kind: type[UciEngine] = UciEngine, **options: str) -> UciEngine:
            engine = kind([sys.executable, str(FAKE)], options)
            stack.callback(engine.close)
            return engine

        yield start


class Turned(UciEngine):
    """Names files by letters from the right."""

    def square(self, file: str, rank: str) -> str:
        return f"{' cba'[int(file)]}{rank}"


def test_moves_between_cells_are_spelled(fake: StartFake) -> None:
    """Numbers and letters of files are read, words have no spelling, other forms are left to a file of the user's."""
    engine = fake()
    for text, spelled in {"(move 1 2 1 3)": "a2a3", "(move h 7 g 8)": "h7g8", "noop": None}.items():
        assert engine.spell("white", read_one(text)) == spelled
    with pytest.raises(InputError, match=r"\(drop 3\): not from a file and a rank to another"):
        engine.spell("white", read_one("(drop 3)"))
    assert fake(Turned).spell("white", read_one("(move 1 2 2 3)")) == "c2b3"


def test_an_engine_of_the_same_rules_is_accepted(fake: StartFake) -> None:
    """Legal moves and results agree in random matches; so they do on a board that looks the same from the left."""
    check_rules(fake(), interpreter_of(RACE), 10)
    check_rules(fake(Turned), interpreter_of(RACE), 10)
    check_rules(HeapEngine(), interpreter_of(HEAP))


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        ({"Without": "b1b2"}, "in the first position: the rulesheet alone has b1b2, the engine alone none"),
        ({"Misere": "true"}, "has another result after .*: .* gets 100 and the other 0, and 0 points of the engine"),
    ],
)
def test_an_engine_of_other_rules_is_refused(fake: StartFake, options: dict[str, str], difference: str) -> None:
    """The first difference is told with the moves that lead to it."""
    with pytest.raises(InputError, match=difference):
        check_rules(fake(**options), interpreter_of(RACE))


def test_an_engine_that_plays_on_is_refused() -> None:
    """Where the rulesheet's match is over, the engine's has to be."""

    class Endless(HeapEngine):
        def legal(self, line: Sequence[str]) -> Collection[str]:
            return super().legal(line) or ["3"]

    with pytest.raises(InputError, match="the rulesheet alone has no move: the game is over, the engine alone 3"):
        check_rules(Endless(), interpreter_of(HEAP))


def test_an_engine_passes_where_nobody_has_a_move() -> None:
    """A rulesheet says nothing of passes: the engine names its own."""

    class Passing(HeapEngine):
        def legal(self, line: object) -> list[str]:
            return ["1", "a1a1"]

        def is_pass(self, move: str) -> bool:
            return move == "a1a1"

    assert Passing().after(["1"], ("one", "two"), ("noop", "noop")) == ["1", "a1a1"]
    assert Passing().after(["1"], ("one", "two"), ("noop", ("take", "2"))) == ["1", "2"]


def test_a_uci_engine_is_asked_by_nodes_or_by_time(fake: StartFake) -> None:
    """The answer is the move, whatever else the engine says; ended, it is said to have."""
    engine = fake(Ends="2")
    assert engine.choose(["b1b2"], 100) == "a4a3"
    with pytest.raises(CommandError, match="has ended, after `go nodes 100`"):
        engine.choose(["b1b2", "a4a3"], 100)


def test_engines_that_answer_otherwise_are_named(fake: StartFake) -> None:
    """Without a move, and where `go perft 1` makes them play."""
    assert fake(Says="bestmove").choose([], 100) == ""
    with pytest.raises(CommandError, match="does not know `go perft 1`, and answers `bestmove a1a2`"):
        fake(Says="bestmove_a1a2").legal([])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"x = 'Jos\xe9'\n", "engine.py failed: SyntaxError: .*utf-8"),
        (b"import os\nos.nothing\n", "engine.py failed: AttributeError: module 'os' has no attribute 'nothing'"),
        (b"import no_such_package\n", "engine.py failed: ModuleNotFoundError: No module named 'no_such_package'"),
        (b"def make(options): return 1 / 0\n", "engine.py failed: ZeroDivisionError: division by zero"),
    ],
)
def test_the_error_of_a_file_is_told(text: bytes, error: str, tmp_path: Path) -> None:
    """In one line, with its kind."""
    (tmp_path / "engine.py").write_bytes(text)
    with pytest.raises(CommandError, match=error):
        make_outside(str(tmp_path / "engine.py"), {})


def test_a_command_may_end_in_the_name_of_a_python_file() -> None:
    """It is no file then; a quote that is not closed is told."""
    with closing(make_outside(f"{sys.executable} {FAKE}", {})) as engine:
        assert engine.name == Path(sys.executable).name
    with pytest.raises(CommandError, match='engine "x failed: ValueError: No closing quotation'):
        make_outside('engine "x', {})


SILENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
open(sys.argv[1], "w").write(str(child.pid) + "\\n")
child.wait()
"""
"""An engine that starts another one, and says nothing."""


def test_an_engine_that_says_nothing_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ended, with all that it has started."""
    monkeypatch.setattr(uci, "SILENT_SECONDS", 2.0)
    told = tmp_path / "child"
    with pytest.raises(CommandError, match="has said nothing for 2 s"):
        UciEngine([sys.executable, "-c", SILENT, str(told)], {})
    # On a busy machine it may not have got that far.
    until(lambda: not (told.exists() and told.read_text() and runs(int(told.read_text()))))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_engine_ends_with_a_series_that_is_interrupted_at_its_start(number: signal.Signals, tmp_path: Path) -> None:
    """Also one that reads nothing, and what it has started."""
    told = tmp_path / "child"
    code = f"from agent.lab.ladder.uci import UciEngine; UciEngine({[sys.executable, '-c', SILENT, str(told)]!r}, {{}})"
    # Ctrl-C may be ignored where the tests were started.
    code = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {code}"
    series = subprocess.Popen([sys.executable, "-c", code], cwd=FAKE.parents[4], stderr=subprocess.DEVNULL)
    until(lambda: told.exists() and told.read_text().endswith("\n"))
    series.send_signal(number)
    series.wait(PATIENCE)
    until(lambda: not runs(int(told.read_text())))


def test_options_that_an_engine_lacks_are_refused(fake: StartFake) -> None:
    """So are commands that are none, and files without an engine."""
    with pytest.raises(InputError, match="has no option Variant; it has: Misere, Without, Ends, Says"):
        fake(Variant="race")
    with pytest.raises(InputError, match="no_such_engine: No such file"):
        make_outside("no_such_engine --fast", {})
    with pytest.raises(InputError, match="has no function make"):
        make_outside(__file__, {})
    with pytest.raises(InputError, match=r"nowhere\.py: No such file"):
        make_outside("nowhere.py", {})
    assert make_outside(games.__file__, {"heap": "8"}).legal(["2"] * 3) == ["1", "2"]


def test_engines_of_other_packages_have_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point makes them."""
    point = EntryPoint("heaps", f"{games.__name__}:make", named.ENTRY_POINTS)
    monkeypatch.setattr(named, "entry_points", lambda **found: EntryPoints([point]).select(**found))
    assert make_outside("heaps", {}).name == "heaps"
    with pytest.raises(InputError, match="heap: No such file"):
        make_outside("heap", {})


def test_moves_that_keep_the_value_are_counted() -> None:
    """Only moves of the player count, after the opening, where something could be lost."""
    moves = [["(take 1)", "noop"], ["noop", "(take 1)"], ["(take 1)", "noop"], ["noop", "(take 1)"]]
    moves += [["(take 2)", "noop"], ["noop", "(take 1)"]]
    result = MatchResult(
        "heap", 1, ["us", "heaps"], ["", ""], "", ["one", "two"], "finished", [0, 100], moves[:1], moves[1:], [], 1.0
    )
    # From heaps of 6 and 3 all moves lose. From 5 the first role should have taken 2; from 4 the second takes 1.
    assert kept_values(HeapEngine(), interpreter_of(HEAP), result, "us") == [False]
    assert kept_values(HeapEngine(), interpreter_of(HEAP), result, "heaps") == [True]
