"""`wait_until` means the instructions that it expands to; loops that wait are recognised as such."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from ptxmm.batch import Piece, decide
from ptxmm.check import Options
from ptxmm.errors import InputError
from ptxmm.program import Label, Thread
from ptxmm.request import Request
from ptxmm.spins import loops, waiting
from ptxmm.syntax.lit import read
from ptxmm.syntax.print_lit import to_lit
from ptxmm.verdict import Result

MEMORY = "ptx t\n.global .u32 w; .global .u64 q; .global .b128 o; .const .u32 k; .shared @ d0.c0.b0 .u32 s;\n"


def thread(body: str) -> Thread:
    (program,) = read(f"{MEMORY}thread A @ d0.c0.b0 {{ {body} }}", "t.lit")
    return program.threads[0]


def expansion(body: str) -> list[str]:
    """The lines of a thread as they are printed, labels by letters in the order of the text."""
    (program,) = read(f"{MEMORY}thread A @ d0.c0.b0 {{ {body} }}", "t.lit")
    text = to_lit(program).split("{", 1)[1].split("}")[0]
    for letter, label in zip("LMNOPQ", [s for s in program.threads[0].body if isinstance(s, Label)], strict=False):
        text = text.replace(label.name, letter)
    return [line.strip() for line in text.splitlines() if line.strip()]


def refused(body: str) -> InputError:
    with pytest.raises(InputError) as caught:
        thread(body)
    return caught.value


def start_is_waiting(body: str) -> list[bool]:
    """For each loop of a thread, whether it is one that only waits."""
    code = thread(body).body
    labels = {s.name: i for i, s in enumerate(code) if isinstance(s, Label)}
    return [head in waiting(code, labels) for head in loops(code, labels)]


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ("", ["L:", "ld.relaxed.gpu.global.u32 r0, [w];", "@(r0 != 2) bra L;", "ld.acquire.gpu.global.u32 _, [w];"]),
        (
            ", close = none, backoff = 40",
            [
                "L:",
                "ld.relaxed.gpu.global.u32 r0, [w];",
                "@(r0 == 2) bra M;",
                "nanosleep.u32 40;",
                "bra L;",
                "M:",
            ],
        ),
        (
            ", seed = dst, poll = volatile",
            [
                "@(r0 == 2) bra M;",
                "L:",
                "ld.relaxed.sys.global.u32 r0, [w];",
                "@(r0 != 2) bra L;",
                "M:",
                "ld.acquire.gpu.global.u32 _, [w];",
            ],
        ),
        (
            ", poll = acquire, close = fence.sc, backoff = 1, seed = dst",
            [
                "@(r0 == 2) bra M;",
                "L:",
                "ld.acquire.gpu.global.u32 r0, [w];",
                "@(r0 == 2) bra M;",
                "nanosleep.u32 1;",
                "bra L;",
                "M:",
                "fence.sc.gpu;",
            ],
        ),
        (
            ", close = fence.acq_rel, poll = weak",
            ["L:", "ld.weak.global.u32 r0, [w];", "@(r0 != 2) bra L;", "fence.acq_rel.gpu;"],
        ),
        (
            ", close = fence.acquire, backoff = 0",
            ["L:", "ld.relaxed.gpu.global.u32 r0, [w];", "@(r0 != 2) bra L;", "fence.acquire.gpu;"],
        ),
    ],
)
def test_a_wait_is_the_instructions_that_it_expands_to(options: str, lines: list[str]) -> None:
    assert expansion(f"wait_until.gpu.global.u32 r0, [w], r0 == 2{options};") == lines


def test_space_and_type_are_those_of_the_memory_where_they_are_not_written() -> None:
    assert expansion("wait_until.sys r0, [q], r0 > 2;")[1] == "ld.relaxed.sys.global.u64 r0, [q];"
    assert expansion("wait_until.cta.shared.u32 r0, [s], r0 > 2;")[3] == "ld.acquire.cta.shared.u32 _, [s];"


def test_a_guarded_wait_is_passed_over_with_its_close() -> None:
    assert expansion("setp.eq.u32 p, 1, 1; @p wait_until.gpu r0, [w], r0 == 1, backoff = 5;")[1:] == [
        "@!p bra N;",
        "L:",
        "ld.relaxed.gpu.global.u32 r0, [w];",
        "@(r0 == 1) bra M;",
        "nanosleep.u32 5;",
        "bra L;",
        "M:",
        "ld.acquire.gpu.global.u32 _, [w];",
        "N:",
    ]


def test_a_repeated_wait_has_labels_of_its_own() -> None:
    code = thread("repeat (3) { wait_until.gpu r0, [w], r0 == 1; }").body
    assert len({s.name for s in code if isinstance(s, Label)}) == 3


def test_a_wait_on_shared_memory_of_another_cta_names_the_cluster() -> None:
    memory = "ptx t .shared @ d0.c0.b1 .u32 s; thread B @ d0.c0.b1 { } thread A @ d0.c0.b0 "
    with pytest.raises(InputError, match="another CTA") as caught:
        read(memory + "{ wait_until.gpu.shared.u32 r0, [s], r0 == 1, poll = volatile; }", "t.lit")
    assert caught.value.hint == "write `wait_until.gpu.shared::cluster.u32`"
    assert caught.value.at.source[caught.value.at.column - 1 :].startswith("shared.u32")


@pytest.mark.parametrize(
    ("poll", "close", "seed", "backoff"),
    list(
        product(
            ("relaxed", "acquire", "volatile", "weak"),
            ("acquire", "fence.acq_rel", "fence.acquire", "fence.sc", "none"),
            ("load", "dst"),
            (0, 20),
        )
    ),
)
def test_every_wait_is_a_loop_that_only_waits(poll: str, close: str, seed: str, backoff: int) -> None:
    options = f"poll = {poll}, close = {close}, seed = {seed}, backoff = {backoff}"
    assert start_is_waiting(f"wait_until.gpu.u32 r0, [w], (r0 ^ 1) >> 31 != 0, {options};") == [True]


@pytest.mark.parametrize(
    ("body", "waits"),
    [
        ("ld.u32 r0, [w]; while (r0 != 1) { ld.relaxed.gpu.u32 r0, [w]; }", True),
        ("while (r0 != 1) { ld.relaxed.gpu.u32 r0, [w]; }", True),
        ("do { ld.relaxed.gpu.u32 r0, [w]; } while (r0 != 1);", True),
        ("do { ld.relaxed.gpu.u32 r0, [w]; p = r0 == 1; } while (!p);", True),
        ("while (r1 < 9) { ld.relaxed.gpu.u32 r0, [w]; r1 = r1 + r0; }", False),
        ("do { ld.relaxed.gpu.u32 r0, [w]; bar.sync 0; } while (r0 != 1);", False),
    ],
)
def test_a_loop_waits_where_its_repetitions_leave_nothing_behind(body: str, waits: bool) -> None:
    assert start_is_waiting(body) == [waits]


@pytest.mark.parametrize(
    ("line", "at", "said", "hint"),
    [
        ("wait_until.u32 r0, [w], r0 == 1;", "wait_until", "needs a scope", "`wait_until.gpu.u32`"),
        ("wait_until.gpu.u32.global r0, [w], r0 == 1;", "global", "wrong place", "`wait_until.gpu.global.u32`"),
        ("wait_until.gpu.gpu r0, [w], r0 == 1;", "gpu r0", "second scope", ""),
        ("wait_until.gqu.u32 r0, [w], r0 == 1;", "gqu", "takes no `.gqu`", "`gpu`"),
        ("wait_until.acquire.gpu r0, [w], r0 == 1;", "acquire", "takes no", "`poll = acquire`"),
        ("wait_until.gpu.b128 r0, [o], r0 == 1;", "b128", "at most 64 bits", "one word"),
        ("wait_until.gpu r0, [o], r0 == 1;", "wait_until", "at most 64 bits", "one word"),
        ("wait_until.gpu.shared.u32 r0, [w], r0 == 1;", "wait_until", "declared `.global`", "until.gpu.global.u32`"),
        ("wait_until.gpu r0, [k], r0 == 1;", "[k]", "", ""),
        ("wait_until.gpu r0, w, r0 == 1;", "w, r0", "address in brackets", "`[w]`"),
        ("wait_until.gpu r0, [ww], r0 == 1;", "ww", "unknown location", "`w`"),
        ("wait_until.gpu _, [w], 1 == 1;", "_, ", "needs a register", ""),
        ("wait_until.gpu r0, [w];", "wait_until", "a condition", "r0 == 1"),
        ("wait_until.gpu r0, [w], close = none;", "wait_until", "a condition", "r0 == 1"),
        ("wait_until.gpu r0, [w], r0 = 1;", "r0 = 1", "assigns", "`==`"),
        ("wait_until.gpu r0, [w], 1;", "1;", "never changes", "`r0 == 1`"),
        ("ld.u32 r1, [w]; wait_until.gpu r0, [w], r1 == 1;", "r1 == 1", "never changes", "`r0 == 1`"),
        ("mov.u64 r0, q; wait_until.gpu.u64 r0, [r0], r0 == 1;", "[r0]", "overwrites", "another register"),
        ("wait_until.gpu r0, [w], r0 == 1, acquire;", "acquire", "stand options", "close"),
        ("wait_until.gpu r0, [w], r0 == 1, clse = acquire;", "clse", "no option `clse`", "`close`"),
        ("wait_until.gpu r0, [w], r0 == 1, close = acqire;", "acqire", "no value of `close`", "`acquire`"),
        ("wait_until.gpu r0, [w], r0 == 1, poll = fence.sc;", "fence.sc", "no value of `poll`", "`relaxed`"),
        ("wait_until.gpu r0, [w], r0 == 1, seed = 1;", "1;", "no value of `seed`", "`dst`"),
        ("wait_until.gpu r0, [w], r0 == 1, poll = weak, poll = weak;", "weak;", "a second `poll`", ""),
        ("wait_until.gpu r0, [w], r0 == 1, backoff = -1;", "-1", "cannot sleep -1 ns", "32 bits"),
        ("wait_until.gpu r0, [w], r0 == 1, backoff = r0;", "r0;", "number of nanoseconds", "`backoff = 40`"),
        ("wait_until.gpu r0, [w], r1 == r0;", "r1", "nothing writes register `r1`", ""),
    ],
)  # fmt: skip
def test_a_mistake_in_a_wait_is_pointed_at(line: str, at: str, said: str, hint: str) -> None:
    found = refused(line)
    assert found.at.source[found.at.column - 1 :].startswith(at)
    assert said in found.message
    assert hint in found.hint
    assert "`ld" not in found.message


CHAIN = """ptx wait-chain
.global .u32 d0; .global .u32 d1; .global .u32 w;
thread A @ d0.c0.b0 { st.weak.u32 [d0], 1; $PUB; }
thread B @ d0.c1.b1 { st.weak.u32 [d1], 1; red.release.gpu.add.u32 [w], 1; }
thread C @ d0.c2.b2 {
    $SET; wait_until.gpu.u32 r0, [w], r0 == 2, $HOW;
    ld.weak.u32 r1, [d0]; ld.weak.u32 r2, [d1];
}
~exists (C.r1 != 1 || C.r2 != 1)
variants
  name     | SET           | PUB                            | HOW                           | expect
  right    | -             | red.release.gpu.add.u32 [w], 1 | close = acquire               | forbidden, no race
  fence    | -             | red.release.gpu.add.u32 [w], 1 | close = fence.acq_rel         | forbidden, no race
  volatile | -             | red.release.gpu.add.u32 [w], 1 | poll = volatile, backoff = 20 | forbidden, no race
  polls    | -             | red.release.gpu.add.u32 [w], 1 | poll = acquire, close = none  | forbidden, no race
  weak     | -             | red.release.gpu.add.u32 [w], 1 | poll = weak, close = acquire  | allowed, race on d0, d1, w
  relaxed  | -             | red.relaxed.gpu.add.u32 [w], 1 | close = acquire               | allowed, race on d0
  open     | -             | red.release.gpu.add.u32 [w], 1 | close = none                  | allowed, race on d0, d1
  seeded   | -             | red.release.gpu.add.u32 [w], 1 | seed = dst                    | forbidden, no race
  told     | mov.u32 r0, 2 | red.release.gpu.add.u32 [w], 1 | seed = dst                    | allowed, race on d0, d1
end
"""


def test_waits_order_what_their_expansion_orders(tmp_path: Path) -> None:
    path = tmp_path / "chain.lit"
    path.write_text(CHAIN, encoding="utf-8")
    answers = decide(Piece(path), Request(Options(properties=frozenset({"outcome", "race"}))))
    assert len(answers) == 9
    for answer in answers:
        assert isinstance(answer, Result)
        assert answer.ok is True, (answer.name, answer.variant, answer.surprises)
