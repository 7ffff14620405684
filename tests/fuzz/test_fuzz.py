"""Whatever bytes come, they are read as a message or refused, and every request is answered or its connection closed.

A bounded part of what `python -m tests.fuzz.run` does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.messages import TextError, parse
from tests.fuzz import run
from tests.fuzz.checks import check_journal, check_message, check_terms
from tests.fuzz.inputs import Mutator, composed, requests
from tests.fuzz.run import LAYERS, Report

SYNTAX = st.text(alphabet=st.sampled_from('()[]"\\;%~&|,.:-?_aX1 \n\r\t\x00\u2028\ufeff'), max_size=300)
"""Texts in which every character has a meaning."""

ARGUMENT = st.recursive(
    st.sampled_from(["NIL", "nil", "a", "?x", "X", "17", "-1", "1.5", "999999999", "()", '"', ":-", "~", "\xff"]),
    lambda parts: st.lists(parts, max_size=4).map(lambda items: f"({' '.join(items)})"),
    max_leaves=12,
)

MESSAGE = st.builds(
    lambda name, arguments: f"({name} {' '.join(arguments)})",
    st.sampled_from(["INFO", "ping", "PREVIEW", "Start", "PLAY", "stop", "ABORT", "LAUNCH"]),
    st.lists(ARGUMENT, max_size=7),
)

LENIENT = settings(derandomize=True, max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@LENIENT
@given(st.one_of(st.binary(max_size=300), SYNTAX.map(str.encode), MESSAGE.map(str.encode)))
def test_any_text_is_a_message_or_refused(text: bytes) -> None:
    """With a place in the text and one line for the log; a message means the same when it is composed again."""
    check_message(text)


@LENIENT
@given(st.one_of(st.binary(max_size=300), SYNTAX.map(str.encode)))
def test_any_text_is_a_rulesheet_or_refused(text: bytes) -> None:
    """In both syntaxes."""
    check_terms(text)


@pytest.mark.parametrize("layer", LAYERS)
def test_mutated_messages_break_nothing(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No exception, nothing unanswered, no traceback and no endless line in the log."""
    # How long something takes is for the long run to find out: it has the machine to itself.
    monkeypatch.setattr(run, "SLOW", float("inf"))
    report = run.run(layer, 150, seed=1)
    assert report.faults == []
    assert report.inputs >= 150
    assert sum(report.outcomes.values()) == report.inputs
    assert len(report.outcomes) > 1


def test_same_seed_means_the_same_inputs() -> None:
    """What the long run finds can be found again."""
    first, second = (Mutator(composed(100), Random(7)) for _ in range(2))
    assert [first.draw() for _ in range(50)] == [second.draw() for _ in range(50)]
    assert requests(Path("/nowhere"))


def test_fault_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """With the input that shows it, as Python reads it."""

    def break_down(text: bytes) -> str:
        raise RuntimeError("broken")

    report = Report()
    report.add(b"\xff", break_down)
    assert report.faults == ["RuntimeError: broken"]
    assert "b'\\xff'" in capsys.readouterr().out


@pytest.mark.parametrize(
    "unit", ['\\"', '"\\', "~", "f(", "a|", "a&b|", "[],", ";\n", "%\n", "()", ")", "a.b. ", ":-", "\u2028", "a:-b "]
)
def test_time_is_linear(unit: str, grows_by_less_than: Callable[[float, Callable[[int], object], int], bool]) -> None:
    """No text takes quadratic time, wherever it ends."""

    def read(count: int) -> None:
        for frame in ("start(m,r,[{}],1,1)", "(START m r ({}) 1 1)", 'f("{}', "{}"):
            with contextlib.suppress(TextError):
                parse(frame.format(unit * count))

    assert grows_by_less_than(10, read, 2500 // len(unit))


def test_journal_that_is_nonsense_is_left_alone(tmp_path: Path) -> None:
    """Valid JSON with values that make no sense is no reason not to start."""
    for text in (b'{"match": 3}\n', b"[" * 100_000 + b"\n", b'{"match": "m", "role": 7, "rules": []}\n', b"17\n"):
        assert check_journal(tmp_path, text) == "left alone"
