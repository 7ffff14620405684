"""Requests of browsers: whose page makes them, and which are answered.

A page of any site can have the browser that shows it send requests here, also from this very machine. It is known by

- `Origin`, which a browser sends with every POST and with whatever a script may read (Fetch Standard, 3.2),
- `Sec-Fetch-Site` with other requests, but only to `localhost` and by HTTPS (Fetch Metadata),
- `Host`: a site whose name points here (DNS rebinding) is of one origin with us, and sends neither.

Managers that are no browsers send none of the first two, and as Host whatever they call this machine.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection
from urllib.parse import urlsplit

from aiohttp import web


def own_name(host: str) -> bool:
    """Returns whether a request's Host is an address, `localhost`, or this machine's host name."""
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


def stranger(request: web.BaseRequest, origins: Collection[str] = ()) -> str:
    """Returns whose request a browser must not send here, in words; empty for what may be answered.

    It may be sent by pages of the `origins`, by our own page, and by a person, who may follow a link to it.
    """
    headers = request.headers
    origin, site, host = (headers.get(name, "") for name in ("Origin", "Sec-Fetch-Site", "Host"))
    if origin in origins:
        return ""
    if origin and not (own_name(host) and origin.partition("://")[2] == host):
        return f"a page of {origin}"
    linked = request.method == "GET" and request.raw_path == "/" and headers.get("Sec-Fetch-Mode") == "navigate"
    if site not in ("", "same-origin", "none") and not linked:
        return "a page of another site"
    return f"a page of {host}" if _by_browser(request) and not own_name(host) else ""


def hides_its_page(request: web.BaseRequest) -> bool:
    """Returns whether a browser does not say whose request it is, as with an image or a link to an address by HTTP."""
    headers = request.headers
    return "Origin" not in headers and "Sec-Fetch-Site" not in headers and _is_browser(headers.get("User-Agent", ""))


def _by_browser(request: web.BaseRequest) -> bool:
    headers = request.headers
    if "Sec-Fetch-Mode" in headers and "Sec-Fetch-Site" not in headers:
        # The fetch() of Node, which no page can be in.
        return False
    # Scripts of a page can give any User-Agent, but cannot leave languages out.
    return "Accept-Language" in headers or "Sec-Fetch-Site" in headers or _is_browser(headers.get("User-Agent", ""))


def _is_browser(agent: str) -> bool:
    return agent.startswith("Mozilla/")
