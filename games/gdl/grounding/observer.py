"""Runs gringo over a program and collects the ground rules as arrays.

Grounding itself is fast; carrying millions of rules into Python is not. So clingo's ground-program observer is
registered through its C interface, as two Numba callbacks. They append to one pre-allocated piece of (virtual) memory,
and stop gringo when it is full. If the C interface cannot be reached, clingo's public observer class does the same,
slower.

Atoms carry terms as clingo symbols. Equal terms are one symbol, so each is decoded once.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import clingo
import llvmlite.binding
import numpy as np
import numpy.typing as npt
from numba import carray, cfunc, njit, types  # type: ignore[attr-defined]  # Numba does not list its exports

from games.bits.addresses import load_word
from games.machine import LimitError, Term

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]

CInterface: TypeAlias = Any
"""cffi's `ffi`, `lib` and their pointers: cffi has no types for the contents of a header."""

OPTIONS = ("--warn=none",)
"""Options of clingo. GDL leaves many relations undefined, which is no reason to warn."""

DEFAULT_LIMIT = 1 << 24
"""Most body literals of a ground program: 272 MiB are reserved, and used as needed. Of 172 sheets the largest has 2.2e6
of them."""


@dataclass(frozen=True, slots=True)
class GroundRules:
    """The normal rules of a ground program, choice rules left out, in clingo's literals (+atom, -atom)."""

    head: Int32Array
    body_start: Int64Array
    """Rule i has the body `body[body_start[i]:body_start[i + 1]]`; an empty one makes its head a fact."""
    body: Int32Array
    shown: list[tuple[Term, int]]
    """The atoms of the shown relations, as terms; with their numbers, 0 for facts."""


class SymbolDecoder:
    """From clingo's symbols to terms: numbers index `constants`, names are keys of `names`."""

    def __init__(self, constants: Sequence[str], names: Mapping[str, str]) -> None:
        self.constants = constants
        self.names = names

    def decode(self, symbol: clingo.Symbol) -> Term:
        """The term of a public symbol. Without arguments it was a zero-arity term or a proposition: `("name",)`."""
        if symbol.type is clingo.SymbolType.Number:
            return self.constants[symbol.number]
        return (self.names[symbol.name], *[self.decode(argument) for argument in symbol.arguments])


def run(program: str, constants: Sequence[str], names: Mapping[str, str], limit: int = DEFAULT_LIMIT) -> GroundRules:
    """Grounds a program in clingo's language.

    Raises `LimitError` beyond `limit` body literals (or as many rules). Time is not bounded: callers with a deadline
    ground in a child process.
    """
    interface = _interface()
    if interface is None:
        return _run_public(program, constants, names, limit)
    return _run_raw(program, RawDecoder(constants, names, *interface), limit, *interface)


_SYMBOL_FUNCTIONS = ("type", "number", "name", "arguments")
"""Functions of clingo's C interface that kernels call: `clingo_symbol_type` and so on."""


@cache
def _interface() -> tuple[CInterface, CInterface] | None:
    """clingo's C interface (cffi's `ffi` and `lib`), which is private; None if this version has it not where expected.

    Loads it, so that kernels can call its functions by name.
    """
    try:
        from clingo._internal import _ffi, _lib  # type: ignore[attr-defined]  # there, but not for everyone

        path = importlib.import_module("clingo._clingo").__file__
    except ImportError:
        return None
    library = ctypes.CDLL(path)
    if not all(hasattr(library, f"clingo_symbol_{name}") for name in _SYMBOL_FUNCTIONS):
        return None
    llvmlite.binding.load_library_permanently(path)
    return _ffi, _lib


# ------------------------------------------------------------------------------------------------------- symbols

_TYPE, _NUMBER, _NAME, _ARGUMENTS = (
    types.ExternalFunction(f"clingo_symbol_{name}", signature)
    for name, signature in zip(
        _SYMBOL_FUNCTIONS,
        (
            types.int32(types.uint64),
            types.boolean(types.uint64, types.uint64),
            types.boolean(types.uint64, types.uint64),
            types.boolean(types.uint64, types.uint64, types.uint64),
        ),
        strict=True,
    )
)
"""Functions of clingo's C interface; addresses of outputs are passed as numbers."""

_NUMBER_TYPE = 1
"""`clingo_symbol_type_number`."""


