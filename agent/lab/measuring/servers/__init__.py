"""Servers: any player, asked as managers ask (`ping`, on `ping_wire`); our own under load and faults (`soak`, with
`soak_server` and `soak_faults`), and our player after PLAYs that were missed (`gaps`).
"""
