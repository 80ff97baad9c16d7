"""Tests of `ptxmm run` that go through other proxies: constants, textures and surfaces."""

from __future__ import annotations

import re
import shutil
from unittest.mock import patch

import pytest
from machine.memory import Fault, Memory
from machine.runs import seen, states
from machine.shown import show, texel

from ptxmm.errors import Unsupported
from ptxmm.gpu import proxied
from ptxmm.gpu.audit import audit
from ptxmm.gpu.epochs import EPOCHS, epochs, one_writer_each
from ptxmm.gpu.kernel import entry
from ptxmm.gpu.needed import needed
from ptxmm.gpu.profiles import PROFILES
from ptxmm.gpu.shape import Chip, shape
from ptxmm.gpu.source import kernel
from ptxmm.gpu.views import BANK, Views
from ptxmm.program import Program
from ptxmm.syntax.lit import read

TOOLS = pytest.mark.skipif(
    not (shutil.which("ptxas") and shutil.which("nvdisasm")), reason="ptxas and nvdisasm are not installed"
)
VIEWS = ".texref t = x; .surfref s = x; .constref c = x;"
WAYS = [
    ("st.u32 [x]", "tld.u32 r1, [t]"),
    ("st.u32 [x]", "ldc.u32 r1, [c]"),
    ("sust.u32 [s]", "suld.u32 r1, [s]"),
    ("sust.u32 [s]", "tld.u32 r1, [t]"),
]


def only(text: str) -> Program:
    (program,) = read(text, "t.lit")
    return program


def message(
    store: str, load: str, *, between: str = "", objects: str = f".global .u32 x; {VIEWS}", value: int = 3,
    asked: str = "B.r1 == 0",
) -> Program:  # fmt: skip
    """A message about a word that is written by `store` and read by `load`."""
    return only(
        f"""ptx message .global .u32 y; {objects} .global .u32 f;
        thread A @ d0.c0.b0 {{ {store}, {value}; {between} st.release.gpu.u32 [f], 1; }}
        thread B @ d0.c1.b1 {{ ld.acquire.gpu.u32 r0, [f]; if (r0 == 1) {{ {load}; }} }}
        exists (B.r0 == 1 && {asked})"""
    )


@pytest.mark.parametrize(("store", "load"), WAYS)
def test_what_is_written_is_read_through_another_proxy(store: str, load: str) -> None:
    (counted,) = seen(message(store, load), passes=3, launches=2)
    assert states(counted) == {(0, 0), (1, 3)}


@pytest.mark.parametrize(("store", "load"), [way for way in WAYS if "suld" not in way[1]])
@pytest.mark.parametrize(("profile", "shown"), [("few", {(0, 0), (1, 7)}), ("plain", {(0, 0), (1, 3), (1, 7)})])
def test_what_a_cache_keeps_from_earlier_rounds_is_the_initial_value(
    store: str, load: str, profile: str, shown: set[tuple[int, int]]
) -> None:
    program = message(store, load, objects=f".global .u32 x = 7; {VIEWS}")
    (counted,) = seen(program, profile=PROFILES[profile], passes=4, launches=2, stale=True)
    assert states(counted) == shown


@pytest.mark.parametrize("load", ["tld.u32 r1, [t]", "ldc.u32 r1, [c]"])
def test_the_final_value_of_memory_with_views_is_known(load: str) -> None:
    (counted,) = seen(message("st.u32 [x]", load, asked="x == 3"))
    assert states(counted) == {(0, 3), (1, 3)}
    text = f"ptx t .global .u32 y; .global .u32 x; {VIEWS} thread A @ d0.c0.b0 {{ st.u32 [x], 2; {load}; }}"
    assert states(seen(only(text))[0]) == {(2, 0, 2)}


@pytest.mark.parametrize(("store", "load"), WAYS)
def test_a_test_and_its_control_have_words_of_their_own(store: str, load: str) -> None:
    test, control = message(store, load), message(store, load, value=5)
    seen_in = [states(counted) for counted in seen(test, control, passes=2, launches=3, occupancy=4)]
    assert seen_in == [{(0, 0), (1, 3)}, {(0, 0), (1, 5)}]


@pytest.mark.parametrize(("store", "load"), WAYS)
def test_where_epochs_begin_again_memory_behind_views_is_cleared_too(store: str, load: str) -> None:
    (counted,) = seen(message(store, load), first=EPOCHS - 3, passes=2, launches=3)
    assert states(counted) == {(0, 0), (1, 3)}


@pytest.mark.parametrize(("store", "load"), WAYS)
def test_each_word_of_an_object_has_its_place_in_a_view(store: str, load: str) -> None:
    four = f".global .u32 x[4] = {{7, 8, 9, 10}}; {VIEWS}"
    both = f"{load.replace(']', '+8]')}; {load.replace('r1', 'r2')}"
    (counted,) = seen(message(store.replace("]", "+8]"), both, objects=four, asked="B.r1 == 9 && B.r2 == 8"))
    assert states(counted) == {(0, 0, 0), (1, 3, 7)}


def test_a_texture_of_an_alias_is_of_the_second_address() -> None:
    program = message("st.u32 [x]", "tld.u32 r1, [t]", objects=".global .u32 x; .alias a = x; .texref t = a;")
    made = kernel(program)
    assert made.views == Views(texture="second")
    assert made.aliased
    assert states(seen(program)[0]) == {(0, 0), (1, 3)}


def test_views_that_nothing_goes_through_need_nothing() -> None:
    made = kernel(message("st.u32 [x]", "ld.u32 r1, [x]"))
    assert made.views == Views()
    assert not made.aliased
    assert ".const" not in made.text