class RawDecoder(SymbolDecoder):
    """Decodes many symbols of the C interface, 64-bit numbers, at once."""

    def __init__(self, constants: Sequence[str], names: Mapping[str, str], ffi: CInterface, lib: CInterface) -> None:
        super().__init__(constants, names)
        self._ffi = ffi
        assert lib.clingo_symbol_type_number == _NUMBER_TYPE

    def terms(self, symbols: npt.NDArray[np.uint64]) -> list[Term]:
        """The terms of symbols; equal arguments are one object."""
        result = np.empty(len(symbols), object)
        heads, sizes, addresses = (np.zeros(len(symbols), np.uint64) for _ in range(3))
        _take_apart(symbols, heads, sizes, addresses, np.zeros(2, np.uint64))
        starts = np.cumsum(sizes) - sizes
        different, inner = np.unique(_arguments(sizes, addresses, int(sizes.sum())), return_inverse=True)
        arguments = np.empty(len(different), object)
        if len(different):
            arguments[:] = self.terms(different)
        kinds, kind_of = np.unique(heads, return_inverse=True)
        for kind, head in enumerate(kinds.tolist()):
            here = np.flatnonzero(kind_of == kind)
            if head & _IS_NUMBER:
                result[here] = self.constants[head ^ _IS_NUMBER]
                continue
            name = self.names[self._ffi.string(self._ffi.cast("char const*", head)).decode()]
            for size in np.unique(sizes[here]).tolist():
                rows = here[sizes[here] == size]
                columns = [arguments[inner[starts[rows].astype(np.int64) + i]].tolist() for i in range(size)]
                for row, term in zip(rows.tolist(), zip([name] * len(rows), *columns, strict=True), strict=True):
                    result[row] = term
        return result.tolist()


_IS_NUMBER = 1 << 63
"""Flag of numbers; no address of a name has it. Such addresses may be small, too, if the program that runs Python is at
a fixed address (Debian's)."""


@njit(cache=True, nogil=True)
def _take_apart(symbols, heads, sizes, addresses, work):
    """Takes clingo's symbols (uint64[n]) apart.

    Fills per symbol (uint64[n]): `heads` with the number and `_IS_NUMBER`, or the address of the name; `sizes` with the
    number of arguments; `addresses` with their place. `work` is uint64[2].
    """
    first, second = np.uint64(work.ctypes.data), np.uint64(work[1:].ctypes.data)
    for i in range(len(symbols)):
        work[0] = 0
        if _TYPE(symbols[i]) == _NUMBER_TYPE:
            _NUMBER(symbols[i], first)
            heads[i] = work[0] | np.uint64(_IS_NUMBER)
            continue
        _NAME(symbols[i], first)
        heads[i] = work[0]
        _ARGUMENTS(symbols[i], first, second)
        addresses[i] = work[0]
        sizes[i] = work[1]


@njit(cache=True, nogil=True)
def _arguments(sizes, addresses, total):
    """The words at addresses (uint64[n]), as many from each as in `sizes` (uint64[n]), `total` in all: uint64."""
    found = np.empty(total, np.uint64)
    position = 0
    for i in range(len(sizes)):
        for j in range(sizes[i]):
            found[position] = load_word(addresses[i] + np.uint64(8) * np.uint64(j))
            position += 1
    return found


# ------------------------------------------------------------------------------------------------- Numba callbacks
#
# One allocation holds everything the callbacks touch, an array of int64 words:
#
#     0 .. 4                   the header: the limit on rules and on literals; the numbers of rules, literals and shown
#                              atoms so far; whether a limit was hit
#     then `limit` words       end of the body of rule i, counted in literals
#     then `limit` words       as int32: `limit` heads, then `limit` body literals
#     then `_SHOWN_LIMIT` * 2  pairs of a shown atom's symbol (the bits of a uint64) and its number

_LIMIT, _RULES, _LITERALS, _SHOWN, _FULL, _HEADER = range(6)
"""Indices into the header; the last is its size."""

_SHOWN_LIMIT = 1 << 22
"""Most shown atoms (64 MiB of address space)."""


