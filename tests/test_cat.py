"""Reading cat: what each construct means, and how names, functions and files are resolved."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxmm.cat import DEFAULT_MODEL, read_model, shipped_models
from ptxmm.errors import InputError
from ptxmm.model import (
    Axiom,
    Check,
    Complement,
    Diff,
    Domain,
    Empty,
    Expr,
    Identity,
    Inter,
    Inverse,
    Let,
    LetRec,
    Model,
    Name,
    Optional,
    Plus,
    Product,
    Range,
    Seq,
    Star,
    Union,
)  # fmt: skip
from ptxmm.resources import models_dir

PEERS = Path(__file__).resolve().parents[2] / "shared" / "peers" / "dat3m"
A, B, C = Name("po"), Name("rf"), Name("co")
R, W, M = Name("R"), Name("W"), Name("M")


def model_of(tmp_path: Path, text: str) -> Model:
    (tmp_path / "m.cat").write_text(text)
    return read_model(str(tmp_path / "m.cat"))


def body_of(tmp_path: Path, text: str) -> Expr:
    (statement,) = model_of(tmp_path, f"let it = {text}").statements
    assert isinstance(statement, Let)
    return statement.body


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("po | rf | co", Union(Union(A, B), C)),
        ("po | rf ; co", Union(A, Seq(B, C))),
        ("po ; rf \\ co", Seq(A, Diff(B, C))),
        ("po \\ rf \\ co", Diff(Diff(A, B), C)),
        ("po \\ rf & co", Diff(A, Inter(B, C))),
        ("po & R * W", Inter(A, Product(R, W))),
        ("(po | rf) ; co", Seq(Union(A, B), C)),
        ("~po & rf", Inter(Complement(A), B)),
        ("~R * W", Product(Complement(R), W)),
        ("~po^-1", Complement(Inverse(A))),
        ("po?", Optional(A)),
        ("po+", Plus(A)),
        ("po^+", Plus(A)),
        ("po*", Star(A)),
        ("po^*", Star(A)),
        ("po*; rf", Seq(Star(A), B)),
        ("(po*)", Star(A)),
        ("po+?^-1", Inverse(Optional(Plus(A)))),
        ("R * W", Product(R, W)),
        ("[R & W]", Identity(Inter(R, W))),
        ("[R] ; po", Seq(Identity(R), A)),
        ("(_ * _) \\ (M * M)", Diff(Product(Name("_"), Name("_")), Product(M, M))),
        ("po | 0", Union(A, Empty())),
        ("po | {}", Union(A, Empty())),
        ("domain(po) | range(rf)", Union(Domain(A), Range(B))),
        ("toid(R)", Identity(R)),
        ("fencerel(F)", Seq(Inter(A, Product(Name("_"), Name("F"))), A)),
        ("po-loc", Name("po-loc")),
    ],
)
def test_an_expression_means(tmp_path: Path, text: str, meaning: Expr) -> None:
    assert body_of(tmp_path, text) == meaning


@pytest.mark.parametrize(
    ("text", "axiom"),
    [
        ("acyclic po | rf as a-b.c", Axiom("a-b.c", Check.ACYCLIC, Union(A, B))),
        ("irreflexive po ; rf as x", Axiom("x", Check.IRREFLEXIVE, Seq(A, B))),
        ("empty R & W as x", Axiom("x", Check.EMPTY, Inter(R, W))),
        ("~empty rf as x", Axiom("x", Check.EMPTY, B, negated=True)),
        ("flag ~empty rf as x", Axiom("x", Check.EMPTY, B, negated=True, flag=True)),
        ("\n\nacyclic po", Axiom("acyclic@3", Check.ACYCLIC, A)),
    ],
)
def test_an_axiom_means(tmp_path: Path, text: str, axiom: Axiom) -> None:
    assert model_of(tmp_path, text).statements == (axiom,)


def test_a_flag_is_no_axiom(tmp_path: Path) -> None:
    model = model_of(tmp_path, "flag ~empty rf as reported\nempty rf as forbidden")
    assert [axiom.name for axiom in model.axioms] == ["forbidden"]


@pytest.mark.parametrize(("first", "title"), [('"Two words"', "Two words"), ("PTX", "PTX"), ("", "m")])
def test_the_title_is_a_string_or_a_word_or_left_out(tmp_path: Path, first: str, title: str) -> None:
    model = model_of(tmp_path, f"{first}\nlet a = po")
    assert (model.title, model.name) == (title, "m")


def test_comments_nest_and_a_line_comment_hides_an_opening(tmp_path: Path) -> None:
    text = "(* a (* b *) let no = po *) let it = // (* never opened\n  (po*) (* c *) | rf"
    assert model_of(tmp_path, text).statements == (Let("it", Union(Star(A), B)),)


def test_functions_are_inlined_where_they_are_used(tmp_path: Path) -> None:
    model = model_of(tmp_path, "let f(x, y) = x ; y\nlet g x = f(x, rf)\nlet it = g(po)")
    assert model.statements == (Let("it", Seq(A, B)),)


def test_a_parameter_may_be_a_set(tmp_path: Path) -> None:
    assert model_of(tmp_path, "let f(S) = [S] ; po\nlet it = f(R)").statements == (Let("it", Seq(Identity(R), A)),)


def test_a_parameter_hides_a_name(tmp_path: Path) -> None:
    assert model_of(tmp_path, "let f(po) = po ; rf\nlet it = f(co)").statements == (Let("it", Seq(C, B)),)


def test_a_second_definition_hides_the_first(tmp_path: Path) -> None:
    model = model_of(tmp_path, "let co = co+\nlet co = co | rf")
    assert model.statements == (Let("co", Plus(C)), Let("co", Union(C, B)))


def test_a_function_keeps_the_meaning_that_a_name_had_before_it(tmp_path: Path) -> None:
    model = model_of(tmp_path, "let f(x) = x ; co\nlet co = co+\nlet it = f(rf) | co")
    kept = Name("co@1")
    assert model.statements == (Let("co@1", C), Let("co", Plus(C)), Let("it", Union(Seq(B, kept), C)))


def test_an_empty_definition_is_a_set_or_a_relation_as_its_use_needs(tmp_path: Path) -> None:
    model = model_of(tmp_path, "let none = 0\nlet a = po | none\nlet b = R | none")
    assert model.statements == (Let("a", Union(A, Empty())), Let("b", Union(R, Empty())))


def test_recursive_definitions_see_each_other(tmp_path: Path) -> None:
    model = model_of(tmp_path, "let rec a = po | b ; a and b = rf | a")
    first, second = Name("a"), Name("b")
    assert model.statements == (LetRec((("a", Union(A, Seq(second, first))), ("b", Union(B, first)))),)


def test_an_included_file_defines_names_here_and_its_title_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "one.cat").write_text('"One"\nlet hb = po | rf\ninclude "two.cat"')
    (tmp_path / "lib" / "two.cat").write_text("acyclic hb as hb")
    model = model_of(tmp_path, '"Ours"\ninclude "lib/one.cat"')
    assert model.title == "Ours"
    assert model.statements == (Let("hb", Union(A, B)), Axiom("hb", Check.ACYCLIC, Name("hb")))


def test_an_include_falls_back_to_the_shipped_models(tmp_path: Path) -> None:
    assert model_of(tmp_path, 'include "sc.cat"').axioms == read_model("sc").axioms


def test_a_copy_of_the_shipped_models_includes_its_own_files(tmp_path: Path) -> None:
    for path in models_dir().rglob("*.cat"):
        copy = tmp_path / path.relative_to(models_dir())
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(path.read_text(encoding="utf-8").replace(" as causality", " as ours"), encoding="utf-8")
    for name in shipped_models():
        assert "causality" not in {axiom.name for axiom in read_model(str(tmp_path / f"{name}.cat")).axioms}


def test_a_file_may_be_included_twice_and_its_axioms_stay_apart(tmp_path: Path) -> None:
    (tmp_path / "one.cat").write_text("acyclic po as x")
    model = model_of(tmp_path, 'include "one.cat"\ninclude "one.cat"')
    assert [axiom.name for axiom in model.axioms] == ["x", "x#2"]


def test_a_circle_of_includes_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "one.cat").write_text('include "m.cat"')
    with pytest.raises(InputError, match=r"`m.cat` includes itself"):
        model_of(tmp_path, 'include "one.cat"')


def test_a_directive_says_what_a_model_supports(tmp_path: Path) -> None:
    model = model_of(tmp_path, "(* ptxmm: supports alias, mixed-size\n   cluster *)\nacyclic po | syncbar")
    assert model.supports == {"alias", "mixed-size", "cluster"}


def test_a_directive_may_say_that_nothing_is_supported(tmp_path: Path) -> None:
    assert model_of(tmp_path, "(* ptxmm: supports *) acyclic po | syncbar").supports == frozenset()


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("acyclic po | rf", set()),
        ("acyclic po | syncbar", {"barriers"}),
        ("acyclic po | syncwarp", {"warp-barriers"}),
        ("acyclic po | syncbarcl", {"cluster-barriers"}),
        ("acyclic [CLUSTER] ; po", {"cluster"}),
        ("acyclic po & scluster", {"cluster"}),
        ("acyclic po & vloc", {"alias"}),
        ("acyclic [TEX] | [SUR] | [CON] | [ALIAS]", {"texture", "surface", "constant", "alias"}),
        ("acyclic po & full", {"mixed-size"}),
        ("acyclic [RESTRICT]", {"restricted-fences"}),
        ("let f(x) = x & full", {"mixed-size"}),
    ],
)
def test_without_a_directive_the_names_it_mentions_say_what_a_model_supports(
    tmp_path: Path, text: str, features: set[str]
) -> None:
    assert model_of(tmp_path, text).supports == features


def test_the_default_model_is_shipped() -> None:
    assert DEFAULT_MODEL in shipped_models()
    assert set(shipped_models()) == {"ptx-6.0", "ptx-7.5", "ptx-9.4", "ptx-9.4-literal", "ptx-9.4-strict", "sc"}


def test_a_latin_1_comment_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    (tmp_path / "m.cat").write_bytes(b"(* caf\xe9 *)\r\nacyclic po // x\r\nacyclic rf\r\n")
    assert [axiom.name for axiom in read_model(str(tmp_path / "m.cat")).axioms] == ["acyclic@2", "acyclic@3"]


@pytest.mark.skipif(not PEERS.is_dir(), reason="the published models of Dartagnan are not beside the repository")
@pytest.mark.parametrize(
    ("file", "axioms", "features"),
    [
        ("ptx-v6.0.cat", 7, {"barriers"}),
        ("ptx-v7.5.cat", 6, {"barriers", "alias", "texture", "surface", "constant"}),
    ],
)
def test_the_published_models_of_dartagnan_load_unchanged(file: str, axioms: int, features: set[str]) -> None:
    model = read_model(str(PEERS / file))
    assert (model.title, len(model.axioms), set(model.supports)) == ("PTX", axioms, features)
    assert all(axiom.name.startswith("axiom-") for axiom in model.axioms)
