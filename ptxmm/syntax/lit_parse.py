"""Parses one test by the grammar `lit.lark`; complaints are in the words of the language."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import cast

from lark import Lark, UnexpectedCharacters, UnexpectedToken
from lark.lexer import PatternStr

from ptxmm.errors import InputError, near
from ptxmm.syntax.lit_build import Build
from ptxmm.syntax.lit_spellings import before
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Item, TooDeep

DEEPEST = 100
KEYWORDS = ("thread", "exists", "forall", "filter", "locations", "expect", "dialect", "launch", "hardware", "variants")


@cache
def parser() -> Lark:
    """The parser, built once a process."""
    grammar = files("ptxmm.syntax").joinpath("lit.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", transformer=Build(), maybe_placeholders=True)


def tree(source: Source) -> Item:
    """The tree of one test."""
    _nesting(source)
    try:
        return cast(Item, parser().parse(source.text))
    except UnexpectedToken as found:
        raise before(source, *_place(found, source)) or _unexpected(found, source) from None
    except UnexpectedCharacters as found:
        at = found.pos_in_stream or 0
        hint = 'strings stand between two `"` on one line' if source.text[at] == '"' else ""
        raise source.error(f"unexpected {_shown(source.text[at])}", at, hint=hint) from None
    except TooDeep as deep:
        raise source.error(deep.message, deep.start) from None


def _nesting(source: Source) -> None:
    depth = 0
    for found in re.finditer(r'"(?:[^"\\\n]|\\[^\n])*+"?|[(\[{]|[)\]}]', source.text):
        sign = found[0][0]
        depth += (sign in "([{") - (sign in ")]}")
        if depth > DEEPEST:
            raise source.error(f"nested more than {DEEPEST} deep", found.start())


NAMES = {
    "WORD": "a name",
    "TESTNAME": "a name",
    "PLACE": "a place such as `d0.c0.b0`",
    "DOTWORD": "a word such as `.u32`",
    "FINAL": "a value",
    "NUMBER": "a number",
    "STRING": "a string",
    "BINOP": "an operator",
    "UNOP": "a value",
    "CLAUSE": "verdicts such as `forbidden, no race`",
    "$END": "the end of the file",
}
MISPLACED = {
    "=": "use `==` to compare",
    "@": "a place stands before the first value, as in `x @ d1 = 5`",
}
FIRST = ("SEMICOLON", "RPAR", "CLOSE", "STOP", "END")


def _place(found: UnexpectedToken, source: Source) -> tuple[int, int]:
    token = found.token
    return (len(source.text.rstrip()),) * 2 if token.type == "$END" else (token.start_pos or 0, token.end_pos or 0)


def _unexpected(found: UnexpectedToken, source: Source) -> InputError:
    """A parser's complaint in the words of the language."""
    token, expected = found.token, set(found.accepts or found.expected)
    end = token.type == "$END"
    start, stop = _place(found, source)
    what = "the end of the file" if end else _shown(str(token))
    hint = ""
    if end and "STOP" in expected:
        wanted = "`}`"
    elif "THREAD" in expected:
        wanted = "a declaration, a thread or a condition"
        hint = 'strings stand between two `"` on one line' if token[:1] == '"' else near(str(token), KEYWORDS)
    elif "SEMICOLON" in expected and token.type != "SEMICOLON":
        wanted = "`;`"
        start = len(source.text[:start].rstrip())
        hint = MISPLACED.get(str(token), "")
    elif expected == {"PTX"}:
        wanted, hint = "`ptx NAME`", "a test starts with `ptx` and its name"
    else:
        wanted = _listed(expected)
    return source.error(f"expected {wanted}, found {what}", start, max(start + 1, stop), hint)


def _shown(text: str) -> str:
    """The beginning of what was found; a character that cannot be seen, by its number."""
    seen = text.splitlines()[0][:40] if text.splitlines() else text
    return f"`{seen}`" if seen.isprintable() and seen else f"the character U+{ord(text[0]):04X}"


def _listed(expected: set[str]) -> str:
    if {"WORD", "NUMBER"} <= expected:
        return "a value"
    closing = [name for name in FIRST if name in expected]
    names = closing[:1] if closing and expected & {"BINOP"} else sorted(expected)
    shown = list(dict.fromkeys(NAMES.get(name) or _spelled(name) for name in names))[:6]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _spelled(name: str) -> str:
    pattern = parser().get_terminal(name).pattern
    return f"`{pattern.value}`" if isinstance(pattern, PatternStr) else "something else"
