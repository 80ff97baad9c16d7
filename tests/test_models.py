"""The shipped models against their documentation, and the tests that the documentation states."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ptxmm import enumeration
from ptxmm.cat import DEFAULT_MODEL, read_model, shipped_models
from ptxmm.check import Options, check
from ptxmm.expect import judged, stated_words
from ptxmm.model import Let, LetRec, Model
from ptxmm.program import Program, Word
from ptxmm.syntax import lit
from ptxmm.verdict import Result
from ptxmm.vocabulary import FEATURES, RELATIONS, SETS

Engine = Callable[[Program, Model, Options], Result]
ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "models" / "README.md").read_text()
GUIDE = (ROOT / "docs" / "models.md").read_text()
STATED = [
    (program, model)
    for block in re.findall(r"^```lit\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    for program in lit.read(block, "models/README.md")
    for model in shipped_models()
]


READINGS = ("ptx-9.4-strict", "ptx-9.4-literal")


def stated_for(test: Program, model: str) -> tuple[Word, ...]:
    """The verdicts that a test states; a reading that it does not name agrees with `ptx-9.4`."""
    words = stated_words(test, model, DEFAULT_MODEL)
    return words or (stated_words(test, DEFAULT_MODEL, DEFAULT_MODEL) if model in READINGS else ())


def rows(text: str) -> dict[str, str]:
    """The first cell of each table row, without its backquotes, to the second."""
    return dict(re.findall(r"^\| `([^`]+)` \| (.+?) \|", text, re.MULTILINE))


@pytest.mark.parametrize("name", shipped_models())
def test_every_axiom_has_a_name_and_stands_in_the_readme(name: str) -> None:
    model = read_model(name)
    documented = rows(README)
    assert [axiom.name for axiom in model.axioms if "@" in axiom.name] == []
    assert [axiom.name for axiom in model.axioms if axiom.name not in documented] == []


@pytest.mark.parametrize("name", [name for name in shipped_models() if name != "sc"])
def test_every_derived_relation_of_a_ptx_model_stands_in_the_readme(name: str) -> None:
    defined: set[str] = set()
    for statement in read_model(name).statements:
        match statement:
            case Let(defining, _):
                defined.add(defining)
            case LetRec(bindings):
                defined |= {defining for defining, _ in bindings}
    helpers = {"complete", "same-location", "release-fence", "acquire-fence", "observing-read", "same-proxy", "wide"}
    assert {item for item in defined - helpers if f"`{item}`" not in README} == set()


def test_the_guide_lists_the_whole_vocabulary_in_its_own_words() -> None:
    assert {name: text for name, text in rows(GUIDE).items() if name in SETS | RELATIONS} == SETS | RELATIONS


def test_the_guide_lists_every_feature() -> None:
    assert {name: text for name, text in rows(GUIDE).items() if name in FEATURES} == FEATURES


def examples_of_the_guide() -> list[str]:
    return re.findall(r"^```cat\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def test_the_flag_of_the_guide_finds_what_it_is_about_and_forbids_nothing(tmp_path: Path) -> None:
    (tmp_path / "local.cat").write_text(examples_of_the_guide()[1])
    flagged, shipped = read_model(str(tmp_path / "local.cat")), read_model("ptx-9.4")
    (remote,) = (
        test
        for test in lit.read((ROOT / "litmus/cluster/remote-arrive.lit").read_text(), "remote-arrive.lit")
        if test.variant == "cluster"
    )
    options = Options(properties=frozenset({"outcome", "race", "undefined"}))
    before, after = check(remote, shipped, options), check(remote, flagged, options)
    assert (before.undefined.verdict, after.undefined.verdict) == ("no", "yes")
    assert after.undefined.why.startswith("remote arrival: ")
    assert (before.verdict, before.race.verdict) == (after.verdict, after.race.verdict)


def test_a_flag_of_ones_own_is_looked_for_in_tests_without_copies_too(tmp_path: Path) -> None:
    (tmp_path / "own.cat").write_text('include "ptx-9.4.cat"\nflag ~empty RMW as undefined-atomic\n')
    counter, *_ = lit.read((ROOT / "litmus/atomics/counter.lit").read_text(), "counter.lit")
    plain, *_ = lit.read((ROOT / "litmus/basic/SB.lit").read_text(), "SB.lit")
    model, options = read_model(str(tmp_path / "own.cat")), Options(properties=frozenset({"undefined"}))
    assert check(counter, model, options).undefined.verdict == "yes"
    assert check(plain, model, options).undefined.verdict == "no"


def test_the_model_of_the_guide_can_be_read(tmp_path: Path) -> None:
    example, _ = examples_of_the_guide()
    (tmp_path / "my.cat").write_text(example)
    model, shipped = read_model(str(tmp_path / "my.cat")), read_model("ptx-9.4")
    assert model.title == "PTX 9.4 without load buffering"
    assert model.supports == shipped.supports
    assert [axiom.name for axiom in model.axioms] == [*(a.name for a in shipped.axioms), "no-load-buffering"]


def test_a_shipped_model_declares_what_it_supports() -> None:
    expected = {
        "ptx-6.0": {"mixed-size", "barriers", "warp-barriers"},
        "ptx-7.5": {"alias", "texture", "surface", "constant", "mixed-size", "barriers", "warp-barriers"},
        "ptx-9.4": FEATURES.keys() - {"texture", "surface", "constant"},
        "ptx-9.4-literal": FEATURES.keys() - {"texture", "surface", "constant"},
        "ptx-9.4-strict": FEATURES.keys() - {"texture", "surface", "constant"},
        "sc": FEATURES.keys() - {"mbarriers", "copies", "async", "tensormap", "kernels"},
    }
    assert {name: set(read_model(name).supports) for name in shipped_models()} == {
        k: set(v) for k, v in expected.items()
    }


def test_the_readme_states_verdicts_under_every_model() -> None:
    assert len(STATED) >= 60
    unstated = [(test.full_name, model) for test, model in STATED if not stated_for(test, model)]
    assert unstated == []


@pytest.mark.parametrize("engine", [check, enumeration.check], ids=["solver", "enumeration"])
@pytest.mark.parametrize(("test", "model"), STATED, ids=[f"{test.full_name}-{model}" for test, model in STATED])
def test_a_test_of_the_readme_gets_the_verdicts_it_states(test: Program, model: str, engine: Engine) -> None:
    words = stated_for(test, model)
    races = any(word.word.endswith("race") for word in words)
    options = Options(properties=frozenset({"outcome", "race"} if races else {"outcome"}))
    assert judged(engine(test, read_model(model), options), words).surprises == ()
