"""Constants, which some sheets write as terms without arguments: `(over)` is `over`.

Rules and moves are read without these parentheses. Replies have them where the rules do, as some managers take the two
for different terms.
"""

from __future__ import annotations

from collections.abc import Iterator

from protocol.terms import Term

_CONNECTIVES = ("<=", "not", "or", "and")


def bare(term: Term) -> Term:
    """The term with its constants out of their parentheses: `(at (home) 1)` becomes `(at home 1)`."""
    if isinstance(term, str) or not term:
        return term
    name = _listed_name(term)
    return name if name is not None else (term[0], *[bare(part) for part in term[1:]])


def bare_rules(rulesheet: tuple[Term, ...]) -> tuple[Term, ...]:
    """The rulesheet with its constants out of their parentheses. Its atoms, such as `(terminal)`, keep theirs."""
    return tuple([_bare_formula(statement) for statement in rulesheet])


def listed(term: Term, names: frozenset[str]) -> Term:
    """The term with the constants of these names in parentheses: the inverse of `bare`."""
    if isinstance(term, str):
        return (term,) if term in names else term
    return (*term[:1], *[listed(part, names) for part in term[1:]])


def listed_names(rulesheet: tuple[Term, ...]) -> frozenset[str]:
    """Names of the constants that replies have in parentheses.

    These are written so in heads of `legal`, or wherever they are constants.
    """
    inside, outside = spellings(rulesheet)
    heads = tuple([head for head in map(_head, rulesheet) if head[:1] == ("legal",)])
    of_moves, _ = spellings(heads)
    return frozenset((inside.keys() - outside.keys()) | of_moves.keys())


def spellings(rulesheet: tuple[Term, ...]) -> tuple[dict[str, int], dict[str, int]]:
    """The constants in parentheses and those without, each with the index of its first statement."""
    inside: dict[str, int] = {}
    outside: dict[str, int] = {}
    for index, statement in enumerate(rulesheet):
        pending = list(_arguments(statement))
        while pending:
            term = pending.pop()
            if isinstance(term, str):
                outside.setdefault(term, index)
            elif (name := _listed_name(term)) is not None:
                inside.setdefault(name, index)
            else:
                pending.extend(term[1:])
    return inside, outside


def _head(statement: Term) -> Term:
    return statement[1] if statement[:1] == ("<=",) and len(statement) > 1 else statement


def _listed_name(term: tuple[Term, ...]) -> str | None:
    """The name of a constant in parentheses; None for another term, or what is none."""
    name = term[0] if len(term) == 1 else None
    return name if isinstance(name, str) and not name.startswith("?") else None


def _bare_formula(formula: Term) -> Term:
    """Recursive, as `bare` is: the readers bound the depth."""
    if isinstance(formula, str) or not formula:
        return formula
    part = _bare_formula if formula[0] in _CONNECTIVES else bare
    return (formula[0], *[part(below) for below in formula[1:]])


def _arguments(formula: Term) -> Iterator[Term]:
    """The arguments of the atoms of a statement."""
    pending = [formula]
    while pending:
        part = pending.pop()
        if isinstance(part, str) or not part:
            continue
        if part[0] in _CONNECTIVES:
            pending.extend(part[1:])
        else:
            yield from part[1:]
