"""Sentences about named events, written with the expressions of cat.

    po(data, head)                              a pair is in a relation
    W(w) and loc(w, poll) => RMW(w) or IW(w)    for all events w: `w` is not among the names of the theorem

A sentence is `premises => alternatives`, where `and` binds more than `or`. The same text is read for the solver and
tested on the executions of counterexamples.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

from ptxmm.cat.expand import Expander
from ptxmm.cat.parse import parse
from ptxmm.cat.source import Source
from ptxmm.cat.written import Claim, Define, Include
from ptxmm.model import Axiom, Check, Expr, Let
from ptxmm.prove.names import MODEL_NAMES


@dataclass(frozen=True, slots=True)
class Atom:
    """That events are in a set or relation."""

    expr: str
    events: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.expr}({', '.join(self.events)})"


Conjunction = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """For all events that the theorem does not name: where the premises hold, one of the alternatives does."""

    premises: Conjunction
    alternatives: tuple[Conjunction, ...]

    @property
    def events(self) -> tuple[str, ...]:
        """The names in it, in the order of the text."""
        atoms = (*self.premises, *(atom for part in self.alternatives for atom in part))
        return tuple(dict.fromkeys(name for atom in atoms for name in atom.events))

    def about(self, named: Collection[str]) -> tuple[str, ...]:
        """The events that it speaks of in general."""
        return tuple(name for name in self.events if name not in named)


def renamed_events(one: Sentence, names: Mapping[str, str]) -> Sentence:
    """The sentence about other events."""

    def conjunction(atoms: Conjunction) -> Conjunction:
        return tuple(Atom(atom.expr, tuple(names.get(n, n) for n in atom.events)) for atom in atoms)

    return Sentence(conjunction(one.premises), tuple(conjunction(part) for part in one.alternatives))


_ATOM = re.compile(r"(?s)(.*)\(([\w\s,]+)\)")


@lru_cache(maxsize=512)
def sentence(text: str) -> Sentence:
    """Read a sentence.

    >>> sentence("W(w) => (po & loc)(w, r) or IW(w)").alternatives[0]
    (Atom(expr='(po & loc)', events=('w', 'r')),)
    """
    before, arrow, after = text.rpartition("=>")
    premises = _conjunction(before) if arrow else ()
    return Sentence(premises, tuple(_conjunction(part) for part in re.split(r"\bor\b", after)))


def _conjunction(text: str) -> Conjunction:
    return tuple(_atom(part.strip()) for part in re.split(r"\band\b", text))


def _atom(text: str) -> Atom:
    found = _ATOM.fullmatch(text)
    if found is None:
        raise ValueError(f"not an atom: {text!r}")
    return Atom(found[1].strip(), tuple(name.strip() for name in found[2].split(",")))


@lru_cache(maxsize=512)
def expression(text: str) -> Expr:
    """A cat expression over base names and the names that theorems take from the model."""
    stand_ins = " ".join(f"let {name} = po" for name in MODEL_NAMES)
    expander = _expanded(f"{stand_ins} let it = {text}")
    found = expander[-1]
    assert isinstance(found, Let)
    return found.body


@lru_cache(maxsize=256)
def axiom(text: str) -> tuple[Check, Expr]:
    """A cat axiom over base names."""
    (found,) = _expanded(text)
    assert isinstance(found, Axiom)
    return found.check, found.body


def _expanded(text: str) -> list[Any]:
    source, expander = Source("theory", text), Expander()
    for written in parse(source, text)[1]:
        match written:
            case Define():
                expander.define(source, written)
            case Claim():
                expander.claim(source, written)
            case Include():
                raise ValueError("a theory includes nothing")
    return expander.statements


Holds = Callable[[Atom, Mapping[str, int]], bool]


def true(
    one: Sentence, named: Mapping[str, int], events: Collection[int], holds: Holds, others: tuple[str, ...]
) -> bool:
    """Whether a sentence is true on finitely many events, some of them named, whatever the others in it are."""
    for choice in product(events, repeat=len(others)):
        where = {**named, **dict(zip(others, choice, strict=True))} if others else named
        if all(holds(atom, where) for atom in one.premises) and not any(
            all(holds(atom, where) for atom in part) for part in one.alternatives
        ):
            return False
    return True
