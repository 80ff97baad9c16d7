"""Registers that are declared inside braces belong to these braces, as in PTX: outside of them a name means another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import cast

from lark import Token

from ptxmm.syntax.lit_registers import MOST
from ptxmm.syntax.lit_tree import Item, Node, Step

Code = tuple[Step | Item, ...]


def with_own_registers(code: Code) -> Code:
    """The code of a thread with its declarations at the top.

    A register that is declared inside braces gets a name of its own if its name stands outside of them too. Those with
    a first value stay where they are.
    """
    if not any(isinstance(item, Item) for step in code for item in _inside(step)):
        return code
    return _Scopes(Counter(_names(code))).lifted(code)


class _Scopes:
    """The names of a thread, and the declarations that were found inside braces."""

    def __init__(self, used: Counter[str]) -> None:
        self.used = used
        self.found: list[Item] = []

    def lifted(self, code: Code) -> Code:
        steps = [self._step(step, {}) if isinstance(step, Step) else step for step in code]
        return (*self.found, *steps)

    def _step(self, step: Step, renamed: dict[str, str]) -> Step:
        text = renamed.get(_bare(step.text), step.text) if step.kind == "assign" else step.text
        return step._replace(
            text=text,
            exprs=tuple(_renamed(node, renamed) for node in step.exprs),
            blocks=tuple(self._block(block, renamed) for block in step.blocks),
            guard=None if step.guard is None else _renamed(step.guard, renamed),
        )

    def _block(self, block: Code, outer: dict[str, str]) -> tuple[Step, ...]:
        renamed, inside, kept = dict(outer), Counter(_names(block)), list[Step | Item]()
        for item in block:
            if isinstance(item, Item) and not _has_first_value(item):
                own = {name: self._own(name, inside[name]) for _, name in _declared(item)}
                renamed |= own
                self.found.append(_declaring(item, own))
        for step in block:
            if isinstance(step, Step):
                kept.append(self._step(step, renamed))
            elif _has_first_value(step):
                kept.append(step)
        return cast("tuple[Step, ...]", tuple(kept))

    def _own(self, name: str, inside: int) -> str:
        if self.used[name] == inside:
            return name
        number = 1
        while f"{name}_{number}" in self.used:
            number += 1
        self.used[f"{name}_{number}"] += 1
        return f"{name}_{number}"


def _bare(word: str) -> str:
    return word.removeprefix("%")


def _inside(step: Step | Item) -> Iterator[Step | Item]:
    """What stands inside the braces of a statement, at any depth."""
    if isinstance(step, Step):
        for block in step.blocks:
            for item in block:
                yield item
                yield from _inside(item)


def _has_first_value(item: Item) -> bool:
    return any(part.kind == "scalar" for declarator in item.steps for part in declarator.steps)


def _declared(item: Item) -> Iterator[tuple[Token, str]]:
    """The registers of a declaration; `P<3>` declares `P0` to `P2`."""
    for declarator in item.steps:
        if declarator.kind == "declarator":
            name = _bare(str(declarator.words[0]))
            numbers = [str(part.words[0]) for part in declarator.steps if part.kind == "numbered"]
            count = min(int(numbers[0]), MOST) if numbers and numbers[0].isdigit() else 0
            for each in [f"{name}{number}" for number in range(count)] if numbers else [name]:
                yield declarator.words[0], each


def _declaring(item: Item, own: dict[str, str]) -> Item:
    """The declaration with these names."""
    others = [part for part in item.steps if part.kind != "declarator"]
    parts = [Item("declarator", (token.update(value=own[name]),)) for token, name in _declared(item)]
    return item._replace(steps=(*others, *parts))


def _renamed(node: Node, renamed: dict[str, str]) -> Node:
    text = renamed.get(_bare(node.text), node.text) if node.kind == "name" else node.text
    return node._replace(text=text, args=tuple(_renamed(arg, renamed) for arg in node.args))


def _names(code: Iterable[Step | Item]) -> Iterator[str]:
    """Every name that stands in some code and could be a register's."""
    for step in code:
        if isinstance(step, Item):
            yield from (name for _, name in _declared(step))
            continue
        if step.kind == "assign":
            yield _bare(step.text)
        for node in step.exprs if step.guard is None else (*step.exprs, step.guard):
            yield from _named_in(node)
        for block in step.blocks:
            yield from _names(block)


def _named_in(node: Node) -> Iterator[str]:
    if node.kind == "name":
        yield _bare(node.text)
    for arg in node.args:
        yield from _named_in(arg)
