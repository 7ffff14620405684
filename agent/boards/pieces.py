"""Looks of contents: colour and outline for the owner, a letter or symbol for the kind.

Owners are found by structure (an argument that is a role), then by spelling (`wk` and `bk` differ in their first
letter). Words only choose among looks: `black` is drawn black, `king` as a king. A game with scrambled words gets
letters and colours of the palette.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from agent.boards.board import Content
from agent.boards.rulesheet import Rules, is_integer, natural_key
from agent.boards.signs import CHESS, WORDS, Glyph, all_numbers, mark_of, short, sign_words

COLOURS = {
    "black": 0, "dark": 0, "white": 1, "light": 1, "red": 2, "crimson": 2, "blue": 3, "navy": 3, "green": 4, "teal": 4,
    "yellow": 5, "gold": 5, "orange": 6, "purple": 7, "violet": 7, "magenta": 7, "pink": 7, "cyan": 8, "sky": 8,
    "brown": 9, "grey": 10, "gray": 10, "silver": 10,
}  # fmt: skip
"""Words for colours, with their indices in the style sheet."""
PALETTE = (3, 6, 4, 7, 5, 8, 2, 9)
"""Colours for owners whose words name none, the easiest to tell apart first."""
NEUTRAL = 10

MAX_OWNERS = 8


@dataclass(frozen=True)
class Piece:
    """The look of one content."""

    glyph: Glyph
    sign: str
    """A letter or two, a symbol or a number; "" for a plain stone."""
    colour: int
    """Index in the style sheet."""
    owner: int
    """Number of the owner, from 0, which decides the outline; -1 for nobody's."""
    extra: str = ""
    """Small sign beside, for a deviation from the usual."""
    word: str = ""
    """The owner's word; "" for nobody's."""


def colours_of_roles(roles: Sequence[str], pieces: Collection[Piece]) -> list[int | None]:
    """Returns the colour of each role's pieces, else the one that its own word names; None where nothing tells."""
    by_word = {piece.word.lower(): piece.colour for piece in pieces if piece.word}
    found: list[int | None] = []
    for role in map(str.lower, roles):
        alike = {colour for word, colour in by_word.items() if role.startswith(word) or word.startswith(role)}
        found.append(by_word.get(role, alike.pop() if len(alike) == 1 else None))
    rest = set(by_word.values()) - set(found)
    if found.count(None) == len(rest) == 1:
        # The last role has the last pieces, though its word is another.
        found[found.index(None)] = rest.pop()
    found = [COLOURS.get(role.lower()) if it is None else it for role, it in zip(roles, found, strict=True)]
    return [colour if found.count(colour) == 1 else None for colour in found]


def find_pieces(contents: Collection[Content], at_start: Mapping[Content, int], rules: Rules) -> dict[Content, Piece]:
    """Returns the look of each of these contents. `at_start` counts them in the first state."""
    ordered = sorted(contents, key=_natural)
    if not ordered:
        return {}
    # With relations of different arguments on one board, each content is one text.
    alike = ordered[0] and all(len(content) == len(ordered[0]) for content in ordered)
    joined = {content: content if alike else (" ".join(content),) for content in ordered}
    split = _split_owner(_useful(sorted(set(joined.values()), key=_natural)), rules)
    looks = {content: split[joined[content]] for content in ordered}
    owners = sorted({owner for owner, _ in looks.values() if owner}, key=_owner_key(rules))
    named = _named_colours(owners, rules)
    colours = _colours(owners, named)
    if all(owner for owner, _ in looks.values()) and len(set(looks.values())) == len(owners) == len(named):
        # One kind of piece per owner: the colour says it all.
        looks = {content: (owner, ()) for content, (owner, _) in looks.items()}
    start: Counter[tuple[str, ...]] = Counter()
    for content, count in at_start.items():
        start[looks[content][1]] += count
    signs = _signs(sorted({rest for _, rest in looks.values()}), start, rules)
    pieces = {}
    for content, (owner, rest) in looks.items():
        glyph, sign, extra = signs[rest]
        if not any(rest):
            glyph, sign = mark_of(owner)
        pieces[content] = Piece(
            glyph=glyph,
            sign=sign,
            colour=colours.get(owner, NEUTRAL),
            owner=owners.index(owner) if owner in owners else -1,
            extra=extra,
            word=owner,
        )
    return pieces


