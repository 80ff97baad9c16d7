"""Accesses through other proxies as PTX: constant, texture and surface instructions with the coordinates of a word."""

from __future__ import annotations

from ptxmm.gpu.names import OPAQUE, Names
from ptxmm.gpu.views import ROW, SYMBOL, Home, address_lines, bank_place, homes, views
from ptxmm.program import Addr, Load, Proxy, Store, View

TEXEL = 4


def proxy_of(names: Names, name: str) -> Proxy:
    """The proxy of a declared name."""
    item = names.program.by_name[name]
    return item.proxy if isinstance(item, View) else Proxy.GENERIC


def access(names: Names, statement: Load | Store, register: str, guard: str = "") -> tuple[str, ...]:
    """An access of a test through another proxy, to or from a register."""
    assert isinstance(statement.address, Addr)
    place = _place(names, statement.address, statement.proxy)
    if isinstance(statement, Store):
        return (f"{guard}sust.b.2d.b32.trap [surface, {{{', '.join(place)}}}], {{{register}}}",)
    load = guard + loaded(names, statement.address, statement.proxy, register, place)
    return (load,) if statement.proxy is Proxy.SURFACE else _held(names, load, place[0])


def touch(names: Names, name: str, register: str) -> str:
    """Read the first word of a view."""
    address, proxy = Addr(name), proxy_of(names, name)
    return loaded(names, address, proxy, register, _place(names, address, proxy))


def _held(names: Names, load: str, coordinate: str) -> tuple[str, ...]:
    """A load that stays where it is: the assembler moves `tex` and `ld.const` past stores and fences.

    It moves nothing before a loop in which a coordinate changes. This one is never repeated, and adds zero; the dollar
    keeps it apart from the loops of the test.
    """
    bits, never = names.code.declared[coordinate], names.never()
    top, zero = names.code.label("$HELD"), _zero(names, bits, 0)
    return f"{top}:", f"add.s{bits} {coordinate}, {coordinate}, {zero}", load, f"@{never} bra {top}"


def _zero(names: Names, bits: int, number: int) -> str:
    """A zero that the assembler does not know to be one."""
    if bits == 64:
        return f"zero{number}"
    narrow = f"narrow{names.number}_{number}"
    if narrow not in names.code.declared:
        names.code.register(narrow, 32)
        names.pre.append(f"    cvt.u32.u64 {narrow}, zero{number};")
    return narrow


def loaded(names: Names, address: Addr, proxy: Proxy, register: str, place: tuple[str, ...]) -> str:
    """The instruction that loads a word into a register."""
    at = ", ".join(place)
    if proxy is Proxy.CONSTANT:
        return f"ld.const.u32 {register}, [{at}]"
    if proxy is Proxy.SURFACE:
        return f"suld.b.2d.b32.trap {{{register}}}, [surface, {{{at}}}]"
    rest = ", ".join(names.code.register(f"texel{number}", 32) for number in range(1, TEXEL))
    return f"tex.{len(place)}d.v4.u32.s32 {{{register}, {rest}}}, [texture, {{{at}}}]"


def _place(names: Names, address: Addr, proxy: Proxy) -> tuple[str, ...]:
    """Registers with the coordinates of a word for one more access: the assembler cannot compare them."""
    program, code = names.program, names.code
    item = program.physical(address.name)
    base = f"v{names.number}_{program.objects.index(item)}_{proxy.value[0]}{address.offset}"
    constant = proxy is Proxy.CONSTANT
    parts = (base,) if constant else tuple(f"{base}_{letter}" for letter in _letters(names, item.name))
    bits = 64 if constant else 32
    count = names.uses[base] = names.uses.get(base, -1) + 1
    if not count:
        lines = _constant(names, address, base) if constant else _texel(names, address, proxy, parts)
        for part in parts:
            code.register(part, bits)
        names.pre[:0] = [f"    {line};" for line in lines]
        return parts
    made, zero = code.register(f"{parts[0]}_{count}", bits), _zero(names, bits, (count - 1) % OPAQUE)
    names.pre.append(f"    add.s{bits} {made}, {parts[0]}, {zero};")
    return made, *parts[1:]


def _letters(names: Names, name: str) -> str:
    return "xy" if homes(names.program)[name] is Home.ARRAY else "x"


def _constant(names: Names, address: Addr, base: str) -> list[str]:
    wide, each = names.code.fresh(64), views(names.program).bank
    start = bank_place(names.program, names.program.physical(address.name).name) + address.offset
    return [
        f"mov.u64 {base}, {SYMBOL}",
        f"cvt.u64.u32 {wide}, inset",
        f"add.s64 {base}, {base}, {wide}",
        f"mad.wide.u32 {base}, slot_here, {each}, {base}",
        f"add.s64 {base}, {base}, {start}",
    ]


def _texel(names: Names, address: Addr, proxy: Proxy, parts: tuple[str, ...]) -> list[str]:
    program, wide = names.program, names.code.fresh(64)
    item = program.physical(address.name)
    lines = [
        *address_lines(program, item.name, wide),
        f"sub.s64 {wide}, {wide}, memory",
        f"add.s64 {wide}, {wide}, {address.offset}",
        f"shr.u64 {wide}, {wide}, {TEXEL.bit_length() - 1}",
        f"cvt.u32.u64 {parts[0]}, {wide}",
    ]
    if len(parts) > 1:
        lines += [
            f"shr.u32 {parts[1]}, {parts[0]}, {ROW.bit_length() - 1}",
            f"and.b32 {parts[0]}, {parts[0]}, {ROW - 1}",
        ]
    if proxy is Proxy.SURFACE:
        lines.append(f"shl.b32 {parts[0]}, {parts[0]}, {TEXEL.bit_length() - 1}")
    return lines
