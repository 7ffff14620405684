"""Takes `does` out of what is asked of a state: `legal`, `goal` and `terminal`, and all that they depend on.

No move has been made in a state, so no `does` holds there. Relations that `next` asks about moves keep their rules.
"""

from __future__ import annotations

from collections.abc import Iterable

from games.gdl.rules.dependencies import reachable
from games.gdl.rules.diagnostics import Diagnostic
from games.gdl.rules.terms import Literal, Predicate, Rule, predicate

_DOES: Predicate = ("does", 2)
_OF_STATES: tuple[Predicate, ...] = (("legal", 2), ("goal", 2), ("terminal", 0))


def without_moves(rules: Iterable[Rule], diagnostics: list[Diagnostic]) -> list[Rule]:
    """Rules of the same meaning in which nothing asked of a state depends on `does`.

    Relations that do are copied, with no `does` holding, for the rules that ask them of a state. Adds an error per
    statement of `legal`, `goal` or `terminal` that depends on `does`.
    """
    rules = list(rules)
    users: dict[Predicate, dict[Predicate, None]] = {}
    calls: dict[Predicate, dict[Predicate, None]] = {}
    for rule in rules:
        relation = predicate(rule.head)
        for literal in rule.body:
            calls.setdefault(relation, {})[predicate(literal.atom)] = None
            if relation not in _OF_STATES:
                users.setdefault(predicate(literal.atom), {})[relation] = None
    on_moves = reachable(users, [_DOES])
    asked = reachable(calls, _OF_STATES)
    if asked.isdisjoint(on_moves):
        return rules
    copied = on_moves & asked - {_DOES}
    told: set[int] = set()
    result = []
    for rule in rules:
        relation = predicate(rule.head)
        if relation in copied:
            result += _moveless(rule._replace(head=(_copy(relation), *rule.head[1:])), copied)
        if relation not in _OF_STATES:
            result.append(rule)
            continue
        result += _moveless(rule, copied)
        used = [predicate(literal.atom)[0] for literal in rule.body if predicate(literal.atom) in on_moves]
        if used and rule.statement not in told:
            told.add(rule.statement)
            # Names with a space are auxiliary.
            name = next((name for name in used if " " not in name), None)
            place = f" in a rule of `{relation[0]}`"
            wordings = {"does": f"`does`{place}", None: f"`{relation[0]}` depends on `does`"}
            message = wordings.get(name, f"`{name}` depends on `does`,{place}")
            message += ": no move has been made there, so no `does` holds"
            diagnostics.append(Diagnostic("error", message, (rule.statement,)))
    return result


def _copy(relation: Predicate) -> str:
    # A space, unlike any token of a rulesheet; names of auxiliary relations are told by their beginnings.
    return f"{relation[0]} unmoved"


def _moveless(rule: Rule, copied: set[Predicate]) -> list[Rule]:
    """The rule where no `does` holds; none if it needs one."""
    if any(literal.positive and predicate(literal.atom) == _DOES for literal in rule.body):
        return []
    body = tuple(
        [
            Literal(literal.positive, (_copy(predicate(literal.atom)), *literal.atom[1:]))
            if predicate(literal.atom) in copied
            else literal
            for literal in rule.body
            if predicate(literal.atom) != _DOES
        ]
    )
    return [rule._replace(body=body)]
