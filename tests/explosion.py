"""Rules whose second state is larger than any memory."""

EXPLOSION = """
(role a) (role b) (init start) (legal a go) (legal b go) (goal a 0) (goal b 0)
(d 0) (d 1) (d 2) (d 3) (d 4) (d 5) (d 6) (d 7) (d 8) (d 9)
(<= terminal (true (f 0 0 0 0 0 0 0 1)))
(<= (next (f ?a ?b ?c ?d ?e ?f ?g ?h)) (true start) (d ?a) (d ?b) (d ?c) (d ?d) (d ?e) (d ?f) (d ?g) (d ?h))
"""
"""The first one has a single fact, the next 10^8."""
