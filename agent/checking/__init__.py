"""Checks of a rulesheet or a player for their authors: the commands `inspect`, `validate` and `ping`.

`describe` is `inspect`: a `sampling` of random matches, `insight` into a circuit, its `structure` (`symmetries` and
parts), a `sample_match`, and the speed of `playouts`. `ping` asks a player over `ping_wire`. `timing` measures CPU
time.
"""