def _natural(content: Content) -> tuple[object, ...]:
    return tuple(map(natural_key, content))


def _useful(contents: Sequence[Content]) -> dict[Content, tuple[str, ...]]:
    """Returns contents without the parts that are the same in all of them."""
    varying = [index for index in range(len(contents[0])) if len({content[index] for content in contents}) > 1]
    return {content: tuple(content[index] for index in varying) for content in contents}


def _split_owner(parts: Mapping[Content, tuple[str, ...]], rules: Rules) -> dict[Content, tuple[str, tuple[str, ...]]]:
    """Returns the owner of each content ("" for nobody), and its other parts, for the sign."""
    roles = {role.lower() for role in rules.roles}
    width = len(next(iter(parts.values())))
    columns = [{part[index] for part in parts.values()} for index in range(width)]
    fitting = [
        index
        for accepted in (roles, COLOURS.keys())
        for index, values in enumerate(columns)
        if 2 <= len(values) <= MAX_OWNERS and all(value.lower() in accepted for value in values)
    ]
    if not fitting and width > 1:
        pairs = (index for index, values in enumerate(columns) if len(values) == 2)
        fitting = [index for index in pairs if not any(map(is_integer, columns[index]))]
    if fitting:
        at = fitting[0]
        return {content: (part[at], part[:at] + part[at + 1 :]) for content, part in parts.items()}
    if width == 0:
        # One content only: a stone, in the colour that its word names.
        only = next(iter(parts))
        word = only[-1] if only else ""
        return {only: (word, (word,) if word.lower() in CHESS else ())}
    if width > 1:
        return {content: ("", part) for content, part in parts.items()}
    owners = _owners_of_words(sorted({word for (word,) in parts.values()}, key=natural_key), roles)
    split = {content: owners[word] for content, (word,) in parts.items()}
    return {content: (owner, (rest,) if rest else ()) for content, (owner, rest) in split.items()}


def _owners_of_words(words: Sequence[str], roles: Collection[str]) -> dict[str, tuple[str, str]]:
    """Returns the owner of each word ("" for nobody), and the rest of the word, for the sign."""
    if all(map(is_integer, words)):
        return {word: ("", word) for word in words}
    known = {word for word in words if word.lower() in roles or word.lower() in COLOURS}
    if len(known) >= 2 or (known and len(words) <= 2):
        return {word: (word, "") if word in known else ("", word) for word in words}
    if split := _prefixes(words, roles):
        return split
    if len(words) <= 2 and not any(map(is_integer, words)):
        return {word: (word, "" if mark_of(word)[0] != "stone" else word) for word in words}
    if any(mark_of(word)[0] != "stone" for word in words) and len(words) <= MAX_OWNERS:
        return {word: (word, "") if mark_of(word)[0] != "stone" else ("", word) for word in words}
    return {word: ("", word) for word in words}


def _prefixes(words: Sequence[str], roles: Collection[str]) -> dict[str, tuple[str, str]] | None:
    """Splits words such as `wk`, `bk` or `whiteKing`, `blackKing` into owners and kinds; None unless owners share most
    kinds."""
    options: list[dict[str, tuple[str, str]]] = []
    by_word = {word: WORDS.findall(word) for word in words}
    if all(len(parts) >= 2 and "".join(parts) == word for word, parts in by_word.items()):
        options.append({word: (parts[0], "".join(parts[1:])) for word, parts in by_word.items()})
    starts = [start for start in {*roles, *COLOURS} if any(word.lower().startswith(start) for word in words)]
    cut = {
        word: max(
            (start for start in starts if word.lower().startswith(start) and len(word) > len(start)),
            key=len,
            default="",
        )
        for word in words
    }
    if all(cut.values()):
        options.append({word: (word[: len(cut[word])], word[len(cut[word]) :].lstrip("_-")) for word in words})
    if all(len(word) >= 2 for word in words):
        options.append({word: (word[0], word[1:]) for word in words})
    for option in options:
        owners = defaultdict(set)
        for owner, rest in option.values():
            owners[owner].add(rest.lower())
        kinds = set.union(*owners.values())
        alike = sum(len(rests) for rests in owners.values())
        if 2 <= len(owners) <= MAX_OWNERS and len(kinds) < len(words) and 4 * alike >= 3 * len(owners) * len(kinds):
            return option
    return None


