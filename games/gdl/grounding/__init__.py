"""From rules with variables to ground ones: rewritings (`rewrite`, `demand`, `split_moves`, `unfold`, `freeing`),
estimates of their cost (`estimate`), and gringo (`ground`, `observer`).
"""
