"""Which requests of browsers reach a player. Headers are those that browsers send in each case."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.browsers import own_name
from tests.protocol.conftest import ORIGIN

MOZILLA = "User-Agent: Mozilla/5.0 (X11; Linux x86_64)"
LANGUAGE = "Accept-Language: en"


@pytest.mark.parametrize(
    ("request_line", "headers"),
    [
        # Scripts, forms: POST always has an Origin; `null` is that of a sandboxed frame, or a file.
        ("POST /", ["Host: localhost:9147", "Origin: https://evil.example", "Sec-Fetch-Site: cross-site"]),
        ("POST /", ["Host: localhost:9147", "Origin: http://localhost:3000", "Sec-Fetch-Site: same-site"]),
        ("POST /", ["Host: localhost:9147", "Origin: null"]),
        ("POST /", ["Host: localhost:9147", f"Origin: {ORIGIN}.evil.example"]),
        ("OPTIONS /", ["Host: localhost:9147", "Origin: https://evil.example"]),
        ("GET /(abort+m)", ["Host: 192.0.2.1:9147", "Origin: https://evil.example", MOZILLA]),
        # Images, links and frames, to localhost and to an address.
        ("GET /(abort+m)", ["Host: localhost:9147", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"]),
        ("GET /(abort+m)", ["Host: localhost:9147", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"]),
        ("GET /(abort+m)", ["Host: 192.0.2.1:9147", MOZILLA, LANGUAGE]),
        # A name that points here, with no more than a script cannot hide.
        ("POST /", ["Host: evil.example:9147", "Origin: http://evil.example:9147"]),
        ("GET /(abort+m)", ["Host: evil.example:9147", MOZILLA]),
        ("GET /(abort+m)", ["Host: evil.example:9147", "User-Agent: Java/17", "Accept-Language: "]),
        ("GET /(abort+m)", ["Host: evil.example:9147", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors"]),
    ],
)
async def test_strange_pages_are_refused(
    player: Any, request_line: str, headers: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """A page that was not named gets a 403 that it cannot read; one line of the log names the option."""
    body = "(abort m)"
    lines = (f"{request_line} HTTP/1.1", *headers, f"Content-Length: {len(body)}", "", body)
    for _ in range(2):
        answer = await player.send("\r\n".join(lines).encode())
        assert answer.status == "HTTP/1.1 403 Forbidden"
        assert "access-control-allow-origin" not in answer.headers
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert player.messages == []
    (record,) = caplog.records
    assert "--browser ORIGIN" in record.message


@pytest.mark.parametrize(
    "headers",
    [
        # Managers of all kinds, by whatever name they know this machine.
        [],
        ["Host: player.example:9147"],
        ["Host: player.example:9147", "User-Agent: Java/17.0.2", "Accept: text/html, image/gif, */*; q=.2"],
        ["Host: player.example:9147", "User-Agent: python-requests/2.32", "Accept-Encoding: gzip, deflate"],
        ["Host: player.example:9147", "User-Agent: node", "Accept-Language: *", "Sec-Fetch-Mode: cors"],
        # A named page; our own; a person.
        ["Host: player.example:9147", f"Origin: {ORIGIN}", "Sec-Fetch-Site: cross-site", MOZILLA, LANGUAGE],
        ["Host: localhost:9147", "Origin: http://localhost:9147", "Sec-Fetch-Site: same-origin", MOZILLA, LANGUAGE],
        ["Host: localhost:9147", "Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", MOZILLA, LANGUAGE],
    ],
)
async def test_managers_are_answered(player: Any, headers: list[str]) -> None:
    """Whoever is no browser is answered at any name, by POST and GET; so are named pages, our own and a person."""
    assert (await player.post(b"(ping)", *headers)).body == b"ready"
    request = "\r\n".join(("GET /(ping) HTTP/1.0", *headers, "", ""))
    assert (await player.send(request.encode())).body == b"ready"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *((host, True) for host in ("localhost:9147", "127.0.0.1:80", "[::1]:80", "192.0.2.7", "x.localhost")),
        *((host, False) for host in ("evil.example", "localhost.evil.example", "", "[")),
    ],
)
def test_names_of_this_machine(host: str, expected: bool) -> None:
    """A site whose name points here (DNS rebinding) is recognised by that name."""
    assert own_name(host) is expected
