"""Memory that a test reaches through other proxies: where it lies, and the instructions of PTX that reach it so.

`ldc` is `ld.const` from the constant bank of the module, whose bytes have global addresses too. `tld` is `tex` through
a texture object, over the memory that `st` writes or over a CUDA array. `suld` and `sust` go through a surface object,
which only a CUDA array has, and a CUDA array has no address.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ptxmm.errors import Unsupported
from ptxmm.gpu.columns import columns
from ptxmm.gpu.epochs import WORD, epochs
from ptxmm.program import Addr, FinalMem, Load, Program, Proxy, ProxyFence, Space, Statement, Store, named

BANK = 1 << 15
"""Bytes of the constant bank that a test has, and as many its control: a module has 64 KiB."""

MOST = 128
"""Bytes of the constant bank that one copy may have: 256 copies run in a CTA."""

SYMBOL = "constants"
"""The constant bank in a module."""

ROW = 4096
"""Texels of a row of an array; a word is a texel."""

ARTIFACT = ("texture", "surface", "constant")
"""Fences of the mixed-proxy model that no version of PTX has."""


class Home(StrEnum):
    """Where an object lies that has views."""

    GLOBAL = "global"
    BANK = "bank"
    ARRAY = "array"


@dataclass(frozen=True, slots=True)
class Views:
    """What a kernel needs of the driver: a texture, of global memory at its first or second address or of an array.

    `bank` is how many bytes of the constant bank each copy of the test has.
    """

    texture: str = ""
    surface: bool = False
    bank: int = 0

    @property
    def array(self) -> bool:
        """Whether objects lie in an array."""
        return self.surface or self.texture == "array"


def viewed(statement: Statement) -> bool:
    """Whether a statement goes through a proxy that is for reading constants, or for textures and surfaces."""
    return isinstance(statement, Load | Store) and statement.proxy is not Proxy.GENERIC


def homes(program: Program) -> dict[str, Home]:
    """Where each object lies that is reached through other proxies; Unsupported says what a GPU cannot do.

    >>> from ptxmm.syntax.lit import read
    >>> (test,) = read('''ptx t
    ... .global .u32 x; .global .u32 y; .texref t = x; .constref c = y; .surfref s = x;
    ... thread A @ d0.c0.b0 { tld.u32 r0, [t]; ldc.u32 r1, [c]; ld.u32 r2, [y]; }''', "t.lit")
    >>> homes(test)
    {'x': <Home.GLOBAL: 'global'>, 'y': <Home.BANK: 'bank'>}
    """
    if all(view.proxy is Proxy.GENERIC for view in program.views):
        return {}
    found: dict[str, set[Proxy]] = {}
    for name, proxy in _uses(program):
        found.setdefault(program.physical(name).name, set()).add(proxy)
    if found:
        _ensure_ptx(program)
    return {name: _home(program, name, proxies) for name, proxies in found.items()}


def views(program: Program) -> Views:
    """What the kernel of a test needs of the driver."""
    lie = homes(program)
    if not lie:
        return Views()
    reads = {_texture(program, name, lie) for name, proxy in _uses(program) if proxy is Proxy.TEXTURE}
    if len(reads) > 1:
        raise Unsupported("its textures are of different memory, and a launch has one")
    bank = sum(program.physical(name).size for name, home in lie.items() if home is Home.BANK)
    if bank > MOST:
        raise Unsupported(
            f"its constant views have more than {MOST} bytes, and few copies of that fit in the constant bank"
        )
    return Views(
        texture=next(iter(reads), ""),
        surface=any(proxy is Proxy.SURFACE for _, proxy in _uses(program)),
        bank=bank,
    )


def bank_place(program: Program, name: str) -> int:
    """Where an object is among the bytes of the constant bank that a copy of the test has."""
    inside = [each for each, home in homes(program).items() if home is Home.BANK]
    return sum(program.physical(each).size for each in inside[: inside.index(name)])


def address_lines(program: Program, name: str, register: str) -> tuple[str, ...]:
    """What puts the address of an object of this copy into a register: that in global memory, if it has one."""
    if program.physical(name).space is Space.CONST:
        return (f"mov.u64 {register}, {symbol(program, name)}",)
    if homes(program).get(name) is Home.BANK:
        return (
            f"mad.wide.u32 {register}, slot_here, {views(program).bank}, bank",
            f"add.s64 {register}, {register}, {bank_place(program, name)}",
        )
    place = [item.name for item in program.objects if item.space is Space.GLOBAL].index(name)
    return (f"mad.lo.s64 {register}, array, {place}, here",)


def symbol(program: Program, name: str) -> str:
    """The array of an object in constant memory, as the module names it."""
    return f"constant{program.objects.index(program.physical(name))}"


def _uses(program: Program) -> Iterator[tuple[str, Proxy]]:
    """The views that accesses go through, with their proxies."""
    for thread in program.threads:
        for statement in thread.body:
            if isinstance(statement, Load | Store) and viewed(statement):
                yield from ((name, statement.proxy) for name in named(statement.address))


def _ensure_ptx(program: Program) -> None:
    statements = [s for thread in program.threads for s in thread.body]
    for statement in statements:
        if isinstance(statement, ProxyFence) and statement.kind in ARTIFACT:
            raise Unsupported(f"PTX has no `fence.proxy.{statement.kind}`")
    plain = all(isinstance(s.address, Addr) for s in statements if isinstance(s, Load | Store) and viewed(s))
    if not plain or epochs(program) is None:
        raise Unsupported(
            f"it has views through other proxies, and not only words of {WORD} bits that hold small constants: "
            "what an earlier round left in the caches could not be told apart"
        )


def _home(program: Program, name: str, proxies: set[Proxy]) -> Home:
    aliases = [view for view in program.views if view.proxy is Proxy.GENERIC and _is(program, view.name, name)]
    if Proxy.SURFACE in proxies and _has_address(program, name):
        raise Unsupported(
            f"`{name}` is reached by its address or asked for in the end, and a CUDA array, of which a surface is, "
            "has none"
        )
    if Proxy.CONSTANT in proxies and len(proxies) > 1:
        raise Unsupported(f"`{name}` has a constant view and another, and lies either in the constant bank or outside")
    if proxies & {Proxy.CONSTANT, Proxy.SURFACE} and aliases:
        raise Unsupported(f"`{name}` has a second address, which constant banks and CUDA arrays have not")
    if Proxy.CONSTANT in proxies:
        return Home.BANK
    return Home.ARRAY if Proxy.SURFACE in proxies else Home.GLOBAL


def _has_address(program: Program, name: str) -> bool:
    """Whether generic instructions reach an object, or its final value is asked for, which the harness loads."""
    accesses = (s for thread in program.threads for s in thread.body if isinstance(s, Load | Store) and not viewed(s))
    reached = (s.address.name for s in accesses if isinstance(s.address, Addr))
    asked = (column.name for column in columns(program) if isinstance(column, FinalMem))
    return any(_is(program, each, name) for each in (*reached, *asked))


def _texture(program: Program, view: str, lie: dict[str, Home]) -> str:
    name = program.physical(view).name
    if lie[name] is Home.ARRAY:
        return "array"
    return "first" if program.virtual(view) == name else "second"


def _is(program: Program, view: str, name: str) -> bool:
    return program.physical(view).name == name
