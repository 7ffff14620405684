"""Joins a Ray cluster. Ray is an optional extra: it is imported when a cluster is asked for."""

from __future__ import annotations

import contextlib
import socket
from types import ModuleType
from typing import Any

from agent.errors import InputError, first_line
from games.child_process import ROOT

INSTALL = "pip install 'ggp-agent[cluster]'"
"""Command that installs the extra."""

ANSWER_SECONDS = 5.0
"""Longest time for a head node to accept a connection."""


class NoClusterError(InputError):
    """No cluster answers at an address (yet)."""


def import_ray() -> ModuleType:
    """The package `ray`. Raises `InputError` where it is not installed."""
    try:
        import ray
    except ImportError as error:
        raise InputError(f"--cluster needs Ray, which cannot be imported ({error}): {INSTALL}") from None
    module: ModuleType = ray
    return module


def connect(address: str) -> Any:
    """Joins the cluster at `HOST:PORT`, or with `auto` that of this machine, unless joined already; returns `ray`.

    Raises `InputError` where Ray or an address is missing, and `NoClusterError` where no cluster can be joined.
    """
    ray: Any = import_ray()
    if ray.is_initialized():
        return ray
    if address != "auto":
        check_reachable(address)
    try:
        # Ray's workers import from the driver's current folder first.
        with contextlib.chdir(ROOT):
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", configure_logging=False)
    except Exception as error:
        raise NoClusterError(
            f"{address}: no Ray cluster that this machine is a node of ({type(error).__name__}: {first_line(error)}). "
            "Start one with `ray start --head` on one machine and `ray start --address=HOST:6379` on the others, also "
            "on this one (with --num-cpus=0 where it is not to play)"
        ) from None
    return ray


def disconnect() -> None:
    """Leaves the cluster, and ends what this process started there."""
    import_ray().shutdown()


def check_reachable(address: str) -> None:
    """Raises `InputError` for anything but HOST:PORT, and `NoClusterError` where nobody answers.

    Ray itself would try for minutes.
    """
    host, _, port = address.rpartition(":")
    if "//" in address or not host or not port.isdigit():
        raise InputError(f"{address}: a cluster is `auto`, or HOST:PORT of its head node, such as 192.0.2.7:6379")
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise NoClusterError(f"{address}: no head node of a Ray cluster answers there ({error})") from None
