"""What a wrong `.lit` test is told: the place, what is wrong there, what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxmm.arith import Type
from ptxmm.errors import InputError
from ptxmm.program import Assign, Binary, Const, Reg, Select
from ptxmm.syntax import read_programs
from ptxmm.syntax.lit import read

MEMORY = """ptx t
.global .u32 x;
.global .u32 a[4];
.global .u64 q;
.shared @ d0.c1.b1 .u32 s;
.alias y = x;
"""
GOLDEN = Path(__file__).parent / "golden" / "lit_errors.txt"


def golden() -> list[tuple[str, str]]:
    blocks = GOLDEN.read_text(encoding="utf-8").split("\n===\n")
    pairs = [block.split("\n---\n") for block in blocks if block.strip()]
    return [(text.replace("@memory\n", MEMORY), message) for text, message in pairs]


def error(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read(text, "t.lit")
    return caught.value


def code(line: str) -> str:
    return f"{MEMORY}thread A @ d0.c0.b0 {{\n    {line}\n}}\n"


@pytest.mark.parametrize(("text", "message"), golden(), ids=lambda part: part.rpartition("error: ")[2].split("\n")[0])
def test_each_mistake_is_told_with_its_place_and_a_remedy(text: str, message: str) -> None:
    assert str(error(text)) == message


@pytest.mark.parametrize(
    ("line", "column", "word"),
    [
        ("lod.weak.u32 r0, [x];", 5, "unknown instruction"),
        ("st.weak.gpu.u32 [x], 1;", 13, "scope"),
        ("st.release.u32 [x], 1;", 8, "scope"),
        ("mbarrier.arrive.release.cta.expect_tx _, [x], 16;", 33, "wrong place"),
        ("@p ld.weak.u33 r0, [x];", 16, "u33"),
        ("ld.weak.u32 r0, [a+16];", 21, "a+16"),
        ("ld.weak.u32 x, [x];", 17, "register"),
        ("st.weak.u32 [x], 4294967296;", 22, "4294967296"),
        ("bar.sync 0, 33;", 17, "33"),
        ("mbarrier.arrive.shared.b64 _, [x];", 35, "shared memory"),
        ("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [x, {r0}], [a];", 59, "no tensor map"),
        ("fence.proxy.async.local;", 23, "local"),
        ("await mbarrier.arrive [s];", 11, "repeats a test"),
    ],
)
def test_a_mistake_in_an_instruction_is_pointed_at(line: str, column: int, word: str) -> None:
    found = error(code(line))
    assert (found.at.line, found.at.column) == (8, column)
    assert word in found.message


@pytest.mark.parametrize(
    ("line", "word", "hint"),
    [
        ("__syncthreads();", "__syncthreads", "`bar.sync 0;`"),
        ("__threadfence();", "__threadfence", "`fence.sc.gpu;`"),
        ("__threadfence_system();", "__threadfence_system", "`fence.sc.sys;`"),
        ("atomicAdd(&x, 1);", "atomicAdd", "`atom.relaxed.gpu.add.u32 r0, [x], 1;`"),
        ("r0 = atomicCAS_block(&x, 0, 1);", "atomicCAS_block", "`atom.relaxed.cta.cas.b32 r0, [x], 0, 1;`"),
        ("for (i = 0; i < 3; i = i + 1) { }", "for", "`repeat (3) { … }`"),
        ("while (1) { break; }", "break", "`bra OUT;`"),
        ('asm volatile("bar.sync 0;");', "asm", "the instruction itself"),
    ],
)
def test_a_word_of_another_language_is_told_in_this_one(line: str, word: str, hint: str) -> None:
    found = error(code(line))
    assert found.at.source[found.at.column - 1 :].startswith(word)
    assert hint in found.hint


@pytest.mark.parametrize(("expression", "operator"), [
    ("h / h", "/"), ("h % h", "%"), ("h & h", "&"), ("h ^ h", "^"), ("h << 1", "<<"), ("~h", "~"), ("popc(h)", "popc"),
    ("div.f32(h, h)", "/"), ("xor.f16x2(1, 2)", "^"),
])  # fmt: skip
def test_operators_of_integers_are_refused_for_floating_numbers(expression: str, operator: str) -> None:
    message = error(code(f".reg .f32 h = 1.5; r = {expression};")).message
    assert message.startswith(f"`{operator}` is of integers, and this is `.f")


def test_minus_zero_is_no_truth() -> None:
    (program,) = read(code("ld.f32 h, [x]; p = !h; v = h ? 1 : 2;").replace(".u32 x;", ".f32 x = -0.0;"), "t.lit")
    same, chosen = (one.value for one in program.threads[0].body if isinstance(one, Assign))
    assert same == Binary("==", Reg("h"), Const(0), Type("f", 32))
    assert chosen == Select(Binary("!=", Reg("h"), Const(0), Type("f", 32)), Const(1), Const(2))


def test_an_error_after_a_substitution_points_at_the_cell() -> None:
    text = code("st.weak$S.u32 [x], $V;") + "variants\n  name | S    | V\n  a    | -    | 1\n  b    | .gpu | 1\nend\n"
    found = error(text)
    assert text.splitlines()[found.at.line - 1] == found.at.source == "  b    | .gpu | 1"
    assert found.at.source[found.at.column - 1 :].startswith("gpu")
    assert "variant `b`" in found.message


def test_an_error_around_a_substitution_points_at_the_template() -> None:
    text = code("st.weak.u32 [x], $V; st.weak.u32 [xx], 1;") + "variants\n  name | V\n  a    | 100000\nend\n"
    found = error(text)
    assert found.at.source == "    st.weak.u32 [x], $V; st.weak.u32 [xx], 1;"
    assert found.at.source[found.at.column - 1 :].startswith("xx")


def test_a_message_never_names_a_terminal_of_the_grammar() -> None:
    for text in (
        "ptx",
        "ptx t .global",
        "ptx t .global .u32 x[",
        code("@"),
        code("if"),
        code("r0 = "),
        code("ld r0 ]"),
    ):
        assert not {"WORD", "SEMICOLON", "__ANON", "Token"} & set(str(error(text)).replace("`", " ").split())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"ptx t\n// caf\xe9\n", "2:7: error: this is not UTF-8"),
        (b"\x7fELF\0\0", "binary"),
        (b"", "expected `ptx NAME`"),
        (b"ptx t\n" + b" " * (17 << 20), "too large"),
    ],
)
def test_an_unreadable_file_is_an_error_that_names_it(content: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "t.lit"
    file.write_bytes(content)
    with pytest.raises(InputError, match="error") as caught:
        read_programs(file)
    assert said in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_folder_and_a_missing_file_are_errors(tmp_path: Path) -> None:
    (tmp_path / "folder.lit").mkdir()
    for name, said in (("folder.lit", "folder"), ("none.lit", "cannot read"), ("x.txt", "no reader")):
        with pytest.raises(InputError, match=said):
            read_programs(tmp_path / name)


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "t.lit").write_bytes(
        b"\xef\xbb\xbfptx t\r\n.global .u32 x;\r\nthread A @ d0.b0 { st.weak.u32 [x], 1; }\r\n"
    )
    assert read_programs(tmp_path / "t.lit")[0].name == "t"
