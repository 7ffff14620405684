"""Pictures of states: pieces, clickable squares, marks, and harmless markup."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.boards.layout import Drawing, Layout
from agent.boards.pieces import Piece, colours_of_roles
from games.machine import Term
from protocol.kif import read, write
from tests.agent.boards.states import Sheet, recorded

SVG = "{http://www.w3.org/2000/svg}"


def squares(svg: str) -> dict[str, ElementTree.Element]:
    """Returns the squares of a picture by their `data-square`."""
    return {
        element.attrib["data-square"]: element
        for element in ElementTree.fromstring(svg).iter(f"{SVG}g")
        if "data-square" in element.attrib
    }


def title(square: ElementTree.Element) -> str | None:
    """Returns a square's title."""
    return square.findtext(f"{SVG}title")


def piece(square: ElementTree.Element) -> ElementTree.Element:
    """Returns the group of what stands on a square."""
    found = square.find(f"{SVG}g[@class='pc']")
    assert found is not None
    return found


def test_squares_say_what_stands_on_them() -> None:
    """Each square has its coordinates and its content in words, for screen readers."""
    sheet = Sheet.own("reversi_holes")
    (svg,) = Layout(sheet.initial, sheet.rules).draw(sheet.initial).svg
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert root.attrib["role"] == "img"
    assert root.attrib["viewBox"].startswith("0 0 ")
    assert not {"width", "height"} & root.attrib.keys()
    assert root.findtext(f"{SVG}title") == "board, 8 by 8; squares with something on them: 4"
    found = squares(svg)
    assert len(found) == 64
    assert title(found["4 4"]) == "d4: black"
    assert title(found["3 3"]) == "c3: blocked (wall)"
    assert title(found["1 1"]) == "a1: empty"


def test_legal_moves_make_squares_clickable() -> None:
    """Squares of legal moves can be clicked and reached by keys; each knows its moves."""
    sheet = Sheet.own("reversi")
    legal = read("(mark 3 4) (mark 4 3) noop")
    drawing = Layout(sheet.initial, sheet.rules).draw(sheet.initial, None, legal)
    assert drawing.choices == {"3 4": ("(mark 3 4)",), "4 3": ("(mark 4 3)",)}
    found = squares(drawing.svg[0])
    clickable = {name for name, square in found.items() if "choice" in square.attrib["class"].split()}
    assert clickable == {"3 4", "4 3"}
    assert found["3 4"].attrib["tabindex"] == "0"
    assert found["3 4"].attrib["role"] == "button"
    # Screen readers do not see into an image.
    assert ElementTree.fromstring(drawing.svg[0]).attrib["role"] == "group"


def test_moves_from_square_to_square_begin_at_the_first() -> None:
    """Both squares of a move can be clicked; the first one is marked as such."""
    sheet = Sheet.own("breakthrough")
    layout = Layout(sheet.initial, sheet.rules)
    drawing = layout.draw(sheet.initial, None, read("(move 1 2 1 3) (move 1 2 2 3)"))
    assert drawing.choices["1 2"] == ("(move 1 2 1 3)", "(move 1 2 2 3)")
    assert drawing.choices["2 3"] == ("(move 1 2 2 3)",)
    found = squares(drawing.svg[0])
    assert found["1 2"].attrib["class"] == "sq choice first"
    assert found["2 3"].attrib["class"] == "sq choice"


def test_a_move_that_names_a_column_can_be_made_on_its_free_squares() -> None:
    """Connect Four's moves name a column; its free squares stand for it."""
    sheet = Sheet.own("connect_four")
    layout = Layout(sheet.initial, sheet.rules)
    facts = sheet.initial | set(read("(cell 3 1 red)"))
    choices = layout.draw(facts, None, read("(drop 3)")).choices
    assert sorted(choices) == [f"3 {row}" for row in range(2, 7)]
    assert layout.draw(facts, sheet.initial, (), read("(drop 3)")).svg[0].count('class="sq last') == 0