@cache
def _callbacks() -> tuple[int, int]:
    """Addresses of the observer's `rule` and `output_atom` functions, compiled or from Numba's cache."""
    size, byte, data_pointer = types.uintp, types.uint8, types.voidptr

    @cfunc(byte(byte, types.CPointer(types.uint32), size, types.CPointer(types.int32), size, data_pointer), cache=True)
    def rule(choice, head, head_size, body, body_size, data):
        """Appends a rule; false stops gringo. C: (bool, uint32 *head, size_t, int32 *body, size_t, void *data).

        `data` is the allocation. Its length is unknown here, so the views pretend to one.
        """
        if choice or head_size != 1:
            return 1
        wide = carray(data, (1 << 40,), np.int64)
        narrow = carray(data, (1 << 40,), np.int32)
        limit, rules, literals = wide[_LIMIT], wide[_RULES], wide[_LITERALS]
        if rules >= limit or literals + np.int64(body_size) > limit:
            wide[_FULL] = 1
            return 0
        start = 2 * (_HEADER + limit)
        narrow[start + rules] = np.int32(head[0])
        start += limit + literals
        for i in range(np.int64(body_size)):
            narrow[start + i] = body[i]
        wide[_LITERALS] = literals + np.int64(body_size)
        wide[_HEADER + rules] = wide[_LITERALS]
        wide[_RULES] = rules + 1
        return 1

    @cfunc(byte(types.uint64, types.uint32, data_pointer), cache=True)
    def output_atom(symbol, atom, data):
        """Appends a shown atom; false stops gringo. C: (uint64 symbol, uint32 atom, void *data, the allocation)."""
        wide = carray(data, (1 << 40,), np.int64)
        shown = wide[_SHOWN]
        if shown >= _SHOWN_LIMIT:
            wide[_FULL] = 1
            return 0
        start = _HEADER + 2 * wide[_LIMIT] + 2 * shown
        wide[start] = np.int64(symbol)
        wide[start + 1] = np.int64(atom)
        wide[_SHOWN] = shown + 1
        return 1

    assert rule.address is not None
    assert output_atom.address is not None
    return rule.address, output_atom.address


def _run_raw(program: str, decoder: RawDecoder, limit: int, ffi: CInterface, lib: CInterface) -> GroundRules:
    limit = max(limit, 1 << 10)
    memory = np.empty(_HEADER + 2 * limit + 2 * _SHOWN_LIMIT, np.int64)
    memory[:_HEADER] = 0
    memory[_LIMIT] = limit
    rule, output_atom = _callbacks()
    observer = ffi.new("clingo_ground_program_observer_t*")
    fields = dict(ffi.typeof("clingo_ground_program_observer_t").fields)
    observer.rule = ffi.cast(fields["rule"].type, rule)
    observer.output_atom = ffi.cast(fields["output_atom"].type, output_atom)

    control = clingo.Control(list(OPTIONS))
    if not lib.clingo_control_register_observer(control._rep, observer, True, ffi.cast("void*", memory.ctypes.data)):
        raise RuntimeError("clingo refuses an observer")
    control.add("base", [], program)
    try:
        control.ground([("base", [])])
    except RuntimeError:
        if memory[_FULL]:
            raise LimitError(f"more than {limit} ground literals") from None
        raise
    rules, literals, shown = int(memory[_RULES]), int(memory[_LITERALS]), int(memory[_SHOWN])
    narrow = memory.view(np.int32)
    heads = 2 * (_HEADER + limit)
    body_start = np.zeros(rules + 1, np.int64)
    body_start[1:] = memory[_HEADER : _HEADER + rules]
    first = _HEADER + 2 * limit
    table = memory[first : first + 2 * shown].reshape(shown, 2)
    terms = decoder.terms(table[:, 0].view(np.uint64).copy())
    return GroundRules(
        head=narrow[heads : heads + rules].copy(),
        body_start=body_start,
        body=narrow[heads + limit : heads + limit + literals].copy(),
        shown=list(zip(terms, table[:, 1].tolist(), strict=True)),
    )


# -------------------------------------------------------------------------------------------------- public fallback


class _PublicObserver(clingo.Observer):
    """The same through clingo's public interface, in lists."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.heads: list[int] = []
        self.ends = [0]
        self.body: list[int] = []
        self.shown: list[tuple[clingo.Symbol, int]] = []

    def rule(self, choice: bool, head: Sequence[int], body: Sequence[int]) -> None:
        if choice or len(head) != 1:
            return
        if len(self.body) + len(body) > self.limit or len(self.heads) >= self.limit:
            raise LimitError(f"more than {self.limit} ground literals")
        self.heads.append(head[0])
        self.body.extend(body)
        self.ends.append(len(self.body))

    def output_atom(self, symbol: clingo.Symbol, atom: int) -> None:
        self.shown.append((symbol, atom))


def _run_public(program: str, constants: Sequence[str], names: Mapping[str, str], limit: int) -> GroundRules:
    observer = _PublicObserver(limit)
    decoder = SymbolDecoder(constants, names)
    control = clingo.Control(list(OPTIONS))
    control.register_observer(observer, replace=True)
    control.add("base", [], program)
    control.ground([("base", [])])
    return GroundRules(
        head=np.array(observer.heads, np.int32),
        body_start=np.array(observer.ends, np.int64),
        body=np.array(observer.body, np.int32),
        shown=[(decoder.decode(symbol), atom) for symbol, atom in observer.shown],
    )
