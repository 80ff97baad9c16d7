"""What a user is told about a cat file that cannot be read, and that nothing else ever happens."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxmm.cat import read_model
from ptxmm.cat.inline import FARTHEST
from ptxmm.check import Options, check
from ptxmm.enumeration import check as enumerate_all
from ptxmm.errors import InputError
from ptxmm.prove.run import named, prove
from ptxmm.syntax import lit

MODELS = Path(__file__).resolve().parents[1] / "models"

ERRORS = {
    "let a = W ; rf": """\
m.cat:1:9: error: `;` needs a relation, and this is a set
  let a = W ; rf
          ^
  hint: `[S]` is the identity on a set S, `S * S` its pairs""",
    "let a = po * rf": """\
m.cat:1:9: error: `*` needs a set, and this is a relation
  let a = po * rf
          ^^
  hint: `domain(r)` and `range(r)` are sets""",
    "let a = po | W": """\
m.cat:1:14: error: `|` has a set on one side and a relation on the other
  let a = po | W
               ^
  hint: `[S]` is the identity on a set S, `S * S` its pairs""",
    "let a = po | raf": """\
m.cat:1:14: error: nothing is called `raf`
  let a = po | raf
               ^^^
  hint: did you mean `rf`?""",
    "let f(x) = x | nothing-like-this": """\
m.cat:1:16: error: nothing is called `nothing-like-this`
  let f(x) = x | nothing-like-this
                 ^^^^^^^^^^^^^^^^^
  hint: docs/models.md lists the sets and relations that a model may use""",
    "acyclic W as x": """\
m.cat:1:9: error: `acyclic` needs a relation, and this is a set
  acyclic W as x
          ^
  hint: `[S]` is the identity on a set S, `S * S` its pairs""",
    "let a = (po | rf": """\
