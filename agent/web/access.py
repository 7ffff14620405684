"""Permission to see the page and to act on it.

The page is for this machine, and for explicitly allowed addresses. Other sites open in a browser on this machine must
not reach it: they are refused (`protocol.browsers`), and no header lets them read across origins. Actions need a token
as well, which only the page itself can read.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Collection

from aiohttp import web

from protocol.browsers import own_name, stranger
from protocol.server import Network, gatekeeper, peer_of

TOKEN_HEADER = "X-Page-Token"

HOW_TO_ALLOW = (
    "This page is shown on the machine itself, or to addresses that it was told of: start it with\n"
    "`--allow {address}` (and, with `serve`, `--allow` of each manager, as all others are refused then),\n"
    "or look at it on the machine itself, for instance through `ssh -L 9147:localhost:9147`.\n"
)

ONLY_NAMED = (
    "This page is shown to named addresses alone, also on the machine itself, as anybody may seem to be there:\n"
    "start it with `--allow {address}`, and `--allow` of each manager, as all others are refused then.\n"
)


def is_loopback(address: str | None) -> bool:
    """Returns whether an address is this machine's; None is that of a Unix socket."""
    if not address:
        return True
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return (mapped or parsed).is_loopback


def is_here(request: web.Request) -> bool:
    """Returns whether a request comes from this machine: from a loopback address, or from where it is sent to."""
    peer = peer_of(request)
    local = None if request.transport is None else request.transport.get_extra_info("sockname")
    return is_loopback(peer) or (isinstance(local, tuple) and peer == local[0].removeprefix("::ffff:"))


class Access:
    """Access to one site."""

    def __init__(
        self,
        *,
        everyone_allowed: bool = False,
        here: bool = True,
        players: Collection[Network] = (),
        token: str | None = None,
    ) -> None:
        """`everyone_allowed` is whether all requests that get here come from explicitly allowed addresses; `here` is
        whether this machine's own addresses are trusted: not where others may seem to come from them. `players` are
        addresses that may act, too, as if they were here. A `token` is given where another process shows the page.
        """
        self._everyone_allowed = everyone_allowed
        self._here = here
        # Without networks, a gatekeeper lets all pass.
        self._plays = gatekeeper(players) if players else lambda address: False
        self.token = secrets.token_urlsafe(24) if token is None else token
        """Token that actions need."""

    def check(self, request: web.Request) -> None:
        """Raises `HTTPForbidden` for a request that may not see the page."""
        if not own_name(request.headers.get("Host", "")):
            raise web.HTTPForbidden(
                text="This page is not known by that name: use the machine's address or localhost.\n"
            )
        if whose := stranger(request):
            raise web.HTTPForbidden(text=f"Only the page itself may ask for this, not {whose}.\n")
        if not (self._everyone_allowed or self._may_act(request)):
            how = HOW_TO_ALLOW if self._here else ONLY_NAMED
            raise web.HTTPForbidden(text=how.format(address=peer_of(request)))

    def _may_act(self, request: web.Request) -> bool:
        return (self._here and is_here(request)) or self._plays(peer_of(request))

    def check_action(self, request: web.Request) -> None:
        """Raises `HTTPForbidden` for a request that may not change anything."""
        self.check(request)
        if not self._may_act(request):
            raise web.HTTPForbidden(text="Only the page itself, on this machine, can do that.\n")
        token = request.headers.get(TOKEN_HEADER, "").encode(errors="replace")
        if not secrets.compare_digest(token, self.token.encode()):
            raise web.HTTPForbidden(text="The page was loaded before this match began: reload it.\n")
