"""Ports of this machine."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def refusing_port() -> Iterator[int]:
    """A port that refuses connections, and that nobody else gets meanwhile."""
    with socket.socket() as taken:
        # Bound, and not listened at.
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]
