"""`ggp-agent ping`: asks a player what managers ask, and says what is wrong with the answers.

Managers read answers differently: ggp-base by Content-Length or to the end of the stream, without chunks; Dresden's
gamecontroller until the connection closes; managers in a browser only with CORS headers (Fetch Standard, 3.2). All of
this is checked byte by byte.
"""

from __future__ import annotations

import random
import statistics
import time
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from agent.checking.ping_wire import CLOSING_SECONDS, PATIENCE, Address, Reply, exchange
from agent.sheet import load
from games.gdl.interpreter.machine import Interpreter
from protocol import infix, kif
from protocol.client import ClientError, PlayerClient
from protocol.compose import Style, compose, headers
from protocol.messages import Abort, Info, Play, Start
from protocol.terms import Term, TextError, decode

Level: TypeAlias = Literal["good", "note", "problem"]

INFO_SECONDS = 1.0
"""ggp-base's wait for an answer to INFO."""

SLOW_MILLISECONDS = 250.0
"""Round trips longer than this get a remark."""

GAME = "tic_tac_toe"
PLAYED_TURNS = 4
START_CLOCK, PLAY_CLOCK = 15, 5


@dataclass(frozen=True)
class PingFinding:
    """One check and its result."""

    level: Level
    about: str
    """Subject, in a word or two."""
    text: str
    """Result."""
    advice: str = ""
    """Remedy; empty where all is well."""


@dataclass
class PingReport:
    """All findings on a player."""

    url: str
    findings: list[PingFinding] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    """Round trips of INFO, from the connect to the end of the reply."""

    def add(self, level: Level, about: str, text: str, advice: str = "") -> None:
        """Adds a finding."""
        self.findings.append(PingFinding(level, about, text, advice))

    @property
    def well(self) -> bool:
        """Whether managers can play with this player."""
        return all(finding.level != "problem" for finding in self.findings)

    def as_json(self) -> dict[str, object]:
        """As data."""
        return {
            "url": self.url,
            "well": self.well,
            "findings": [vars(finding) for finding in self.findings],
            "milliseconds": [round(value, 2) for value in self.milliseconds],
        }


async def ping(url: str, *, round_trips: int = 10, play: bool = False, style: Style = "ggp-base") -> PingReport:
    """Checks the player at an address. Raises `InputError` for an invalid address."""
    address = Address.parse(url)
    report = PingReport(address.url)
    reply = await _ask_info(address, style, report)
    if reply is None:
        return report
    await _time_round_trips(address, style, round_trips, report)
    _judge_transport(reply, report)
    await _look_at_cors(address, style, report)
    if style != "infix":
        await _look_at_infix(address, report)
    if play:
        await _play(address.url, style, report)
    return report


# -------------------------------------------------------------------------------------------------------- questions


async def _ask_info(address: Address, style: Style, report: PingReport) -> Reply | None:
    """INFO, once: reachable, in time, understood. None where further questions are useless."""
    where = f"{address.host}:{address.port}"
    body = compose(Info(), style).encode()
    try:
        reply = await exchange(address, "POST", body, headers(style, "player"), PATIENCE, linger=True)
    except ConnectionRefusedError:
        report.add(
            "problem",
            "reachable",
            f"nothing listens on {where}",
            "start the player, and compare its port; on its own machine, `ss -ltn` shows what listens",
        )
    except TimeoutError:
        report.add(
            "problem",
            "reachable",
            f"no answer from {where} within {PATIENCE:g} s",
            "a firewall may drop what is sent, the player may be stuck: try on its own machine",
        )
    except OSError as error:
        report.add(
            "problem",
            "reachable",
            f"no connection to {where}: {error.strerror or error}",
            "compare the name or address of the machine, and whether this one is on the same network",
        )
    except ValueError as error:
        report.add(
            "problem",
            "reachable",
            f"{where} answers, but not properly: {error}",
            "something else may listen on this port, or the player fails at a request; look at its log",
        )
    else:
        report.add("good", "reachable", f"{where} answers")
        _judge_status(reply, report)
        if reply.seconds > INFO_SECONDS:
            report.add(
                "problem",
                "INFO",
                f"answered after {reply.seconds:.1f} s",
                f"ggp-base waits for {INFO_SECONDS:g} s and takes the player for gone: answer at once",
            )
        _judge_info(reply, style, report)
        return reply if reply.status == 200 else None
    return None


