"""Who may see the page, and who may act on it.

The page is shown on this machine, and to addresses that were allowed by name. A page of another site that a browser on
this machine has open must not read or do anything here: it cannot read across origins, as no header allows it to, and
pretending to be this site (DNS rebinding) fails by the name that it is reached by. What changes anything needs a token
as well, which only the page itself can read.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
from urllib.parse import urlsplit

from aiohttp import web

TOKEN_HEADER = "X-Page-Token"

HOW_TO_ALLOW = (
    "This page is shown on the machine itself, or to addresses that `ggp-agent serve` was told of:\n"
    "start it with `--allow {address}` (and `--allow` of each manager, as all others are refused then),\n"
    "or look at it on the machine itself, for instance through `ssh -L 9147:localhost:9147`.\n"
)


def is_loopback(address: str | None) -> bool:
    """Whether a request comes from this machine; one without an address comes through a socket of its file system."""
    if not address:
        return True
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return (mapped or parsed).is_loopback


def own_name(host: str) -> bool:
    """Whether a request's Host is what this machine is called: an address, `localhost`, or its own host name."""
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    if name is None:
        return False
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        own = socket.gethostname().lower()
        return name == "localhost" or name.endswith(".localhost") or name in (own, own.partition(".")[0])
    return True


class Access:
    """The rule for one site."""

    def __init__(self, *, everyone_allowed: bool) -> None:
        """`everyone_allowed` is whether those whose requests get here were allowed by name."""
        self._everyone_allowed = everyone_allowed
        self.token = secrets.token_urlsafe(24)
        """What a request that changes something has to bring."""

    def check(self, request: web.Request) -> None:
        """Raises `HTTPForbidden` for those who may not see the page."""
        if not own_name(request.host):
            raise web.HTTPForbidden(
                text="This page is not known by that name: use the machine's address or localhost.\n"
            )
        if not (self._everyone_allowed or is_loopback(request.remote)):
            raise web.HTTPForbidden(text=HOW_TO_ALLOW.format(address=request.remote))

    def check_action(self, request: web.Request) -> None:
        """Raises `HTTPForbidden` for what may not change anything."""
        self.check(request)
        origin = request.headers.get("Origin")
        if not is_loopback(request.remote) or (origin is not None and urlsplit(origin).netloc != request.host):
            raise web.HTTPForbidden(text="Only the page itself, on this machine, can do that.\n")
        if not secrets.compare_digest(request.headers.get(TOKEN_HEADER, ""), self.token):
            raise web.HTTPForbidden(text="The page was loaded before this match began: reload it.\n")