def _owner_key(rules: Rules) -> Callable[[str], tuple[int, int, str]]:
    rank = {role.lower(): index for index, role in enumerate(rules.roles)}
    initials = {role[:1].lower(): index for index, role in reversed(list(enumerate(rules.roles)))}
    end = len(rank)

    def key(owner: str) -> tuple[int, int, str]:
        low = owner.lower()
        exact = rank.get(low, end)
        return (exact, initials.get(low[:1], end) if exact == end else 0, owner)

    return key


def _named_colours(owners: Sequence[str], rules: Rules) -> dict[str, int]:
    """Returns the colours that owners' words name, or initials where all owners are initials."""
    named = {owner: COLOURS[owner.lower()] for owner in owners if owner.lower() in COLOURS}
    if len(named) < len(owners) and all(len(owner) == 1 for owner in owners):
        by_initial: dict[str, int] = {}
        for word in (*(role.lower() for role in rules.roles), "white", "black"):
            if word in COLOURS:
                by_initial.setdefault(word[0], COLOURS[word])
        if all(owner.lower() in by_initial for owner in owners):
            return {owner: by_initial[owner.lower()] for owner in owners}
    return named


def _colours(owners: Sequence[str], named: Mapping[str, int]) -> dict[str, int]:
    """Returns a colour for each owner: the named one, else one of the palette."""
    colours = dict(named)
    free = [colour for colour in PALETTE if colour not in colours.values()]
    for index, owner in enumerate(owner for owner in owners if owner not in named):
        colours[owner] = free[index % len(free)] if free else NEUTRAL
    return colours


def _signs(
    rests: Sequence[tuple[str, ...]], start: Mapping[tuple[str, ...], int], rules: Rules
) -> dict[tuple[str, ...], tuple[Glyph, str, str]]:
    """Returns glyph, sign and extra sign for each content without its owner."""
    if not rests:
        return {}
    widest = max(map(len, rests))
    if widest == 0:
        return dict.fromkeys(rests, ("stone", "", ""))
    kinds = {rest: rest for rest in rests if rest}
    # The argument with the most values is the kind of the piece; the others become extra signs.
    columns = [sorted({rest[index] for rest in kinds if len(rest) > index}, key=natural_key) for index in range(widest)]
    main = max(range(widest), key=lambda index: (len(columns[index]), -index))
    signs = sign_words(columns[main])
    usual: dict[tuple[str, int], str] = {}
    for index in range(widest):
        for kind in columns[main] if index != main else ():
            counts = Counter(dict.fromkeys(columns[index], 0))
            for rest, count in start.items():
                if len(rest) > max(main, index) and rest[main] == kind:
                    counts[rest[index]] += count
            usual[kind, index] = max(columns[index], key=lambda value: (counts[value], value))
    # If all pieces are alike at the start, such as men, they get the plain stone.
    present = {rest[main] for rest, count in start.items() if count and len(rest) > main}
    plain = (
        next(iter(present)) if len(present) == 1 and len(columns[main]) > 1 and not all_numbers(columns[main]) else None
    )
    result: dict[tuple[str, ...], tuple[Glyph, str, str]] = {}
    for rest in rests:
        if len(rest) <= main:
            result[rest] = "stone", "", ""
            continue
        glyph, sign = signs[rest[main]]
        if rest[main] == plain and glyph == "letter":
            glyph, sign = "stone", ""
        extra = "".join(
            short(rest[index], columns[index])
            for index in range(len(rest))
            if index != main and rest[index] != usual[rest[main], index]
        )
        result[rest] = glyph, sign, extra
    return result
