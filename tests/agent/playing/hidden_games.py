"""Small games of imperfect information (GDL-II), and a manager's view of a match of them."""

from __future__ import annotations

import random
from functools import partial

from agent.playing.evidence import Perceive
from agent.playing.messages import JointMove, Unseen
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules
from games.machine import State, Term
from games.perception import Perception
from tests.matches import rules_of

CARDS = """
; Nature deals one of three cards to each of two players. The first sees its own, and bets or folds.
(role player) (role dealer) (role random)
(card ace) (card king) (card queen)
(beats ace king) (beats ace queen) (beats king queen)
(init dealing)
(<= (legal random (deal ?a ?b)) (true dealing) (card ?a) (card ?b) (distinct ?a ?b))
(<= (legal random wait) (not (true dealing)))
(<= (legal player wait) (true dealing))
(<= (legal player bet) (true betting))
(<= (legal player fold) (true betting))
(legal dealer wait)
(<= (next betting) (true dealing))
(<= (next over) (true betting))
(<= (next folded) (does player fold))
(<= (next (has player ?a)) (does random (deal ?a ?b)))
(<= (next (has dealer ?b)) (does random (deal ?a ?b)))
(<= (next (has ?r ?c)) (true (has ?r ?c)))
(<= (sees player (dealt ?a)) (does random (deal ?a ?b)))
(<= (sees dealer (dealt ?b)) (does random (deal ?a ?b)))
(<= (sees dealer folded) (does player fold))
(<= won (true (has player ?a)) (true (has dealer ?b)) (beats ?a ?b))
(<= terminal (true over))
(<= (goal player 50) (true folded))
(<= (goal player 100) (not (true folded)) won)
(<= (goal player 0) (not (true folded)) (not won))
(<= (goal dealer 50) (true folded))
(<= (goal dealer 0) (not (true folded)) won)
(<= (goal dealer 100) (not (true folded)) (not won))
(goal random 0)
"""

BLIND_TIC_TAC_TOE = """
; As in Kriegspiel, nobody sees the other's marks. Who tries a cell that is taken is told so, and tries another one.
(role x) (role o)
(line 1 2 3) (line 4 5 6) (line 7 8 9) (line 1 4 7) (line 2 5 8) (line 3 6 9) (line 1 5 9) (line 3 5 7)
(cell 1) (cell 2) (cell 3) (cell 4) (cell 5) (cell 6) (cell 7) (cell 8) (cell 9)
(init (control x))
(<= (legal ?r (try ?c)) (true (control ?r)) (cell ?c) (not (true (tried ?r ?c))))
(<= (legal ?r wait) (role ?r) (not (true (control ?r))))
(<= taken (does ?r (try ?c)) (true (mark ?c ?s)))
(<= (next (tried ?r ?c)) (true (tried ?r ?c)))
(<= (next (tried ?r ?c)) (does ?r (try ?c)))
(<= (next (mark ?c ?r)) (true (mark ?c ?r)))
(<= (next (mark ?c ?r)) (does ?r (try ?c)) (not taken))
(<= (next (control ?r)) (true (control ?r)) taken)
(<= (next (control ?r)) (role ?r) (not (true (control ?r))) (not taken))
(<= (sees ?r taken) (does ?r (try ?c)) taken)
(<= (sees ?r done) (role ?r) (not taken))
(<= (three ?r) (role ?r) (line ?a ?b ?c) (true (mark ?a ?r)) (true (mark ?b ?r)) (true (mark ?c ?r)))
(<= open (cell ?c) (not (marked ?c)))
(<= (marked ?c) (true (mark ?c ?r)))
(<= terminal (three ?r))
(<= terminal (not open))
(<= (goal ?r 100) (three ?r))
(<= (goal ?r 0) (three ?s) (role ?r) (distinct ?r ?s))
(<= (goal ?r 50) (role ?r) (not (three x)) (not (three o)))
"""