def test_heaps_are_as_long_as_they_are_large_and_can_be_clicked(corpus: Path) -> None:
    """A heap is a bar of as many parts; moves that name it are its choices; numbers are no facts of the list."""
    rules, steps = recorded(corpus, "nim4")
    layout = Layout(steps[0].facts, rules)
    drawing = layout.draw(read("(heap a 3) (heap b 0) (heap c 6) (heap d 1) (control player1)"), None, steps[0].legal)
    assert [fact for fact, _ in drawing.rest] == ["(control player1)"]
    found = squares(drawing.svg[0])
    bars = {name: [float(bar.attrib["width"]) for bar in square.iter(f"{SVG}rect")] for name, square in found.items()}
    assert bars["a"][0] * 2 == pytest.approx(bars["c"][0], abs=0.2)
    assert bars["b"] == []
    assert found["a"].findtext(f"{SVG}text") == "3"
    assert [path.attrib["d"].count("M") for path in piece(found["a"]).iter(f"{SVG}path")] == [2]
    assert set(drawing.choices) == {"a", "b", "c", "d"}
    assert all(move.startswith("(reduce a ") for move in drawing.choices["a"])


def test_things_stand_on_what_they_are_on(corpus: Path) -> None:
    """A disc is above the one below, on its peg, larger ones are wider; the picture keeps its size."""
    rules, steps = recorded(corpus, "hanoi")
    layout = Layout(steps[0].facts, rules)
    legal = read("(puton disc1 pillar2) (puton disc1 pillar3)")
    first, later = (layout.draw(step.facts, None, legal) for step in (steps[0], steps[len(steps) // 2]))
    assert len({ElementTree.fromstring(drawing.svg[0]).attrib["viewBox"] for drawing in (first, later)}) == 1
    found = squares(first.svg[0])

    def place(name: str) -> list[float]:
        return [float(part) for part in found[name].attrib["transform"][len("translate(") : -1].split()]

    tower = ["pillar1", "disc5", "disc4", "disc3", "disc2", "disc1"]
    assert len({place(name)[0] for name in tower}) == 1
    heights = [place(name)[1] for name in tower]
    assert heights == sorted(heights, reverse=True)
    assert place("pillar2")[0] > place("pillar1")[0]
    widths = [float(piece(found[name])[0].attrib["width"]) for name in tower[1:]]
    assert widths == sorted(widths, reverse=True)
    assert first.choices == {
        "disc1": ("(puton disc1 pillar2)", "(puton disc1 pillar3)"),
        "pillar2": ("(puton disc1 pillar2)",),
        "pillar3": ("(puton disc1 pillar3)",),
    }


def test_things_at_a_place_are_piled_by_size() -> None:
    """Of numbered discs on numbered pegs large ones are below and wider; both pegs of a move are its choices."""
    sheet = Sheet.own("hanoi")
    layout = Layout(sheet.initial, sheet.rules)
    drawing = layout.draw(read("(on 1 2) (on 2 1) (on 3 1) (on 4 1) (moves 1)"), None, read("(move 1 3)"))
    found = squares(drawing.svg[0])
    widths = [float(bar.attrib["width"]) for bar in piece(found["1"]).iter(f"{SVG}rect")]
    assert widths == sorted(widths, reverse=True)
    assert [sign.text for sign in piece(found["1"]).iter(f"{SVG}text")] == ["4", "3", "2"]
    assert [sign.text for sign in piece(found["2"]).iter(f"{SVG}text")] == ["1"]
    assert set(drawing.choices) == {"1", "3"}


def test_number_of_a_piece_is_not_taken_for_a_coordinate() -> None:
    """Blokbox's moves are piece, column and row, all of them numbers."""
    sheet = Sheet.own("blokbox")
    layout = Layout(sheet.initial, sheet.rules)
    choices = layout.draw(sheet.initial, None, read("(place 5 7 8) (place 12 7 8)")).choices
    assert choices == {"7 8": ("(place 5 7 8)", "(place 12 7 8)")}


def test_moves_mean_the_board_that_the_rules_join_them_with(corpus: Path) -> None:
    """In two games played at once, a move has no squares on the other game's board, even if it fits there."""
    rules, steps = recorded(corpus, "ticTacHeaven")
    drawing = Layout(steps[0].facts, rules).draw(steps[0].facts, None, read("(mark_small 3 3) (play_large 3 2 3 3 o)"))
    assert sorted(drawing.choices.values()) == [("(mark_small 3 3)",), ("(play_large 3 2 3 3 o)",)]


def test_changes_and_the_last_move_are_marked() -> None:
    """Squares of the last move and changed ones look different; facts outside boards are new, or gone."""
    sheet = Sheet.own("reversi")
    layout = Layout(sheet.initial, sheet.rules)
    after = (sheet.initial - set(read("(cell 5 4 red) (control black)"))) | set(
        read("(cell 6 4 black) (cell 5 4 black) (control red)")
    )
    drawing = layout.draw(after, sheet.initial, (), read("(mark 6 4) noop"))
    marked = {name: square.attrib["class"] for name, square in squares(drawing.svg[0]).items()}
    assert marked["6 4"] == "sq last changed"
    assert marked["5 4"] == "sq changed"
    assert marked["4 4"] == "sq"
    assert ("(control red)", True) in drawing.rest
    assert drawing.gone == ("(control black)",)


def test_neighbouring_squares_of_a_blokbox_piece_are_one_shape() -> None:
    """A piece has no rim between its squares, and pieces of different players always have one."""
    sheet = Sheet.own("blokbox")
    layout = Layout(sheet.initial, sheet.rules)
    facts = read("(cell 3 3 purple) (cell 4 3 purple) (cell 5 3 orange)")
    found = squares(layout.draw(facts).svg[0])
    rims = {
        name: [path.attrib["d"].count("M") for path in piece(found[name]) if "d" in path.attrib["class"].split()]
        for name in ("3 3", "4 3", "5 3")
    }
    assert rims == {"3 3": [3], "4 3": [3], "5 3": [4]}


def test_positions_of_a_match_can_be_compared_square_by_square() -> None:
    """Squares keep names and places; the piece is a group of its own; the ring for the focus comes last of all."""
    sheet = Sheet.own("breakthrough")
    layout = Layout(sheet.initial, sheet.rules)
    after = sheet.initial - {("cell", "1", "2", "white")} | {("cell", "1", "3", "white")}
    now, then = (layout.draw(facts, sheet.initial, read("(move 2 2 2 3)")).svg[0] for facts in (sheet.initial, after))
    places = [{name: square.attrib["transform"] for name, square in squares(svg).items()} for svg in (now, then)]
    assert places[0] == places[1]
    assert all(place.startswith("translate(") for place in places[0].values())
    moved = [ElementTree.tostring(piece(squares(svg)[name])) for svg, name in ((now, "1 2"), (then, "1 3"))]
    assert moved[0] == moved[1]
    assert squares(then)["1 2"].find(f"{SVG}g[@class='pc']") is None
    last = list(ElementTree.fromstring(then))[-1]
    assert (last.get("class"), last.get("transform")) == ("ring", None)


def test_owners_are_told_apart_by_more_than_colour() -> None:
    """Two players' stones differ in their outlines too."""
    sheet = Sheet.own("connect_four")
    layout = Layout(sheet.initial, sheet.rules)
    found = squares(layout.draw(read("(cell 1 1 red) (cell 2 1 yellow)")).svg[0])

    def drawn(name: str) -> list[tuple[str, str | None]]:
        return [(child.tag, child.get("r")) for child in piece(found[name])]

    assert drawn("1 1") != drawn("2 1")


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("breakthrough", {"(move 5 2 5 3)": "e2 e3", "noop": "noop"}),
        ("chess_200", {"(move pawn e 2 e 4)": "pawn e2 e4", "castleKingside": "castleKingside"}),
        ("connectFour", {"(drop 3)": "c"}),
        ("checkers", {"(doublejump bp f 5 h 3 f 1)": "doublejump bp f5 h3 f1", "(move bp f 5 e 4)": "move bp f5 e4"}),
        ("pentago", {"(place 3 1 1)": "place 3 a1", "(rotate 3 clockwise)": "rotate 3 clockwise"}),
        ("shogi_ctk", {"(move 6 a 6 f)": "move 6 a 6 f"}),
        ("nim4", {"(reduce a 3)": "a 3"}),
    ],
)
def test_moves_are_spelled_as_people_write_them(corpus: Path, name: str, spelled: dict[str, str]) -> None:
    """Squares have the board's names, one word where a letter and a number; the only relation goes without saying."""
    rules, steps = recorded(corpus, name)
    layout = Layout(steps[0].facts, rules)
    assert {move: layout.spell(read(move)[0]) for move in spelled} == spelled
    drawing = layout.draw(steps[0].facts, None, steps[0].legal)
    assert set(drawing.spelled) >= {move for moves in drawing.choices.values() for move in moves}


def test_numbered_columns_are_letters_on_the_picture(corpus: Path) -> None:
    """Where columns and rows are numbers from 1, the columns' labels are letters; else both are as in the sheet."""
    for name, labels in (("connectFour", [*"abcdefgh", *"123456"]), ("shogi_ctk", [*"123456789", *"abcdefghi"])):
        rules, steps = recorded(corpus, name)
        root = ElementTree.fromstring(Layout(steps[0].facts, rules).draw(steps[0].facts).svg[0])
        assert sorted(
            label.text or "" for label in root.iter(f"{SVG}text") if "lab" in label.get("class", "")
        ) == sorted(labels)


def test_choices_that_are_no_news_are_marked_discreetly(corpus: Path) -> None:
    """A column has one mark, where a piece falls to; marks of most of a board's squares are small."""

    def dots(name: str, *moves: str) -> list[str]:
        rules, steps = recorded(corpus, name)
        legal = read(" ".join(moves)) if moves else steps[0].legal
        found = squares(Layout(steps[0].facts, rules).draw(steps[0].facts, None, legal).svg[0])
        first = [square for square in found.values() if "first" in square.attrib["class"].split()]
        return [dot.attrib["r"] for square in first for dot in square.iter(f"{SVG}circle")]

    assert dots("connectFour") == 8 * ["5"]
    assert dots("hex") == 81 * ["2.5"]
    assert dots("hex", "(place e 5)") == ["5"]


def test_roles_have_emblems_like_their_pieces(corpus: Path) -> None:
    """A role's emblem is its piece; where several differ, the plain one."""
    sheet = Sheet.own("connect_four")
    red, yellow = Layout(sheet.initial, sheet.rules).emblems(["red", "yellow"])
    assert red is not None
    assert yellow is not None
    assert ('class="u c5"' in yellow, "<circle" in red, "c2" in red) == (True, True, True)
    ElementTree.fromstring(red)
    rules, steps = recorded(corpus, "nim4")
    assert Layout(steps[0].facts, rules).emblems(["player1", "player2"]) == [None, None]


@pytest.mark.parametrize(
    "game", ["blokbox", "connect_four", "breakthrough", "reversi", "tic_tac_toe", "three_way_line"]
)
def test_roles_have_the_colours_of_their_pieces(game: str) -> None:
    """Each role of the own games has one of its own."""
    sheet = Sheet.own(game)
    roles = [str(statement[1]) for statement in sheet.rules if statement[0] == "role"]
    found = Layout(sheet.initial, sheet.rules).colours(roles)
    assert None not in found
    assert len(set(found)) == len(roles)


def test_counters_of_roles_have_the_colours_of_their_pieces(corpus: Path) -> None:
    """The last role has the last pieces, whatever their word; its counters look like them."""
    rules, steps = recorded(corpus, "checkers")
    layout = Layout(steps[0].facts, rules)
    assert layout.colours(["red", "black"]) == [1, 0]
    bars = squares(layout.draw(steps[0].facts).svg[1])
    drawn = [piece(bars[f"(2) {role}"])[0].attrib["class"] for role in ("red", "black")]
    assert drawn == ["p c1", "p c0"]


def test_colours_of_roles_are_told_by_words() -> None:
    """By pieces' words that are a role's or begin it, else by a colour's name; an ambiguous word tells nothing."""
    pieces = [Piece("stone", "", 7, 0, word="pu"), Piece("stone", "", 6, 1, word="Orange")]
    assert colours_of_roles(["purple", "orange", "random"], pieces) == [7, 6, None]
    assert colours_of_roles(["red", "robot"], []) == [2, None]
    black_and_white = [Piece("stone", "", 1, 0, word="w"), Piece("stone", "", 0, 1, word="b")]
    assert colours_of_roles(["black", "red"], black_and_white) == [0, 1]
    assert colours_of_roles(["xa", "xb"], [Piece("x", "", 3, 0, word="x")]) == [None, None]


def test_chess_words_are_drawn_as_chess(corpus: Path) -> None:
    """Kings and queens of either colour, whether the words are whole or letters."""
    for name in ("chess", "chess_200"):
        rules, steps = recorded(corpus, name)
        (svg,) = Layout(steps[0].facts, rules).draw(steps[0].facts).svg
        assert (svg.count("\u265a"), svg.count("\u265b"), svg.count("\u265f")) == (2, 2, 16)


def test_men_are_plain_and_kings_are_lettered(corpus: Path) -> None:
    """The only kind of piece at the start needs no letter."""
    rules, steps = recorded(corpus, "checkers")
    layout = Layout(steps[0].facts, rules)
    found = squares(layout.draw(read("(cell a 3 wp) (cell b 4 wk)")).svg[0])
    assert piece(found["a 3"]).findtext(f"{SVG}text") is None
    assert piece(found["b 4"]).findtext(f"{SVG}text") == "K"


def test_a_large_board_is_small_text() -> None:
    """A Blokbox board of 14 by 14 with pieces and many moves stays below 60 kB."""
    sheet = Sheet.own("blokbox")
    layout = Layout(sheet.initial, sheet.rules)
    everywhere = [(str(x), str(y)) for x in range(1, 15) for y in range(1, 15)]
    facts = [("cell", x, y, "purple" if int(x) % 3 else "orange") for x, y in everywhere if (int(x) + int(y)) % 4]
    legal = [("place", "4", x, y) for x, y in everywhere if (int(x) + int(y)) % 4 == 0]
    (svg,) = layout.draw(facts, facts[5:], legal).svg
    assert len(svg.encode()) < 60_000


def test_markup_in_names_is_harmless() -> None:
    """No name in a sheet becomes an element or breaks out of an attribute."""
    evil = "<script>alert(1)</script>"
    quote = "\"'><img/onerror=x>&amp;"
    rules = [("role", evil), ("role", "b"), ("after", quote, "k"), ("after", "k", "l")]
    facts: list[Term] = [("cell", x, str(y), evil) for x in (quote, "k", "l") for y in range(1, 5)]
    facts.append((evil, quote))
    layout = Layout([*facts, ("cell", "k", "1", "b\x00\ud800")], rules)
    drawing = layout.draw(
        [*facts[1:], ("cell", quote, "1", "b\x00\ud800")], facts, [("play", quote, "2")], [("play", "k", "2")]
    )
    (svg,) = drawing.svg
    svg.encode()
    root = ElementTree.fromstring(svg)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg", "title", "style", "g", "path", "circle", "rect", "text"
    }  # fmt: skip
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)
    assert f"{quote} 2" in squares(svg)
    assert title(squares(svg)[f"{quote} 2"]) == f"{quote} 2: {evil}"
    assert "<script" not in svg


