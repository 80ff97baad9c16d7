"""What is wrong with an instruction, where it says so, and what would be right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from isa_forms import read

from ptxmm.arith import Type
from ptxmm.errors import InputError
from ptxmm.isa import form_of
from ptxmm.isa_form import Form
from ptxmm.isa_table import QUALIFIERS, ROWS
from ptxmm.program import Object, Proxy, Space, View

MEMORY: dict[str, Object | View] = {
    "x": Object("x"),
    "y": Object("y"),
    "a": Object("a", length=8),
    "b": Object("b", Type("b", 32)),
    "c": Object("c", Type("u", 8)),
    "k": Object("k", space=Space.CONST),
    "p": Object("p", space=Space.PARAM),
    "s": Object("s", length=8, space=Space.SHARED),
    "t": View("t", "x", Proxy.TEXTURE),
}

WRONG = [
    ("st.weak.gpu [x], 1", "gpu", "`st.weak` takes no scope", "write `st.relaxed.gpu` for a strong store"),
    (
        "ld.gpu %r0, [x]",
        "gpu",
        "`ld` without a memory order is weak and takes no scope",
        "write `ld.relaxed.gpu` for a strong load",
    ),
    ("ld.volatile.sys %r0, [x]", "sys", "`ld.volatile` takes no scope", "it always has the scope of the system"),
    (
        "ld.acquire %r0, [x]",
        "acquire",
        "`ld.acquire` needs a scope",
        "write `ld.acquire.gpu`, or with `.cta`, `.cluster` or `.sys`",
    ),
    (
        "st.release.global.u32 [x], 1",
        "release",
        "`st.release` needs a scope",
        "write `st.release.gpu`, or with `.cta`, `.cluster` or `.sys`",
    ),
    (
        "ld.acquire.gpu.const %r0, [k]",
        "acquire",
        "`.acquire` is for `.global` and `.shared` memory",
        "write `ld.const`",
    ),
    (
        "st.relaxed.gpu.u32 [k], 1",
        "[k]",
        "`k` is declared `.const`, which is read only",
        "use `.global` or `.shared` memory",
    ),
    ("st.const.u32 [k], 1", "const", "`.const` memory is read only", "use `.global` or `.shared` memory"),
    (
        "atom.add %r0, [p], 1",
        "[p]",
        "`p` is declared `.param`, which is read only",
        "use `.global` or `.shared` memory",
    ),
    (
        "ld.relaxed.gpu %r0, [k]",
        "[k]",
        "`k` is declared `.const`, which takes weak accesses only",
        "use `.global` or `.shared` memory",
    ),
    (
        "ld.release.gpu %r0, [x]",
        "release",
        "`ld` takes no `.release`",
        "its order is `.weak`, `.relaxed`, `.acquire` or `.volatile`",
    ),
    ("red.acquire.gpu.add.u32 [x], 1", "acquire", "`red` takes no `.acquire`", "its order is `.relaxed` or `.release`"),
    ("ld.relaxd.gpu %r0, [x]", "relaxd", "unknown qualifier `.relaxd`", "did you mean `relaxed`?"),
    ("ld.relaxed.gpu.gpu %r0, [x]", "gpu", "`.gpu` stands twice: `ld` takes one scope", "keep one of them"),
    (
        "ld.relaxed.acquire.gpu %r0, [x]",
        "acquire",
        "`.relaxed` and `.acquire` exclude each other: `ld` takes one order",
        "keep one of them",
    ),
    (
        "red.async.mbarrier::complete_tx::bytes.relaxed.cluster.add.u32 [x], 1, [x]",
        "relaxed",
        "`.relaxed` stands in the wrong place",
        "write `red.async.relaxed.cluster.mbarrier::complete_tx::bytes.add.u32`",
    ),
    (
        "mbarrier.try_wait.acquire.cta.parity.b64 %p0, [x], 0",
        "parity",
        "`.parity` stands in the wrong place",
        "write `mbarrier.try_wait.parity.acquire.cta.b64`",
    ),
    ("ld..u32 %r0, [x]", ".", "a qualifier is missing here", ""),
    ("ld. %r0, [x]", " ", "a qualifier is missing here", ""),
    ("stt.relaxed.gpu [x], 1", "stt", "unknown instruction `stt`", "did you mean `st`?"),
    (
        "barrier.cluster.sync",
        "barrier.cluster.sync",
        "unknown instruction `barrier.cluster.sync`",
        "write `barrier.cluster.arrive` or `barrier.cluster.wait`",
    ),
    ("bar.warp", "bar.warp", "unknown instruction `bar.warp`", "write `bar.warp.sync`"),
    ("fence", "fence", "`fence` needs a scope", "write `fence.gpu`, or with `.cta`, `.cluster` or `.sys`"),
    ("fence.sc", "sc", "`fence.sc` needs a scope", "write `fence.sc.gpu`, or with `.cta`, `.cluster` or `.sys`"),
    (
        "fence.acquire.sync_restrict::shared::cta.cluster",
        "acquire",
        "`.sync_restrict::shared::cta` goes with `.release`",
        "write `fence.release.sync_restrict::shared::cta.cluster`",
    ),
    (
        "fence.release.sync_restrict::shared::cta.gpu",
        "gpu",
        "`.sync_restrict::shared::cta` needs the scope `.cluster`",
        "write `fence.release.sync_restrict::shared::cta.cluster`",
    ),
    ("fence.proxy", "fence.proxy", "`fence.proxy` names no proxy", "add `.alias`"),
    ("fence.proxy.textur", "textur", "unknown qualifier `.textur`", "did you mean `texture`?"),
    (
        "fence.proxy.alias.release",
        "release",
        "`fence.proxy.alias.release` needs a scope",
        "write `fence.proxy.alias.release.sys`: it has no other",
    ),
    ("fence.proxy.alias.acquire.gpu", "gpu", "`fence.proxy` takes no `.gpu`", "its scope is `.sys`"),
    (
        "fence.proxy.alias.sys",
        "sys",
        "`fence.proxy.alias` takes no scope",
        "the one-sided halves have `.release.sys` and `.acquire.sys`",
    ),
    (
        "fence.proxy.alias.acq_rel.sys",
        "acq_rel",
        "`fence.proxy` takes no `.acq_rel`",
        "its order is `.release` or `.acquire`",
    ),
    ("membar.gpu", "gpu", "`membar` takes no `.gpu`", "its level is `.cta`, `.gl` or `.sys`"),
    ("ld %r0", "ld", "`ld` takes 2 operands, not 1", "write `ld r0, [x]`"),
    ("ld %r0, [x], 1", "1", "`ld` takes 2 operands, not 3", "write `ld r0, [x]`"),
    ("fence.gpu 1", "1", "`fence.gpu` takes no operands, not 1", "write `fence.gpu`"),
    ("ld [x], %r0", "%r0", "`ld` needs an address in brackets here, not a register", "write `[%r0]`"),
    ("ld %r0, x", "x", "`ld` needs an address in brackets here, not a value", "write `[x]`"),
    ("ld 1, [x]", "1", "the result of `ld` goes to a register, not a value", "write a register, or `_` for none"),
    ("st [x], [y]", "[y]", "`st` needs a value here, not an address in brackets", "load it into a register first"),
    ("ld.v2 %r0, [a]", "%r0", "`.v2` needs a vector of 2 here, not a register", "write `{a, b, …}`"),
    ("ld.v4 {%r0, %r1}, [a]", "{%r0, %r1}", "`.v4` needs 4 elements, not 2", ""),
    ("ld {%r0, %r1}, [a]", "{%r0, %r1}", "`ld` takes no vector", "write `.v2` before the type"),
    (
        "ld.v2 {%r0, 1}, [a]",
        "1",
        "the result of `ld` goes to a register, not a value",
        "write a register, or `_` for none",
    ),
    ("st.v2 [a], {%r0, _}", "_", "`st` needs a value here, not `_`", ""),
    (
        "ld.v2.b128 {%r0, %r1}, [a]",
        "v2",
        "`.v2` does not go with `.b128`",
        "a vector has at most 128 bits, or 256 as `.v8` of 32-bit or `.v4` of 64-bit elements",
    ),
    ("ld.shared.v8.b32 {%r0, %r1}, [s]", "v8", "a vector of 256 bits is for global memory", "write `ld.global.v8.b32`"),
    (
        "ld.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [s]",
        "[s]",
        "a vector of 256 bits is for global memory, and `s` is declared `.shared`",
        "",
    ),
    (
        "ld.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, _}, [a]",
        "_",
        "`_` in a vector of 256 bits leaves the element unread",
        "write a register",
    ),
    (
        "ld.f16 %r0, [x]",
        "f16",
        "`ld` takes no `.f16`",
        "its type is `.b16`, `.u16` or `.s16`",
    ),
    ("atom.and.u32 %r0, [x], 1", "u32", "`atom.and` has no type `.u32`", "it takes `.b32` or `.b64`"),
    (
        "atom.min.f16 %r0, [x], 1",
        "f16",
        "`atom.min` has no type `.f16`",
        "it takes `.u32`, `.s32`, `.u64` or `.s64`, and floating types as vectors",
    ),
    ("atom.add.f16 %r0, [x], 1", "f16", "`.f16` needs `.noftz`", "write `atom.add.noftz.f16`"),
    ("atom.add.noftz.u32 %r0, [x], 1", "noftz", "`.u32` takes no `.noftz`", "write `atom.add.u32`"),
    ("atom.add.v8.f32 %r0, [x], 1", "v8", "`atom` has no `.v8.f32`", "`.v8` takes `.f16` or `.bf16`"),
    (
        "atom.add.v2.u32 %r0, [x], 1",
        "v2",
        "`atom` has no `.v2.u32`",
        "`.v2` takes `.f16`, `.bf16`, `.f16x2`, `.bf16x2` or `.f32`",
    ),
    ("atom.min.v2.f32 %r0, [x], 1", "min", "`.v2.f32` has no `.min`", "it takes `.add`"),
    ("atom.shared.add.v2.f32 %r0, [x], 1", "shared", "`.v2` is for global memory", "write `atom.global.add.v2.f32`"),
    (
        "atom.add %r0, [b], 1",
        "atom.add",
        "`atom.add` cannot be of the declared type `.b32`",
        "write the type: `.u32`, `.s32`, `.f32`, `.f16x2` or `.bf16x2`",
    ),
    (
        "atom.relaxed.gpu.u32 %r0, [x], 1",
        "atom.relaxed.gpu.u32",
        "`atom.relaxed.gpu.u32` names no operation",
        "add `.and`, `.or`, `.xor`, `.cas`, `.exch`, `.add`, `.inc`, `.dec`, `.min` or `.max`",
    ),
    (
        "atom.cas.b32 %r0, [x], 1",
        "atom.cas.b32",
        "`atom.cas.b32` takes 4 operands, not 3",
        "write `atom.cas.b32 r0, [x], 0, 1`",
    ),
    ("ld.u64 %r0, [x]", "[x]", "8 bytes at `x` do not lie in `x`", "`x` has 4 bytes, declared `.u32`"),
    ("ld %r0, [a+32]", "[a+32]", "4 bytes at `a+32` do not lie in `a`", "`a` has 32 bytes, declared `.u32[8]`"),
    (
        "ld.u32 %r0, [a+2]",
        "[a+2]",
        "4 bytes at `a+2` are not aligned to 4 bytes",
        "PTX leaves misaligned accesses undefined",
    ),
    ("st.u8 [c], 256", "256", "256 is no `.u8`", "a `.u8` is between -2^7 and 2^8-1"),
    ("st [x], -2147483649", "-2147483649", "-2147483649 is no `.u32`", "a `.u32` is between -2^31 and 2^32-1"),
    ("ld %r0, [%r1]", "ld", "`ld` names no type, and the address is in a register", "write the type: `ld.u32`"),
    ("ld %r0, [t]", "[t]", "`ld` cannot reach `t`, a texture view", "use `tld`"),
    ("ld.shared %r0, [x]", "shared", "`x` is declared `.global`, not `.shared`", "write `ld.global`"),
    ("tld %r0, [x]", "[x]", "`tld` is for texture views, and `x` is no texture view", "declare one: `.texref t = x;`"),
    ("sust [t], 1", "[t]", "`sust` is for surface views, and `t` is no surface view", "declare one: `.surfref t = x;`"),
    (
        "tld %r0, [%r1]",
        "[%r1]",
        "`tld` is for texture views, and the address names no texture view",
        "declare one: `.texref t = x;`",
    ),
    ("ld %r0, [zz]", "[zz]", "unknown location `zz`", "declare `.global .u32 zz;`"),
    (
        "ld.local %r0, [x]",
        "local",
        "`.local` memory is private to a thread",
        "a litmus test needs no local memory: use a register",
    ),
    ("ld.ca.relaxed.gpu %r0, [x]", "ca", "`.relaxed` takes no `.ca`", "write `ld.relaxed.gpu`"),
    ("ld.relaxed.gpu.ca %r0, [x]", "ca", "`.relaxed` takes no `.ca`", "write `ld.relaxed.gpu`"),
    (
        "ld.ca.L1::evict_last %r0, [x]",
        "L1::evict_last",
        "`.ca` and `.L1::evict_last` exclude each other",
        "keep one of them",
    ),
    (
        "ld.L2::evict_last.u32 %r0, [x]",
        "L2::evict_last",
        "`.L2::evict_last` is for vectors of 256 bits",
        "a `.v8` of 32-bit or a `.v4` of 64-bit elements takes it",
    ),
    (
        "ld.volatile.L1::evict_last %r0, [x]",
        "L1::evict_last",
        "`.volatile` takes no `.L1::evict_last`",
        "write `ld.volatile`",
    ),
    (
        "ld.shared.L2::cache_hint %r0, [s], %r1",
        "L2::cache_hint",
        "`.L2::cache_hint` is for global memory",
        "write `ld.shared`",
    ),
    (
        "ld.L2::cache_hint %r0, [x]",
        "ld.L2::cache_hint",
        "`ld.L2::cache_hint` takes 3 operands, not 2",
        "write `ld.L2::cache_hint r0, [x], policy`",
    ),
    (
        "atom.cas.L2::cache_hint.b32 %r0, [x], 0, 1, %r1",
        "L2::cache_hint",
        "`.cas` takes no cache hint",
        "write `atom.cas.b32`",
    ),
    ("ld.nc %r0, [x]", "nc", "`.nc` is for global memory", "write `ld.global.nc`"),
    ("ld.weak.global.nc %r0, [x]", "weak", "`.nc` takes no `.weak`", "write `ld.global.nc`"),
    ("ld.global.lu.nc %r0, [x]", "lu", "`.nc` takes no `.lu`", "it takes `.ca`, `.cg` or `.cs`"),
    ("ld.mmio %r0, [x]", "mmio", "`.mmio` needs a memory order", "write `ld.mmio.relaxed.sys`"),
    ("ld.mmio.relaxed.gpu %r0, [x]", "gpu", "`.mmio` needs the scope `.sys`", "write `ld.mmio.relaxed.sys`"),
    (
        "ld.mmio.relaxed.sys.shared %r0, [x]",
        "shared",
        "`.mmio` is for global memory",
        "write `ld.mmio.relaxed.sys.global`",
    ),
    ("ld.mmio.relaxed.sys.v2 %r0, [x]", "v2", "`.mmio` takes no `.v2`", "write `ld.mmio.relaxed.sys`"),
    ("ld.mmio.relaxed.sys %r0, [s]", "[s]", "`.mmio` is for global memory, and `s` is declared `.shared`", ""),
    ("bar.sync 16", "16", "there is no barrier 16", "a CTA has barriers 0 to 15"),
    ("bar.sync 0, 33", "33", "33 threads are no whole warps", "the count is a multiple of 32"),
    ("bar.arrive 0", "bar.arrive", "`bar.arrive` takes 2 operands, not 1", "write `bar.arrive 0, 64`"),
    ("bar.red 0", "red", "`bar.red` names no operation", "add `.popc.u32`, `.and.pred` or `.or.pred`"),
    ("bar.red.popc.pred %p0, 0, %p1", "pred", "`.red.popc` gives `.u32`", "write `bar.red.popc.u32`"),
    ("bar.sync.popc.u32 0", "popc", "`bar.sync` takes no `.popc`", "write `bar.sync`"),
    ("bar.sync.aligned 0", "aligned", "`bar` takes no `.aligned`", "it takes: level, action, operation, type"),
    ("nanosleep 20", "nanosleep", "`nanosleep` names no type", "add `.u32`"),
    (
        "prefetch.L2::evict_last [x]",
        "L2::evict_last",
        "`.L2::evict_last` is for global memory",
        "write `prefetch.global.L2::evict_last`",
    ),
]


@pytest.mark.parametrize(("line", "underlined", "message", "hint"), WRONG, ids=[line for line, *_ in WRONG])
def test_an_error_points_at_what_is_wrong_and_says_what_would_be_right(
    line: str, underlined: str, message: str, hint: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(f"    {line}", MEMORY)
    error = caught.value
    assert (error.message, error.hint) == (message, hint)
    assert error.at.source[error.at.column - 1 :][: error.at.width] == underlined


def test_the_caret_stands_below_the_qualifier() -> None:
    with pytest.raises(InputError) as caught:
        read("  st.weak.gpu [x], 1", MEMORY)
    assert str(caught.value).splitlines() == [
        "test.lit:1:11: error: `st.weak` takes no scope",
        "  st.weak.gpu [x], 1",
        "          ^^^",
        "  hint: write `st.relaxed.gpu` for a strong store",
    ]


OPCODES = sorted({word for row in ROWS for word in row.opcode})
WORDS = [*OPCODES, *sorted(QUALIFIERS), "", "nonsense", "cp", "async", "U32"]


def outcome(mnemonic: str) -> Form | InputError:
    """The form that a mnemonic spells, or the error."""
    try:
        return form_of(mnemonic)
    except InputError as error:
        return error


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
def test_any_words_are_a_form_or_an_error_that_points_into_them(words: list[str]) -> None:
    mnemonic = ".".join(words)
    found = outcome(mnemonic)
    if isinstance(found, Form):
        assert found.but() == mnemonic
    else:
        assert found.message
        assert 0 <= found.at.column <= len(mnemonic)


@given(st.text(max_size=30))
def test_any_text_is_a_form_or_an_error(text: str) -> None:
    found = outcome(text)
    assert found.but() == text if isinstance(found, Form) else found.message
