"""Addresses that are answered."""

from __future__ import annotations

from ipaddress import ip_network

from protocol.server import gatekeeper


def test_all_are_answered_unless_said_otherwise() -> None:
    """Without networks, all addresses are answered."""
    assert gatekeeper(())("203.0.113.7")


def test_addresses_and_networks() -> None:
    """Addresses of both IP versions belong to networks, also IPv4 ones mapped to IPv6."""
    allowed = gatekeeper((ip_network("10.0.0.0/8"), ip_network("192.0.2.1"), ip_network("2001:db8::/32")))
    for address in ("10.1.2.3", "192.0.2.1", "2001:db8::7", "::ffff:10.1.2.3"):
        assert allowed(address)
    for address in ("11.0.0.1", "192.0.2.2", "::1", "unknown", ""):
        assert not allowed(address)


def test_localhost_may_have_either_address() -> None:
    """Browsers choose an IP version for localhost: where one is allowed, so is the other."""
    assert gatekeeper((ip_network("127.0.0.1"),))("::1")
    assert gatekeeper((ip_network("::1"),))("127.0.0.1")
    assert not gatekeeper((ip_network("10.0.0.0/8"),))("::1")