def check(layout: Layout, drawing: Drawing, facts: Sequence[Term]) -> None:
    """Asserts the properties of every drawing."""
    for svg in drawing.svg:
        ElementTree.fromstring(svg)
    ids = [name for svg in drawing.svg for name in squares(svg)]
    assert len(set(ids)) == len(ids)
    assert set(drawing.choices) <= set(ids)
    assert {fact for fact, _ in drawing.rest} <= {write(fact) for fact in facts}
    text = layout.text(facts)
    assert (text is None) == (not drawing.svg)


WORDS = st.sampled_from(["a", "b", "1", "2", "3", "-1", "007", "c1", "r 2", "", "?x", "x<y", "white", "next", "\ud800"])
TERMS = st.recursive(
    WORDS, lambda inner: st.lists(inner, max_size=4).map(tuple) | st.tuples(WORDS, inner, inner), max_leaves=6
)
FLAT = st.tuples(st.sampled_from(["cell", "at", "true"]), WORDS, WORDS, WORDS)
FACTS = st.lists(TERMS | FLAT, max_size=30)
RULES = st.lists(
    TERMS
    | st.tuples(st.sampled_from(["<=", "role", "init", "next", "legal", "does", "or", "adj"]), TERMS, TERMS)
    | st.tuples(st.just("<="), st.tuples(st.just("next"), FLAT), st.tuples(st.just("true"), FLAT)),
    max_size=20,
)


@settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(
    first=FACTS,
    rules=RULES,
    now=FACTS,
    before=st.none() | FACTS,
    legal=st.lists(TERMS, max_size=8),
    last=st.lists(TERMS, max_size=3),
)
# No state is known, and a rule makes the drawn facts.
@example(
    first=[],
    rules=[
        ("<=", ("next", ("true", "a", "a", "a")), ("true", ("cell", "a", "a", "a"))),
        ("<=", ("next", ("true", "b", "b", "1")), ("true", ("cell", "a", "a", "a"))),
    ],
    now=[],
    before=None,
    legal=[],
    last=[],
)
def test_nothing_makes_it_fail(
    first: list[Term],
    rules: list[Term],
    now: list[Term],
    before: list[Term] | None,
    legal: list[Term],
    last: list[Term],
) -> None:
    """No terms raise an exception, drawn or not."""
    layout = Layout(first, rules)
    check(layout, layout.draw(now, before, legal, last), now)


@pytest.mark.parametrize("sample", [slice(0, None, 9), pytest.param(slice(1, None, 3), marks=pytest.mark.e2e)], ids=str)
def test_sheets_of_the_corpus_are_drawn(corpus: Path, sample: slice) -> None:
    """States of recorded games make well-formed pictures, three quarters of the games at least one.

    Many of the others' boards are in `test_layout`; `test_nothing_makes_it_fail` has any facts and rules.
    """
    with_board = 0
    names = sorted(path.name.removesuffix(".json.gz") for path in (corpus / "traces").glob("*.json.gz"))[sample]
    for name in names:
        rules, steps = recorded(corpus, name)
        layout = Layout(steps[0].facts, rules)
        with_board += bool(layout.boards)
        for index in {0, len(steps) // 2, len(steps) - 1}:
            step = steps[index]
            before = steps[index - 1] if index else None
            drawing = layout.draw(
                step.facts, before and before.facts, step.legal, before.joint if before is not None else ()
            )
            check(layout, drawing, list(step.facts))
    assert with_board >= 0.75 * len(names)


@pytest.mark.parametrize(
    "name",
    ["reversi", "hex", "checkers", "breakthrough", "pentago", "chineseCheckers3", "queens", "sudokuGrade2"],
)
def test_moves_that_were_made_name_squares(corpus: Path, name: str) -> None:
    """Each recorded move of a game on squares is on its board and can be clicked."""
    rules, steps = recorded(corpus, name)
    layout = Layout(steps[0].facts, rules)
    for step in steps[:20]:
        for move in step.joint:
            if isinstance(move, tuple) and move[0] not in ("rotate", "noop"):
                choices = layout.draw(step.facts, None, [move]).choices
                assert choices
                assert all(moves == (write(move),) for moves in choices.values())