DICE_RACE = """
; Two run home with two pieces each, by a die that nature throws before each turn. Who comes where a piece of the
; other is sends it back. Everybody sees throws and moves.
(role white) (role random) (role black)
(die 1) (die 2) (die 3) (piece p) (piece q) (other white black) (other black white)
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 home) (succ home home)
(<= (far ?x 1 ?y) (succ ?x ?y))
(<= (far ?x 2 ?z) (succ ?x ?y) (succ ?y ?z))
(<= (far ?x 3 ?z) (far ?x 2 ?y) (succ ?y ?z))
(init (turn white)) (init throwing)
(<= (init (at ?r ?p 0)) (other ?r ?s) (piece ?p))
(<= (legal random (throw ?d)) (true throwing) (die ?d))
(<= (legal random wait) (not (true throwing)))
(<= (legal ?r (run ?p)) (true (thrown ?d)) (true (turn ?r)) (true (at ?r ?p ?x)) (distinct ?x home))
(<= (legal ?r wait) (true throwing) (other ?r ?s))
(<= (legal ?r wait) (true (turn ?s)) (other ?r ?s))
(<= (next (thrown ?d)) (does random (throw ?d)))
(<= (next throwing) (not (true throwing)))
(<= (next (turn ?r)) (true (turn ?r)) (true throwing))
(<= (next (turn ?s)) (true (turn ?r)) (not (true throwing)) (other ?r ?s))
(<= (next (at ?r ?p ?y)) (reaches ?r ?p ?y))
(<= (next (at ?r ?p 0)) (true (at ?r ?p ?x)) (sent ?r ?x))
(<= (next (at ?r ?p ?x)) (true (at ?r ?p ?x)) (not (does ?r (run ?p))) (not (sent ?r ?x)))
(<= (reaches ?r ?p ?y) (does ?r (run ?p)) (true (thrown ?d)) (true (at ?r ?p ?x)) (far ?x ?d ?y))
(<= (sent ?s ?y) (reaches ?r ?p ?y) (other ?r ?s) (distinct ?y home))
(<= (sees ?r (thrown ?d)) (does random (throw ?d)) (other ?r ?s))
(<= (sees ?r (ran ?s ?p)) (does ?s (run ?p)) (other ?r ?t))
(<= (all_home ?r) (true (at ?r p home)) (true (at ?r q home)))
(<= terminal (all_home ?r))
(<= (goal ?r 100) (all_home ?r))
(<= (goal ?s 0) (all_home ?r) (other ?r ?s))
(goal random 0)
"""

MONTY_HALL = """
; Nature parks a car behind one of three doors, the guest picks one, nature opens another one without the car, and
; the guest keeps the door or changes it. Who changes wins 2 of 3.
(role random) (role guest)
(door 1) (door 2) (door 3)
(after parking picking) (after picking opening) (after opening choosing) (after choosing over)
(init (stage parking))
(<= (next (stage ?t)) (true (stage ?s)) (after ?s ?t))
(<= (legal random (park ?d)) (true (stage parking)) (door ?d))
(<= (legal random (open ?d)) (true (stage opening)) (door ?d) (not (true (car ?d))) (not (true (picked ?d))))
(<= (legal random wait) (true (stage picking)))
(<= (legal random wait) (true (stage choosing)))
(<= (legal guest (pick ?d)) (true (stage picking)) (door ?d))
(<= (legal guest keep) (true (stage choosing)))
(<= (legal guest change) (true (stage choosing)))
(<= (legal guest wait) (true (stage parking)))
(<= (legal guest wait) (true (stage opening)))
(<= (next (car ?d)) (does random (park ?d)))
(<= (next (car ?d)) (true (car ?d)))
(<= (next (opened ?d)) (does random (open ?d)))
(<= (next (picked ?d)) (does guest (pick ?d)))
(<= (next (picked ?d)) (true (picked ?d)) (not (does guest change)))
(<= (next (picked ?d)) (does guest change) (door ?d) (not (true (picked ?d))) (not (true (opened ?d))))
(<= (sees guest (opened ?d)) (does random (open ?d)))
(<= won (true (car ?d)) (true (picked ?d)))
(<= terminal (true (stage over)))
(<= (goal guest 100) won)
(<= (goal guest 0) (not won))
(goal random 0)
"""


class HiddenMatch:
    """A match as its manager sees it, with one role's percepts."""

    def __init__(self, source: str, role: int, seed: int = 0) -> None:
        self.rules: CheckedRules = rules_of(source)
        self.machine = Interpreter(self.rules)
        self.role = role
        self.rng = random.Random(seed)
        self.state: State = self.machine.initial()
        self.perceive: Perceive = partial(Perception(self.rules).percepts, role=role)

    def legal(self) -> list[Term]:
        """Returns the own legal moves."""
        return self.machine.legal(self.state, self.role)

    def advance(self, own: Term, **others: Term) -> Unseen:
        """Makes a joint move, random where not given; returns the message to the role."""
        moves = []
        for role, name in enumerate(self.machine.roles):
            legal = self.machine.legal(self.state, role)
            moves.append(own if role == self.role else others.get(str(name)) or self.rng.choice(legal))
        return self.make(tuple(moves))

    def make(self, joint_move: JointMove) -> Unseen:
        """Makes a joint move."""
        percepts = self.perceive(self.machine.facts(self.state), joint_move)
        self.state = self.machine.next(self.state, joint_move)
        return Unseen(joint_move[self.role], tuple(percepts))
