"""The tree of one test: nodes with their places in the text, no meaning yet; and how deep and how long it may be."""

from __future__ import annotations

from typing import Any, NamedTuple

from lark import Token

LONGEST = 200
FLAT = 64
PRECEDENCE = {
    op: level
    for level, ops in enumerate(
        (
            ("||", "\\/"),
            ("&&", "/\\"),
            ("|",),
            ("^",),
            ("&",),
            ("==", "!=", "="),
            ("<", "<=", ">", ">="),
            ("<<", ">>"),
            ("+", "-"),
            ("*", "/", "%"),
        )
    )
    for op in ops
}
SPELLING = {"\\/": "||", "/\\": "&&", "not": "!"}


class Node(NamedTuple):
    """An expression or operand: `kind` says what, `text` a name, number or operator, `args` its operands."""

    kind: str
    text: str
    args: tuple[Node, ...]
    start: int
    end: int


class Step(NamedTuple):
    """A statement: `text` is a mnemonic, label or register, `blocks` are the statements inside.

    `of` is the mnemonic that stands in the text, where the statement is a part of what that one means.
    """

    kind: str
    text: str
    exprs: tuple[Node, ...]
    blocks: tuple[tuple[Step, ...], ...]
    guard: Node | None
    start: int
    end: int
    of: str = ""


class Item(NamedTuple):
    """Anything else at the level of the test: `words` are tokens, `exprs` expressions, `steps` code or sub-items."""

    kind: str
    words: tuple[Token, ...]
    exprs: tuple[Node, ...] = ()
    steps: tuple[Any, ...] = ()

    @property
    def start(self) -> int:
        return start_of(self.words[0])

    @property
    def end(self) -> int:
        return end_of(self.words[0])


def start_of(token: Token) -> int:
    """Where a word begins."""
    return token.start_pos or 0


def end_of(token: Token) -> int:
    """Where a word is over."""
    return token.end_pos or 0


class TooDeep(Exception):
    """An expression that is nested too deeply or too long, at this place of the text."""

    def __init__(self, start: int, message: str) -> None:
        super().__init__(message)
        self.start, self.message = start, message


def shallow(node: Node, signs: int) -> Node:
    """The node, unless too many signs stand before it."""
    if signs > LONGEST // 4:
        raise TooDeep(node.start, "too many signs in a row")
    return node


def climb(parts: list[Any]) -> Node:
    """The tree of a flat chain of operands and operators, by precedence and to the left.

    A long conjunction or disjunction becomes a balanced tree.
    """
    low = min(PRECEDENCE[op] for op in parts[1::2])
    groups, begin = [], 0
    splits = [i for i in range(1, len(parts), 2) if PRECEDENCE[parts[i]] == low]
    for split in [*splits, len(parts)]:
        groups.append(parts[begin] if split - begin == 1 else climb(parts[begin:split]))
        begin = split + 1
    ops = [SPELLING.get(parts[i], str(parts[i])) for i in splits]
    if low <= PRECEDENCE["&&"] and len(groups) > FLAT:
        return _balanced(ops[0], groups)
    if len(groups) > LONGEST:
        raise TooDeep(groups[0].start, "this expression is too long")
    node = groups[0]
    for op, right in zip(ops, groups[1:], strict=True):
        node = Node("binary", op, (node, right), node.start, right.end)
    return node


def _balanced(op: str, groups: list[Node]) -> Node:
    if len(groups) == 1:
        return groups[0]
    half = len(groups) // 2
    left, right = _balanced(op, groups[:half]), _balanced(op, groups[half:])
    return Node("binary", op, (left, right), left.start, right.end)
