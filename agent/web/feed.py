"""The thoughts of another agent about a match, to be shown on the referee's page.

The other agent may be anybody's: what it tells is bounded, and read in a thread.
"""

from __future__ import annotations

import asyncio
import logging

import aiohttp

from agent import bounded_json
from agent.record.thinking import Spelling, Thinking
from agent.web.access import TOKEN_HEADER
from agent.web.gallery import Gallery
from agent.web.transcript import Transcript

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.25
"""Seconds until a server that does not know the match (yet) is asked again."""

ALL_SECONDS = 5.0
"""Seconds for fetching everything at the end."""

MOST_MESSAGE = 1 << 22
"""Most bytes of what a page tells at once."""

_BROKEN = (aiohttp.ClientError, OSError, ValueError, KeyError, TypeError, IndexError, AttributeError)


class Feed:
    """The thoughts of one player, from its own page."""

    def __init__(
        self, url: str, token: str, role: int, transcript: Transcript, gallery: Gallery, spelling: Spelling
    ) -> None:
        """`token` is that of the page at `url`; `spelling` translates the player's terms into the transcript's."""
        self._url = url
        self._headers = {TOKEN_HEADER: token}
        self._role = role
        self._transcript = transcript
        self._gallery = gallery
        self._spelling = spelling
        self._match_id = ""
        self._begun = 0

    def follow(self, match_id: str, begun: int) -> None:
        """Sets the player's name of the match, and the ply `begun` of the player's first position."""
        self._match_id, self._begun = match_id, begun

    async def run(self) -> None:
        """Follows the thoughts while somebody watches, until it is cancelled."""
        async with aiohttp.ClientSession(headers=self._headers) as session:
            while True:
                await self._gallery.arrived.wait()
                try:
                    await self._stream(session)
                except _BROKEN as error:
                    log.debug("cannot follow %s: %s", self._url, error)
                await asyncio.sleep(RETRY_SECONDS)

    async def take_all(self) -> None:
        """Fetches all thoughts so far, if possible."""
        try:
            async with asyncio.timeout(ALL_SECONDS), aiohttp.ClientSession(headers=self._headers) as session:
                key = await self._key(session)
                async with session.get(f"{self._url}/page/matches/{key}") as response:
                    _, thoughts = await asyncio.to_thread(self._read, await _text(response))
                    self._take(thoughts)
        except (*_BROKEN, TimeoutError) as error:
            log.debug("cannot ask %s: %s", self._url, error)

    async def _key(self, session: aiohttp.ClientSession) -> str:
        async with session.get(f"{self._url}/page/matches") as response:
            text = await _text(response)
        matches = (await asyncio.to_thread(bounded_json.loads, text))["matches"]
        for match in matches:
            if match["game"] == self._match_id:
                return str(match["key"])
        raise KeyError(self._match_id)

    async def _stream(self, session: aiohttp.ClientSession) -> None:
        match_id = self._match_id
        key = await self._key(session)
        async with session.ws_connect(f"{self._url}/page/matches/{key}", max_msg_size=MOST_MESSAGE) as socket:
            while self._gallery.watched and self._match_id == match_id:
                running, thoughts = await asyncio.to_thread(self._read, await socket.receive_str())
                self._take(thoughts)
                if not running:
                    return

    def _read(self, text: str) -> tuple[bool, dict[int, Thinking]]:
        """Returns whether the match goes on, and the thoughts by ply, from the data of the player's page."""
        view = bounded_json.loads(text)
        thoughts = {}
        for step in view["steps"] if view["game"] == self._match_id else ():
            ply = self._begun + int(step["ply"])
            for thought in step["thinking"].values():
                if 0 <= ply < len(self._transcript.positions):
                    thoughts[ply] = Thinking.from_json(thought, self._spelling)
        return view["outcome"] == "running", thoughts

    def _take(self, thoughts: dict[int, Thinking]) -> None:
        positions = self._transcript.positions
        for ply, thinking in thoughts.items():
            # Moves may have been taken back meanwhile.
            if ply < len(positions):
                positions[ply].thinking[self._role] = thinking
                self._transcript.touch(positions[ply])


async def _text(response: aiohttp.ClientResponse) -> str:
    """Returns the text of an answer. Raises `ValueError` for more than a page tells at once."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > MOST_MESSAGE:
            raise ValueError(f"more than {MOST_MESSAGE} bytes")
    return body.decode()