m.cat:1:17: error: the file ends in the middle of a statement
  let a = (po | rf
                  ^""",
    "let a = po | | rf": """\
m.cat:1:14: error: `|` cannot stand here
  let a = po | | rf
               ^
  hint: a set or a relation is wanted""",
    "acyclic po rf": """\
m.cat:1:12: error: `rf` cannot stand here
  acyclic po rf
             ^^
  hint: an operator is wanted (| ; \\ & * + ? ^-1), or the end of what came before""",
    "PTX po": """\
m.cat:1:5: error: `po` cannot stand here
  PTX po
      ^^
  hint: a statement starts with `let`, `include`, `flag`, `empty`, `irreflexive`, `acyclic`""",
    "let a = po - rf": """\
m.cat:1:12: error: cat has no `-`
  let a = po - rf
             ^
  hint: a difference is written with a backslash, as in `a \\ b`""",
    'include "never': """\
m.cat:1:9: error: this string is never closed
  include "never
          ^""",
    "let a = po (* never": """\
m.cat:1:12: error: this comment is never closed
  let a = po (* never
             ^^
  hint: end it with `*)`""",
    "let a = ~0": """\
m.cat:1:9: error: `~0` may be a set or a relation
  let a = ~0
          ^
  hint: `_` is all events, `_ * _` all pairs""",
    "let rec a = po | rf \\ a": """\
m.cat:1:23: error: a recursive definition cannot stand here
  let rec a = po | rf \\ a
                        ^
  hint: a least fixpoint needs its names outside of `~` and of what `\\` takes away""",
    "let rec a = R": """\
m.cat:1:13: error: `let rec` needs a relation, and this is a set
  let rec a = R
              ^
  hint: `[S]` is the identity on a set S, `S * S` its pairs""",
    "let rec f(x) = po": """\
m.cat:1:9: error: a recursive definition takes no parameters
  let rec f(x) = po
          ^""",
    "let rec a = po and a = rf": """\
m.cat:1:9: error: `a` is defined twice in one `let rec`
  let rec a = po and a = rf
          ^""",
    "let f(x, x) = x": """\
m.cat:1:5: error: `f` has two parameters of one name
  let f(x, x) = x
      ^""",
    "let f(x) = x ; W empty f(po)": """\
m.cat:1:16: error: `;` needs a relation, and this is a set
  let f(x) = x ; W empty f(po)
                 ^
  hint: `[S]` is the identity on a set S, `S * S` its pairs; this comes from `f(…)` in m.cat, line 1""",
    "empty fencerel(po)": """\
m.cat:1:7: error: `*` needs a set, and this is a relation
  empty fencerel(po)
        ^^^^^^^^
  hint: `domain(r)` and `range(r)` are sets; this comes from `fencerel(…)` in m.cat, line 1""",
    "let f(x) = x empty f(po, rf)": """\
m.cat:1:20: error: `f` takes 1 argument, and here are 2
  let f(x) = x empty f(po, rf)
                     ^""",
    "let f(x) = x empty f": """\
m.cat:1:20: error: `f` is a function
  let f(x) = x empty f
                     ^
  hint: write `f(…)`""",
    "empty po(rf)": """\
m.cat:1:7: error: `po` is no function
  empty po(rf)
        ^^
  hint: `r ; s` is the sequence of two relations""",
    'include "m.cat"': """\
m.cat:1:9: error: `m.cat` includes itself
  include "m.cat"
          ^^^^^^^""",
    'include "nope.cat"': """\
m.cat:1:9: error: there is no file `nope.cat`
  include "nope.cat"
          ^^^^^^^^^^
  hint: it is looked for beside this file, beside those that include it, then among the shipped models""",
    "(* ptxmm: supports alais *)": """\
m.cat:1:20: error: no feature is called `alais`
  (* ptxmm: supports alais *)
                     ^^^^^
  hint: did you mean `alias`?""",
    "(* ptxmm: support alias *)": """\
m.cat:1:11: error: not a ptxmm directive
  (* ptxmm: support alias *)
            ^^^^^^^
  hint: write `(* ptxmm: supports FEATURE, … *)`, `(* ptxmm: hands-on *)`, `(* ptxmm: expect-tx-ends-no-phase *)`""",
    'acyclic po\nshow "co"': """\
m.cat:2:1: error: ptxmm does not support `show`
  show "co"
  ^^^^""",
    "with co from generate_cos(rf)": """\
m.cat:1:1: error: ptxmm does not support `with`
  with co from generate_cos(rf)
  ^^^^""",
    "let f = fun x -> x": """\
m.cat:1:9: error: ptxmm does not support `fun`
  let f = fun x -> x
          ^^^""",
    "acyclic po\nprocedure p() = acyclic po end": """\
m.cat:2:1: error: ptxmm does not support `procedure`
  procedure p() = acyclic po end
  ^^^^^^^^^""",
}


def problem(path: Path | str) -> InputError | None:
    try:
        read_model(str(path))
    except InputError as error:
        return error
    return None


@pytest.mark.parametrize("text", ERRORS, ids=range(len(ERRORS)))
def test_an_error_shows_where_it_is_and_what_would_be_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.cat").write_text(text)
    assert str(problem("m.cat")) == ERRORS[text]


def test_an_unknown_model_is_told_the_near_names() -> None:
    error = problem("ptx-9.3")
    assert error is not None
    assert (error.message, "`ptx-9.4`" in error.hint) == ("no model is called `ptx-9.3`", True)


def test_a_folder_a_missing_file_and_a_huge_one_are_errors(tmp_path: Path) -> None:
    (tmp_path / "huge.cat").write_text("//" + "x" * (1 << 20))
    for path in (tmp_path, tmp_path / "absent.cat", tmp_path / "huge.cat", "a\0b.cat"):
        assert problem(path) is not None


@pytest.mark.parametrize(
    "text",
    [
        "let a = " + "(" * 5000 + "po" + ")" * 5000,
        "let a = " + "toid(domain(" * 500 + "po" + "))" * 500,
        "let a = " + "po | po ; po \\ po & R * domain(" * 49 + "po" + ")" * 49,
        "let a = " + "~" * 5000 + "po",
        "let a = po" + " ^-1" * 5000,
        "let a = po" + " | po" * 5000,
        "let a = po" + "?" * 5000,
        "let f0(x) = x ; x\n" + "".join(f"let f{i + 1}(x) = f{i}(f{i}(x))\n" for i in range(40)) + "empty f40(po)",
        "let f0(x) = x\n" + "".join(f"let f{i + 1}(x) = f{i}(x)\n" for i in range(400)) + "empty f400(po)",
        "let f0(x) = x\n"
        + "".join(f"let f{i + 1}(x) = " + "~" * 140 + f"f{i}(x)\n" for i in range(100))
        + "empty f100(po)",
        "let r0 = po\n" + "".join(f"let r{i + 1} = r{i} ; r{i}\n" for i in range(200)) + "acyclic r200",
        "let rec r = po" + " | r ; rf" * 20 + "\nand s = r ; s\n" + "let s = s ; co\n" * 200 + "acyclic s",
    ],
)
def test_deep_nesting_is_an_error_and_no_crash(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.cat").write_text(text)
    error = problem(tmp_path / "m.cat")
    assert error is not None
    assert "deep" in error.message or "large" in error.message


def test_a_chain_of_definitions_that_is_accepted_can_be_decided_and_reasoned_about(tmp_path: Path) -> None:
    depth = FARTHEST - 1
    text = "let r0 = po\n" + "".join(f"let r{i + 1} = r{i} ; r{i}\n" for i in range(depth)) + f"acyclic r{depth}"
    (tmp_path / "m.cat").write_text(text)
    model = read_model(str(tmp_path / "m.cat"))
    (program,) = lit.read("ptx t .global .u32 x; thread A @ d0.b0 { st.relaxed.gpu [x], 1; } exists (x = 1)", "")
    assert [decide(program, model, Options()).verdict for decide in (check, enumerate_all)] == ["allowed"] * 2
    assert prove(named(("nothing-between",))[0], model, 1.0).verdict == "not proved"


PIECES = sorted(
    {"(", ")", "[", "]", "|", "&", "\\", ";", "*", "+", "?", "^-1", "~", "_", "0", "{}", "=", "let", "rec", "and", "as"}
    | {"po", "rf", "W", "R", "f", "f(x)", "include", "flag", "empty", "acyclic", '"', "(*", "*)", "//", "\n", "\0", "é"}
)


@given(st.lists(st.sampled_from(PIECES), max_size=40))
@settings(max_examples=150, deadline=None)
def test_any_heap_of_tokens_is_read_or_refused(pieces: list[str]) -> None:
    _read_or_refuse(" ".join(pieces).encode())


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    _read_or_refuse(data)


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_model_is_read_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray(chance.choice(sorted(MODELS.rglob("*.cat"))).read_bytes())
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(data))
        match chance.randrange(3):
            case 0:
                del data[at : at + chance.randint(1, 12)]
            case 1:
                data[at:at] = chance.choice(PIECES).encode()
            case _:
                data[at] = chance.randrange(256)
    _read_or_refuse(bytes(data))


def _read_or_refuse(data: bytes) -> None:
    """Anything but InputError fails the test."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.cat"
        path.write_bytes(data)
        error = problem(path)
        assert error is None or str(error).startswith(str(path))
