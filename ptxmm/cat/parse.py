"""The grammar of cat: from text to statements whose names are not yet resolved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from ptxmm.cat.source import Source
from ptxmm.errors import InputError

DEEPEST = 150
UNSUPPORTED = frozenset(
    {"show", "unshow", "procedure", "call", "with", "forall", "match", "fun", "try", "if", "enum", "instructions"}
)
STATEMENTS = ("let", "include", "flag", "empty", "irreflexive", "acyclic")
_LAST_WORD = re.compile(r"([A-Za-z]+)\s*\Z")
_OPERAND = frozenset({"NAME", "LPAR", "LSQB", "LBRACE", "TILDE", "ZERO"})


@dataclass(frozen=True, slots=True)
class Node:
    """An expression as written: an operator of the grammar, its operands, and the text it starts with."""

    op: str
    args: tuple[Node, ...]
    start: int
    text: str
    depth: int

    def names(self) -> Iterator[str]:
        """Every name that stands in it."""
        if self.op in ("name", "call"):
            yield self.text
        for arg in self.args:
            yield from arg.names()


@dataclass(frozen=True, slots=True)
class Binding:
    """`name = body`, or a function `name(parameters) = body`."""

    name: str
    start: int
    parameters: tuple[Token, ...] | None
    body: Node


@dataclass(frozen=True, slots=True)
class Define:
    """`let`, or `let rec … and …`."""

    bindings: tuple[Binding, ...]
    recursive: bool


@dataclass(frozen=True, slots=True)
class Include:
    """`include "file"`."""

    file: str
    start: int


@dataclass(frozen=True, slots=True)
class Claim:
    """An axiom or a flag, with the text of its name, if it has one."""

    flag: bool
    negated: bool
    check: str
    body: Node
    name: str | None
    start: int


Written = Define | Include | Claim


def parse(source: Source, text: str) -> tuple[str, tuple[Written, ...]]:
    """The title and the statements of a file, whose `text` has no comments any more."""
    try:
        parsed: Any = _parser().parse(text)
    except UnexpectedInput as error:
        raise _syntax_error(source, text, error) from None
    except _TooDeepError as error:
        raise InputError("the expression nests too deeply", source.at(error.start), "name parts with `let`") from None
    title, statements = parsed
    return title, statements


class _TooDeepError(Exception):
    def __init__(self, start: int) -> None:
        self.start = start


class _Stars:
    """Tells the product `a * b` from the closure `a*` by what follows."""

    always_accept = ()

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        held: Token | None = None
        for token in stream:
            if held is not None:
                yield held if token.type in _OPERAND else Token.new_borrow_pos("STAR", held.value, held)
            held = token if token.type == "TIMES" else None
            if held is None:
                yield token
        if held is not None:
            yield Token.new_borrow_pos("STAR", held.value, held)


def _node(op: str, args: tuple[Node, ...], first: Token | Node) -> Node:
    start = (first.start_pos or 0) if isinstance(first, Token) else first.start
    text = str(first) if isinstance(first, Token) else first.text
    depth = 1 + max((a.depth for a in args), default=0)
    if depth > DEEPEST:
        raise _TooDeepError(start)
    return Node(op, args, start, text, depth)


def _operator(op: str) -> Callable[[Any, list[Token | Node]], Node]:
    def build(_: Any, children: list[Token | Node]) -> Node:
        return _node(op, tuple(c for c in children if isinstance(c, Node)), children[0])

    return build


class _Builder(Transformer[Token, Any]):
    union, seq, diff, inter, product = map(_operator, ("union", "seq", "diff", "inter", "product"))
    complement, star, plus, optional, inverse = map(_operator, ("complement", "star", "plus", "optional", "inverse"))
    identity, name, call, nothing = map(_operator, ("identity", "name", "call", "nothing"))

    def title(self, children: list[Token]) -> str:
        return str(children[0]).strip('"')

    def params(self, children: list[Token]) -> tuple[Token, ...]:
        return tuple(children)

    def binding(self, children: list[Any]) -> Binding:
        name, parameters, body = children
        return Binding(str(name), name.start_pos, parameters, body)

    def let(self, children: list[Binding]) -> Define:
        return Define(tuple(children), recursive=False)

    def letrec(self, children: list[Binding]) -> Define:
        return Define(tuple(children), recursive=True)

    def include(self, children: list[Token]) -> Include:
        return Include(str(children[0])[1:-1], children[0].start_pos or 0)

    def axiom(self, children: list[Any]) -> Claim:
        flag, tilde, check, body, name = children
        text = None if name is None else str(name)
        return Claim(flag is not None, tilde is not None, str(check), body, text, check.start_pos)

    def start(self, children: list[Any]) -> tuple[str, tuple[Written, ...]]:
        title = children.pop(0) if children and isinstance(children[0], str) else ""
        return title, tuple(children)


@cache
def _parser() -> Lark:
    grammar = Path(__file__).with_name("cat.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="basic",
        transformer=_Builder(),
        postlex=_Stars(),
        maybe_placeholders=True,
        propagate_positions=False,
    )


def _syntax_error(source: Source, text: str, error: UnexpectedInput) -> InputError:
    if isinstance(error, UnexpectedCharacters):
        return _strange_character(source, text, error.pos_in_stream or 0)
    if not isinstance(error, UnexpectedToken) or error.token.type == "$END":
        return InputError("the file ends in the middle of a statement", source.at(len(text.rstrip())))
    token, expected = error.token, set(error.expected)
    start = token.start_pos or 0
    before = _LAST_WORD.search(text, 0, start)
    for word, place in ((str(token), start), *([(before.group(1), before.start(1))] if before else [])):
        if word in UNSUPPORTED:
            return InputError(f"ptxmm does not support `{word}`", source.at(place, len(word)))
    return InputError(f"`{token}` cannot stand here", source.at(start, len(token)), _wanted(expected))


def _strange_character(source: Source, text: str, position: int) -> InputError:
    shown, at = text[position], source.at(position)
    if shown == '"':
        return InputError("this string is never closed", at)
    name = shown if shown.isprintable() else ascii(shown)[1:-1]
    hint = "a difference is written with a backslash, as in `a \\ b`" if shown in "-/" else ""
    return InputError(f"cat has no `{name}`", at, hint)


def _wanted(expected: set[str]) -> str:
    if expected >= _OPERAND:
        return "a set or a relation is wanted"
    if "INVERSE" in expected:
        return "an operator is wanted (| ; \\ & * + ? ^-1), or the end of what came before"
    if "LET" in expected:
        return f"a statement starts with {', '.join(f'`{word}`' for word in STATEMENTS)}"
    return ""
