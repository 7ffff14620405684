"""Permission to see the page and to act on it.

The page is for this machine, and for explicitly allowed addresses. Other sites open in a browser on this machine must
not reach it: they are refused (`protocol.browsers`), and no header lets them read across origins.

Where people act, other users of this machine are strangers, too: the page needs a token, which is in the address that
the command prints. The browser keeps it as a cookie. Programs may send it in a header.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Collection

from aiohttp import web

from protocol.browsers import own_name, stranger
from protocol.server import Network, gatekeeper, peer_of

TOKEN_HEADER = "X-Page-Token"
QUERY = "token"
"""Header, and part of an address, with the token."""

HOW_TO_ALLOW = (
    "This page is shown on the machine itself, or to addresses that it was told of: start it with\n"
    "`--allow {address}` (and, with `serve`, `--allow` of each manager, as all others are refused then),\n"
    "or look at it on the machine itself, for instance through `ssh -L 9147:localhost:9147`.\n"
)

ONLY_NAMED = (
    "This page is shown to named addresses alone, also on the machine itself, as anybody may seem to be there:\n"
    "start it with `--allow {address}`, and `--allow` of each manager, as all others are refused then.\n"
)

HOW_TO_GET_IN = (
    "This page is for the person who started it: open the whole address that the command has printed, with its token.\n"
    "Where it was started anew, it has printed a new one.\n"
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


def new_token() -> str:
    """Returns a token that nobody guesses."""
    return secrets.token_urlsafe(24)


def link(address: str, token: str) -> str:
    """Returns the address that lets a browser in, without its fragment."""
    return f"{address}/?{QUERY}={token}"


class Access:
    """Access to one site."""

    def __init__(
        self,
        *,
        everyone_allowed: bool = False,
        here: bool = True,
        allowed: Collection[Network] = (),
        token: str | None = None,
    ) -> None:
        """`everyone_allowed` is whether all requests that get here come from explicitly allowed addresses; `here` is
        whether this machine's own addresses are trusted: not where others may seem to come from them. `allowed` are
        further addresses that may come. Where there is a `token`, whoever has it may act as well, and nobody else sees
        anything; without one, nobody acts."""
        self._everyone_allowed = everyone_allowed
        self._here = here
        # Without networks, a gatekeeper lets all pass.
        self._allowed = gatekeeper(allowed) if allowed else lambda address: False
        self.token = token
        self._tickets: set[str] = set()

    def new_ticket(self) -> str:
        """Returns a token for one visit: the command line of a browser is no secret."""
        ticket = new_token()
        self._tickets.add(ticket)
        return ticket

    def check(self, request: web.Request) -> None:
        """Raises `HTTPForbidden` for a request that may not see the page."""
        if not own_name(request.headers.get("Host", "")):
            raise web.HTTPForbidden(
                text="This page is not known by that name: use the machine's address or localhost.\n"
            )
        invited = self._is_invited(request)
        # A link with the token may stand on any page.
        if not invited and (whose := stranger(request)):
            raise web.HTTPForbidden(text=f"Only the page itself may ask for this, not {whose}.\n")
        peer = peer_of(request)
        if not (self._everyone_allowed or (self._here and is_here(request)) or self._allowed(peer)):
            how = HOW_TO_ALLOW if self._here else ONLY_NAMED
            raise web.HTTPForbidden(text=how.format(address=peer))
        if self.token is not None and not invited and not self._is_token(_held(request)):
            raise web.HTTPForbidden(text=HOW_TO_GET_IN)

    def check_action(self, request: web.Request) -> None:
        """Raises `HTTPForbidden` for a request that may not change anything."""
        self.check(request)
        if self.token is None:
            raise web.HTTPForbidden(text="Nothing can be changed here.\n")

    def admit(self, request: web.Request, response: web.StreamResponse) -> None:
        """Gives a browser that came with the token a cookie instead."""
        if self.token is not None and self._is_invited(request):
            self._tickets.discard(request.query[QUERY])
            response.set_cookie(_cookie(request), self.token, httponly=True, samesite="Strict")

    def _is_invited(self, request: web.Request) -> bool:
        given = request.query.get(QUERY, "") if (request.method, request.path) == ("GET", "/") else ""
        return self._is_token(given) or given in self._tickets

    def _is_token(self, given: str) -> bool:
        return self.token is not None and secrets.compare_digest(given.encode(errors="replace"), self.token.encode())


def _cookie(request: web.Request) -> str:
    # Browsers send cookies to all ports of a machine; the port is that of a tunnel, if they came through one.
    port = request.headers.get("Host", "").rpartition(":")[2]
    return f"ggp-agent-{port if port.isascii() and port.isdecimal() else 80}"


def _held(request: web.Request) -> str:
    """Returns the token of a request's header, or of its cookie, which others may surround with what is no cookie."""
    found = re.search(rf"(?:^|;)\s*{_cookie(request)}=([^;\s]*)", request.headers.get("Cookie", ""))
    return request.headers.get(TOKEN_HEADER) or (found[1] if found else "")