def _judge_status(reply: Reply, report: PingReport) -> None:
    text = f"{reply.version} {reply.status} {reply.reason}".strip()
    if reply.status == 200:
        report.add("good", "HTTP", text)
    elif reply.status == 403:
        report.add(
            "problem",
            "HTTP",
            text,
            "the player refuses this machine; with `ggp-agent serve --allow ADDRESS` it does not",
        )
    else:
        report.add("problem", "HTTP", text, "players answer 200 to a POST at any path; is this the player's address?")


def _judge_info(reply: Reply, style: Style, report: PingReport) -> None:
    text = decode(reply.body).strip()
    if reply.status != 200:
        return
    try:
        term: Term = infix.read_one(text) if style == "infix" else kif.read_one(text)
    except TextError as error:
        report.add(
            "problem",
            "INFO",
            f"unreadable: {text[:80]!r} ({error})",
            "answer `available` or `busy`, or `( ( name NAME ) ( status available ) )`",
        )
        return
    pairs = _pairs(term)
    status = str(pairs.get("status", "")) if pairs else str(term) if isinstance(term, str) else ""
    form = "a list with name and status" if pairs else "an atom"
    if not status:
        report.add(
            "note", "INFO", f"no status in {text[:80]!r}", "managers look for `status` with `available` or `busy`"
        )
    elif status.lower() in ("available", "ready"):
        report.add("good", "INFO", f"{form}: {text[:120]}")
    else:
        report.add(
            "note",
            "INFO",
            f"{form}, status {status}",
            "managers schedule matches with players that are `available` only; wait until it has finished",
        )


def _pairs(term: Term) -> dict[str, Term]:
    """The entries of `((name X) (status S))`, by name in lower case."""
    if not isinstance(term, tuple):
        return {}
    return {
        entry[0].lower(): entry[1]
        for entry in term
        if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)
    }


async def _time_round_trips(address: Address, style: Style, count: int, report: PingReport) -> None:
    body = compose(Info(), style).encode()
    lost = 0
    for _ in range(count):
        try:
            reply = await exchange(address, "POST", body, headers(style, "player"), PATIENCE)
            report.milliseconds.append(1000.0 * reply.seconds)
        except (OSError, ValueError):
            lost += 1
    if report.milliseconds:
        median, longest = statistics.median(report.milliseconds), max(report.milliseconds)
        text = f"median {median:.1f} ms, longest {longest:.1f} ms, of {len(report.milliseconds)} round trips"
        if longest > 1000.0 * INFO_SECONDS:
            advice = "managers count moves that arrive after the clock as late: answer earlier, or mend the network"
            report.add("problem", "latency", text, advice)
        elif longest > SLOW_MILLISECONDS:
            report.add("note", "latency", text, "have the player answer so much earlier than its clock ends")
        else:
            report.add("good", "latency", text)
    if lost:
        report.add("problem", "latency", f"{lost} of {count} requests were not answered", "look at the player's log")


def _judge_transport(reply: Reply, report: PingReport) -> None:
    if "chunked" in reply.headers.get("transfer-encoding", "").lower():
        advice = (
            "ggp-base and Tiltyard do not understand chunks: send Content-Length, or close the connection at the end"
        )
        report.add("problem", "framing", "the reply is chunked", advice)
    elif not reply.framed:
        report.add("note", "framing", "the reply has no Content-Length", "its end shows where the connection closes")
    else:
        report.add("good", "framing", "Content-Length, no chunks")
    if reply.closed:
        report.add("good", "connection", "closed after the reply")
    else:
        report.add(
            "problem",
            "connection",
            f"still open {CLOSING_SECONDS:g} s after the reply",
            "Dresden's gamecontroller reads until it closes, and takes the move for late: close it after each reply",
        )


