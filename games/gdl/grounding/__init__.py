"""From rules with variables to ground ones: rewritings (`rewrite`, `demand`, `split_moves`, `unfold`), estimates of
their cost (`estimate`), and gringo (`ground`, `observer`).
"""