def test_values_tell_rounds_apart_so_that_a_stale_word_is_an_initial_one() -> None:
    program = message("st.u32 [x]", "tld.u32 r1, [t]", between="fence.proxy.alias;")
    assert epochs(program) == {("y", 0): 0, ("x", 0): 0, ("f", 0): 0}
    assert kernel(program).stamped


def test_stores_at_two_addresses_may_overtake_each_other_from_round_to_round() -> None:
    text = "ptx t .global .u32 x; .alias a = x; thread A @ d0.c0.b0 { st.u32 [x], 1; st.u32 [%s], 2; ld.u32 r, [x]; }"
    assert one_writer_each(only(text % "x"))
    assert not one_writer_each(only(text % "a"))


@pytest.mark.parametrize(
    ("load", "instruction"),
    [
        ("tld.u32 r1, [t]", r"tex\.1d\.v4\.u32\.s32 \{\w+, texel1, texel2, texel3\}, \[texture, \{\2\}\]"),
        ("ldc.u32 r1, [c]", r"ld\.const\.u32 \w+, \[\2\]"),
    ],
)
def test_what_the_assembler_would_move_is_in_a_loop_that_runs_once(load: str, instruction: str) -> None:
    text = kernel(message("st.u32 [x]", load)).text
    held = rf"(\$HELD_\d+):\n\s+add\.s\d\d (\w+), \2, \w+;\n\s+{instruction};\n\s+@never1 bra \1;"
    assert re.search(held, text)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
@pytest.mark.parametrize("sides", [1, 2])
def test_all_copies_fit_into_the_constant_bank(profile: object, sides: int) -> None:
    made = kernel(message("st.u32 [x]", "ldc.u32 r1, [c]"))
    size = shape(made, profile, Chip(132, 60 << 20), 8, sides)  # type: ignore[arg-type]
    assert BANK // 2 < size.instances * made.views.bank <= BANK
    assert f"constants[{2 * BANK}]" in entry(made, made).text


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (message("st.u32 [x]", "tld.u32 r1, [t]", between="fence.proxy.texture;"), "PTX has no `fence.proxy.texture`"),
        (message("st.u32 [x]", "suld.u32 r1, [s]"), "a CUDA array, of which a surface is, has none"),
        (message("sust.u32 [s]", "suld.u32 r1, [s]", asked="x == 3"), "a CUDA array, of which a surface is, has none"),
        (message("sust.u32 [s]", "ld.u32 r1, [x]"), "a CUDA array, of which a surface is, has none"),
        (message("st.u32 [x]", "tld.u32 r1, [t]; ldc.u32 r2, [c]"), "a constant view and another"),
        (
            message("st.u32 [x]", "ldc.u32 r1, [c]", objects=".global .u32 x; .alias a = x; .constref c = a;"),
            "constant banks and CUDA arrays have not",
        ),
        (message("st.u64 [x]", "ldc.u64 r1, [c]", objects=f".global .u64 x; {VIEWS}"), "words of 32 bits"),
        (message("st.u32 [x]", "ldc.u32 r1, [c]", objects=f".global .u32 x[33]; {VIEWS}"), "more than 128 bytes"),
        (
            message(
                "st.u32 [x]",
                "tld.u32 r1, [t]; tld.u32 r2, [u]",
                objects=f".global .u32 x; {VIEWS} .alias a = x; .texref u = a;",
            ),
            "textures are of different memory",
        ),
    ],
)  # fmt: skip
def test_what_a_gpu_cannot_show_is_refused_with_the_reason(program: Program, why: str) -> None:
    with pytest.raises(Unsupported, match=re.escape(why)):
        kernel(program)


@pytest.mark.parametrize(
    ("instruction", "machine"),
    [
        ("ld.const.u32 v1, [c]", "LDC"),
        ("tex.1d.v4.u32.s32 {a, b, c, d}, [texture, {x}]", "TLD"),
        ("suld.b.2d.b32.trap {a}, [surface, {x, y}]", "SULD"),
        ("@p sust.b.2d.b32.trap [surface, {x, y}], {a}", "SUST"),
    ],
)
def test_accesses_through_other_proxies_have_machine_instructions_of_their_own(instruction: str, machine: str) -> None:
    found = needed(instruction)
    assert found is not None
    assert machine in found.accesses


@TOOLS
@pytest.mark.parametrize("load", ["tld.u32 r1, [t]", "ldc.u32 r1, [c]"])
def test_the_audit_sees_what_the_assembler_moves_and_that_a_loop_keeps_it(load: str) -> None:
    program = only(
        f"ptx own .global .u32 x; {VIEWS} thread A @ d0.c0.b0 {{ st.u32 [x], 1; {load}; }} exists (A.r1 == 0)"
    )
    assert audit(entry(kernel(program)).text, "sm_90").label == "as written"
    with patch.object(proxied, "_held", lambda _names, load, _coordinate: (load,)):
        assert audit(entry(kernel(program)).text, "sm_90").label == "reordered by ptxas"


def test_the_machine_knows_what_a_texture_and_a_surface_show() -> None:
    class Thread:
        memory = Memory()

    thread = Thread()
    surface = show(thread.memory, "surface", 1 << 16, (8, 2))
    assert texel(thread, "surface", surface, 12, 1) == (1 << 16) + 4 * (8 + 3)  # type: ignore[arg-type]
    for kind, places in (("surface", (13, 1)), ("surface", (32, 0)), ("surface", (0, 2)), ("texture", (0, 0))):
        with pytest.raises(Fault):
            texel(thread, kind, surface, *places)  # type: ignore[arg-type]