async def _look_at_cors(address: Address, style: Style, report: PingReport) -> None:
    wanted = "content-type, receiver, sender"
    asked = {
        "Origin": "http://gamemaster.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": wanted,
    }
    missing = []
    try:
        reply = await exchange(address, "OPTIONS", b"", asked, PATIENCE)
        allowed = reply.headers.get("access-control-allow-headers", "").lower()
        if reply.status == 403:
            report.add(
                "note",
                "CORS",
                "managers in a browser are refused",
                "for one, start the player with `ggp-agent serve --browser ORIGIN`, its address; others do not mind",
            )
            return
        if not 200 <= reply.status < 300:
            missing.append(f"OPTIONS is answered {reply.status}")
        if reply.headers.get("access-control-allow-origin") not in ("*", asked["Origin"]):
            missing.append("no Access-Control-Allow-Origin for OPTIONS")
        if allowed != "*" and not all(name in allowed for name in wanted.split(", ")):
            missing.append("Access-Control-Allow-Headers does not name " + wanted)
        extra = {**headers(style, "player"), "Origin": asked["Origin"]}
        reply = await exchange(address, "POST", compose(Info(), style).encode(), extra, PATIENCE)
        if reply.headers.get("access-control-allow-origin") not in ("*", asked["Origin"]):
            missing.append("no Access-Control-Allow-Origin in the reply")
    except (OSError, ValueError) as error:
        missing.append(f"OPTIONS is not answered ({error or type(error).__name__})")
    if missing:
        report.add(
            "note",
            "CORS",
            "; ".join(missing),
            "without it managers that run in a browser cannot reach the player; others do not mind",
        )
    else:
        report.add("good", "CORS", "managers in a browser may ask")


async def _look_at_infix(address: Address, report: PingReport) -> None:
    try:
        reply = await exchange(address, "POST", b"info()", headers("infix", "player"), PATIENCE)
        term = infix.read_one(decode(reply.body))
    except (OSError, ValueError):
        term = None
    status = dict(_pairs(term)).get("status", term) if term is not None else None
    if status in ("available", "busy", "ready"):
        report.add("good", "infix", "understood as well (Stanford's later managers)")
    else:
        report.add("note", "infix", "not understood", "only Stanford's later managers ask like this: info()")


# ------------------------------------------------------------------------------------------------------------ a match


async def _play(url: str, style: Style, report: PingReport) -> None:
    """START, a few turns of tic-tac-toe, ABORT."""
    sheet = load(GAME)
    machine = Interpreter(sheet.checked)
    match_id = f"ping_{time.time_ns() // 1_000_000}"
    generator = random.Random(0)
    async with PlayerClient(url, style=style, connect_timeout=PATIENCE) as client:
        try:
            start = Start(match_id, machine.roles[0], sheet.rulesheet, START_CLOCK, PLAY_CLOCK)
            answer = await client.send(start, timeout=START_CLOCK)
        except ClientError as error:
            report.add(
                "problem", "START", str(error), f"a player says `ready` within its start clock ({START_CLOCK} s)"
            )
            return
        if str(answer.term).lower() == "busy":
            report.add("note", "START", "busy", "it plays another match, and cannot be tried now")
            return
        level: Level = "good" if str(answer.term).lower() == "ready" else "note"
        advice = "" if level == "good" else "the usual answer is `ready`; managers ignore what it is"
        report.add(level, "START", f"{answer.text[:60]} after {answer.seconds:.2f} s", advice)
        state, last = machine.initial(), None
        for turn in range(1, PLAYED_TURNS + 1):
            legal = [machine.legal(state, role) for role in range(len(machine.roles))]
            try:
                answer = await client.send(Play(match_id, last), timeout=PLAY_CLOCK)
            except ClientError as error:
                report.add(
                    "problem",
                    f"turn {turn}",
                    str(error),
                    f"a player sends its move within the play clock ({PLAY_CLOCK} s)",
                )
                break
            move = answer.term
            if move not in legal[0]:
                report.add(
                    "problem",
                    f"turn {turn}",
                    f"{answer.text[:60]} is not legal",
                    "spell moves as the rules do, letter case included; managers play another move instead",
                )
                move = legal[0][0]
            else:
                report.add("good", f"turn {turn}", f"{answer.text[:60]} after {answer.seconds:.2f} s")
            last = (move, *(generator.choice(moves) for moves in legal[1:]))
            state = machine.next(state, last)
        try:
            await client.send(Abort(match_id), timeout=PATIENCE)
        except ClientError as error:
            report.add("note", "ABORT", str(error), "the match may go on for the player until it gives the manager up")
