"""Our server under load and faults (`soak`, with `soak_server` and `soak_faults`), and our player after missed PLAYs
(`gaps`).
"""
