"""A barrier by sign flip for any number of CTAs: each link is proved, and from nothing that is false anyway."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import z3
from building import model as shipped

from ptxmm.cat import read_model
from ptxmm.model import Model
from ptxmm.prove.arithmetic import SIGN_FLIP
from ptxmm.prove.barriers import GRID
from ptxmm.prove.chains import POLLED_LATER
from ptxmm.prove.claims import Formula
from ptxmm.prove.composition import GRID_BY_FLIP
from ptxmm.prove.flips import FLIP_SEEN
from ptxmm.prove.language import EVENT
from ptxmm.prove.links import LINKS, Link
from ptxmm.prove.predecessor import PREDECESSOR
from ptxmm.prove.rounds import IN_ROUND, every, signed
from ptxmm.prove.run import EFFORT, prove
from ptxmm.resources import models_dir
from ptxmm.solve import Truth

EACH_LINK = pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)


def asked(link: Link, model: Model) -> Truth:
    return FLIP_SEEN.question(link, model).ask(20, 20 * EFFORT).truth


@pytest.mark.parametrize(
    "name", ["ptx-6.0", *(pytest.param(name, marks=pytest.mark.slow) for name in ("ptx-7.5", "ptx-9.4"))]
)
def test_every_link_is_proved(name: str) -> None:
    steps = list(FLIP_SEEN.steps(shipped(name), 20, 0))
    assert [step.name for step in steps] == [
        PREDECESSOR.name,
        SIGN_FLIP.name,
        *(link.name for link in FLIP_SEEN.links(shipped(name))),
    ]
    assert all(step.truth is Truth.UNSAT for step in steps)


@pytest.mark.parametrize("name", [pytest.param(one, marks=pytest.mark.slow) for one in ("ptx-6.0", "ptx-9.4")])
def test_every_hypothesis_has_its_counterexample(name: str) -> None:
    result = prove(FLIP_SEEN, shipped(name))
    assert result.ok, (result.wrong, result.idle)
    assert len(result.dropped) == {"ptx-6.0": 11, "ptx-9.4": 13}[name]


@EACH_LINK
def test_what_a_link_assumes_has_a_structure(link: Link) -> None:
    """So that nothing is proved from a contradiction."""
    assert asked(replace(link, conclusion=lambda *_: z3.BoolVal(False)), shipped("ptx-7.5")) is Truth.SAT


FALSE: dict[str, Callable[..., Formula]] = {
    "order": lambda here, w, x: here.say("co(w, x)", w=w, x=x),
    "before": lambda here, w, get, v: here.after(v),
    "one-more": lambda here, w, get, v: here.by_then(w, v),
    "sum": lambda here, w, get, v: here.all_in(w),
    "sign": lambda here, u: here.all_in(u),
    "seen": lambda here, own, poll, u: own == u,
    "read-before": lambda here, poll, u, get, w, v: u == v,
    "pass": lambda here, own, owns, s, u: here.all_in(s),
    "step": lambda here, w, get, v: here.kept(w),
    "goal": lambda here, own, owns, s, u, poll, contribution: contribution == u,
}


@pytest.mark.slow
@EACH_LINK
def test_what_does_not_follow_is_not_proved(link: Link) -> None:
    if link.name in FALSE:
        assert asked(replace(link, conclusion=FALSE[link.name]), shipped("ptx-7.5")) is Truth.SAT


def test_the_sign_says_nothing_of_the_rest_of_the_word() -> None:
    goal = next(link for link in LINKS if link.name == "goal")
    own_sign = replace(goal, conclusion=lambda here, own, owns, s, u, *_: signed(u) == signed(own))
    assert asked(own_sign, shipped("ptx-9.4")) is Truth.SAT


@pytest.mark.parametrize(
    ("clause", "link"),
    [
        ("empty ((ms & fr) ; (ms & co)) & rmw as atomicity", "nothing-between"),
        ("empty (ms & W * W) \\ (co | co^-1) as coherence-total", "order"),
    ],
)
@pytest.mark.parametrize("name", ["ptx-6.0", "ptx-9.4"])
def test_a_model_without_the_axiom_that_a_link_rests_on_does_not_have_it(
    tmp_path: Path, name: str, clause: str, link: str
) -> None:
    (tmp_path / "lib").mkdir()
    for path in models_dir().rglob("*.cat"):
        text = path.read_text(encoding="utf-8")
        assert path.name != "ptx-axioms.cat" or clause in text
        (tmp_path / path.relative_to(models_dir())).write_text(text.replace(clause, ""), encoding="utf-8")
    steps = list(FLIP_SEEN.steps(read_model(str(tmp_path / f"{name}.cat")), 20, 0))
    assert [step.name for step in steps if step.truth is not Truth.UNSAT][:1] == [link]


def test_the_barrier_assumes_the_very_sentence_that_the_flip_proves() -> None:
    step = GRID_BY_FLIP.joint()
    proved = {
        "poll-not-before-contribution",
        "word-atomic",
        "word-scope",
        "word-generic",
        "word-address",
        "contribution-strong",
    }
    assert (step.truth, step.used) == (Truth.UNSAT, frozenset(proved))
    other = replace(POLLED_LATER, says="co(contribution, last)")
    assert replace(GRID_BY_FLIP, first=replace(FLIP_SEEN, goals=(other,))).joint().truth is Truth.SAT
    assert POLLED_LATER in GRID.hypotheses


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ptx-6.0", "ptx-9.4"])
def test_a_grid_barrier_by_sign_flip_needs_no_word_about_what_is_seen(name: str) -> None:
    result = prove(GRID_BY_FLIP, shipped(name))
    assert result.ok, (result.wrong, result.idle)
    names = [one.hypothesis for one in result.dropped]
    assert not {POLLED_LATER.name, "contribution-strong"} & set(names)
    assert len(names) == len(set(names))
    assert {"weight", "once", "passed-before", "barrier-before", "contribution-releases"} <= set(names)


def test_a_name_inside_a_quantifier_does_not_catch_another() -> None:
    solver, (some, other) = z3.Solver(), z3.Consts("some other", EVENT)
    solver.add(every(lambda x: every(lambda y: IN_ROUND(x) == IN_ROUND(y))))
    solver.add(IN_ROUND(some), z3.Not(IN_ROUND(other)))
    assert solver.check() == z3.unsat
