"""A rulesheet is recognised whatever its names and order, and not confused with others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.search.learning import canonical
from agent.search.learning.canonical import CanonicalForm, canonical_form
from games import rulesheets
from games.gdl.rules.check import check
from games.machine import Term
from protocol import kif
from protocol.scramble import ScrambleStyle
from protocol.terms import decode
from tests.games.gdl.disguise import disguised
from tests.matches import rules_of

WITHOUT_NATURE = [name for name in rulesheets.names() if "random" not in rules_of(rulesheets.text(name)).roles]

RULES = """
(role white) (role black)
(init (cell 1 1 empty)) (init (cell 2 1 empty)) (init (control white))
(beside left right) (beside right left)
(<= (legal ?role (go ?side)) (true (control ?role)) (beside ?side ?other) (or (true (cell 1 1 empty)) (free ?side)))
(<= (legal ?role noop) (role ?role) (not (true (control ?role))))
(<= (free ?side) (beside ?side ?other) (distinct ?side ?other) (true (cell ?x 1 empty)))
(<= (next (control black)) (true (control white)))
(<= (next (control white)) (true (control black)))
(<= (next (at ?role ?side)) (does ?role (go ?side)))
(<= terminal (true (at white ?side)) (true (at black ?side)))
(<= (goal white 100) terminal)
(<= (goal black 0) terminal)
"""


def form_of(statements: Sequence[Term], roles: Sequence[Term] = ("white", "black")) -> CanonicalForm:
    """The canonical form, which must exist."""
    form = canonical_form(statements, roles)
    assert form is not None
    return form


def facts(form: CanonicalForm, statements: Sequence[Term]) -> list[int]:
    """The keys of the statements that are facts."""
    return sorted(form.key(statement) for statement in statements if statement[0] != "<=")


@pytest.mark.parametrize("style", ["upper", "ggp-base", "dresden"])
@pytest.mark.parametrize("name", WITHOUT_NATURE)
def test_names_and_order_do_not_count(name: str, style: ScrambleStyle) -> None:
    """The digest stays; names that correspond have the same label, and facts the same key."""
    statements = kif.read_rulesheet(rulesheets.text(name))
    roles = check(statements).roles
    form = form_of(statements, roles)
    names = sorted(form.labels.keys() - {"base", "input"})
    for seed in range(2):
        others, renamed = disguised(statements, [*roles, *names], style, seed)
        form2 = form_of(others, renamed[: len(roles)])
        assert form2.digest == form.digest
        assert sorted(form2.labels.values()) == sorted(form.labels.values())
        assert facts(form2, others) == facts(form, statements)
        if name != "rock_paper_scissors":
            # In that game the names are interchangeable.
            assert [form2.labels[str(new)] for new in renamed[len(roles) :]] == [form.labels[old] for old in names]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(goal white 100)", "(goal white 50)"),
        ("(cell 2 1 empty)", "(cell 1 2 empty)"),
        ("(beside right left)", "(beside right right)"),
        ("(not (true (control ?role)))", "(true (control ?role))"),
        ("(distinct ?side ?other)", "(distinct ?side ?side)"),
        ("(does ?role (go ?side))", "(does ?other (go ?side))"),
        ("(or (true (cell 1 1 empty)) (free ?side))", "(and (true (cell 1 1 empty)) (free ?side))"),
        ("(true (cell ?x 1 empty))", "(true (cell 1 ?x empty))"),
        ("(role white) (role black)", "(role white) (role black) (other fact)"),
        ("(<= (next (control black)) (true (control white)))", "(<= (next (control white)) (true (control white)))"),
    ],
)
def test_changed_rule_makes_another_game(old: str, new: str) -> None:
    """Each small change of the rules changes the digest."""
    assert old in RULES
    before, after = kif.read_rulesheet(RULES), kif.read_rulesheet(RULES.replace(old, new))
    assert form_of(before).digest != form_of(after).digest


def test_order_of_the_roles_counts() -> None:
    """Joint moves follow the order of roles: what is good for the first role is not good for the second."""
    statements = kif.read_rulesheet(RULES)
    assert form_of(statements).digest != form_of(statements, ("black", "white")).digest


def test_mirror_images_are_told_apart() -> None:
    """Left and right are alike, and still get labels of their own: two orientations are one game."""
    statements = kif.read_rulesheet(RULES)
    form = form_of(statements)
    assert len(set(form.labels.values())) == len(form.labels)
    facts: list[Term] = [("at", role, side) for role in ("white", "black") for side in ("left", "right")]
    keys = {form.key(fact) for fact in facts}
    assert len(keys) == 4
    for seed in range(4):
        others, scrambled = disguised(statements, ["white", "black", *facts], "ggp-base", seed)
        form2 = form_of(others, scrambled[:2])
        assert form2.digest == form.digest
        assert {form2.key(fact) for fact in scrambled[2:]} == keys


def test_names_may_stay_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names beyond the bound share a label if they are alike."""
    monkeypatch.setattr(canonical, "MAX_REFINEMENTS", 0)
    form = form_of(kif.read_rulesheet(RULES))
    assert form.labels["left"] == form.labels["right"]
    assert len(set(form.labels.values())) == len(form.labels) - 1


def test_too_large_sheets_have_no_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too large sheets would take too long."""
    monkeypatch.setattr(canonical, "MAX_VERTICES", 20)
    assert canonical_form(kif.read_rulesheet(RULES), ("white", "black")) is None


def test_odd_statements_have_a_form() -> None:
    """Atoms as statements, rules without a body, relations without arguments, several names for one thing."""
    plain = kif.read_rulesheet("(role r) (f) (<= (g a)) (<= terminal (f) (g a))")
    other = kif.read_rulesheet("(role r) f (g a) (<= (terminal) (g a) f)")
    assert form_of(plain, ["r"]).digest == form_of(other, ["r"]).digest
    assert form_of((), ()).digest != form_of(other, ["r"]).digest


def test_digest_is_the_same_in_every_process() -> None:
    """Also with other seeds of Python's own hashes."""
    code = (
        "import sys; from agent.search.learning.canonical import canonical_form\n"
        "from protocol.kif import read_rulesheet\n"
        "form = canonical_form(read_rulesheet(sys.stdin.read()), ('white', 'black'))\n"
        "print(form.digest, form.key(('at', 'white', 'left')), end='')"
    )
    root = Path(__file__).resolve().parents[4]
    form = form_of(kif.read_rulesheet(RULES))
    for seed in ("1", "2"):
        printed = subprocess.run(
            [sys.executable, "-c", code],
            input=RULES,
            env={"PYTHONHASHSEED": seed},
            cwd=root,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
        assert printed == f"{form.digest} {form.key(('at', 'white', 'left'))}"


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.e2e), 15])
def test_corpus_is_known_again(corpus: Path, step: int) -> None:
    """Every sheet has its own digest, disguises do not change it, and no two names share a label."""
    owners: dict[str, str] = {}
    for path in sorted(corpus.glob("*.kif"))[::step]:
        statements = kif.read_rulesheet(decode(path.read_bytes()))
        roles = check(statements).roles
        form = form_of(statements, roles)
        others, renamed = disguised(statements, roles, "ggp-base", 1)
        assert form_of(others, renamed).digest == form.digest, path.stem
        assert len(set(form.labels.values())) == len(form.labels), path.stem
        owners.setdefault(form.digest, path.stem)
        # One game occurs twice, with other names.
        assert owners[form.digest] == path.stem or {owners[form.digest], path.stem} == {"ttcc4", "tttcc4"}
