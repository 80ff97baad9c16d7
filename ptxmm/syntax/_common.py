"""What the readers of other tools' dialects share: places in a text, tokens and conditions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

from ptxmm.arith import PRED, Type
from ptxmm.errors import InputError, Span
from ptxmm.program import Binary, Const, Expr, Unary

SHORT = 40
NESTING = 64
FLAT = 64
REGISTER = re.compile(r"r\d{1,9}", re.ASCII)
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)", re.ASCII)
TOKEN = re.compile(r"[A-Za-z_]\w*|\d\w*|/\\|\\/|&&|\|\||[=!<>]=|\S", re.ASCII)

COMPARE = {"==": "==", "=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
AND, OR, NOT = ("/\\", "&&"), ("\\/", "||"), ("~", "!", "not")


class Text:
    r"""A user's file, and how to point into it.

    >>> Text("t.litmus", "a\nbcd").span(3, 2)
    Span(path='t.litmus', line=2, column=2, source='bcd', width=2)
    """

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.lines = text.split("\n")
        self.starts = [0, *accumulate(len(line) + 1 for line in self.lines[:-1])]

    def span(self, offset: int, width: int = 1) -> Span:
        """Where a piece of the text stands."""
        line = bisect_right(self.starts, offset) - 1
        return Span(self.path, line + 1, offset - self.starts[line] + 1, self.lines[line], max(1, width))

    def error(self, message: str, offset: int, width: int = 1, hint: str = "") -> InputError:
        """An error that points at a piece of the text."""
        return InputError(message, self.span(min(offset, len(self.text)), width), hint)

    def first(self, start: int, end: int) -> int:
        """The first character from `start` on that is not white space."""
        while start < end and self.text[start].isspace():
            start += 1
        return start

    def pieces(self, start: int, end: int, separator: str) -> list[tuple[int, int]]:
        """The pieces of a stretch between separators, as start and end."""
        found = []
        for piece in self.text[start:end].split(separator):
            found.append((start, start + len(piece)))
            start += len(piece) + 1
        return found


def quoted(word: str) -> str:
    """A piece of the user's text as messages show it: in one line, and short.

    >>> quoted("ld  x")
    '`ld x`'
    """
    line = " ".join(word[:200].split())
    return f"`{line}`" if len(line) <= SHORT else f"`{line[:SHORT]}…`"


def blanked(text: str, comments: Mapping[str, str]) -> str:
    """The text with spaces for its comments, which `comments` gives as start and end; all else keeps its place.

    >>> blanked("a (* b *) c", {"(*": "*)"})
    'a         c'
    """
    opening, parts, done = re.compile("|".join(map(re.escape, comments))), [], 0
    while start := opening.search(text, done):
        end = text.find(comments[start.group()], start.end())
        if end < 0:
            break
        end += len(comments[start.group()]) * (comments[start.group()] != "\n")
        parts += [text[done : start.start()], re.sub(r"[^\n]", " ", text[start.start() : end])]
        done = end
    return "".join([*parts, text[done:]])


def literal(word: str, bits: int) -> int | None:
    """The number that a word denotes, None where it is no number or has more than `bits` bits.

    >>> literal("-0x10", 8), literal("256", 8), literal("007", 8), literal("x", 8)
    (-16, None, 7, None)
    """
    if not NUMBER.fullmatch(word) or len(word) > 70:
        return None
    digits = word.lstrip("-")
    value = int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits)
    value = -value if word[0] == "-" else value
    return value if -(1 << bits - 1) <= value < 1 << bits else None


# --- conditions ------------------------------------------------------------------------------------------------------


class Tokens:
    """The words and signs of a piece of text, read from left to right; an empty word after the last one."""

    def __init__(self, text: Text, start: int, end: int) -> None:
        self.text, self.end, self.next = text, end, 0
        self.words = [(found.group(), found.start()) for found in TOKEN.finditer(text.text, start, end)]

    @property
    def word(self) -> str:
        """The next word, which stays the next."""
        return self.words[self.next][0] if self.next < len(self.words) else ""

    @property
    def offset(self) -> int:
        """Where the next word stands; at the end, where the last one ends."""
        if self.next < len(self.words):
            return self.words[self.next][1]
        return self.words[-1][1] + len(self.words[-1][0]) - 1 if self.words else max(0, self.end - 1)

    @property
    def following(self) -> str:
        """The word after the next one."""
        return self.words[self.next + 1][0] if self.next + 1 < len(self.words) else ""

    def take(self) -> str:
        """The next word, passed over."""
        word = self.word
        self.next += 1
        return word

    def accept(self, *words: str) -> bool:
        """Whether the next word is one of these; if so it is passed over."""
        if self.word in words and self.word:
            self.next += 1
            return True
        return False

    def expect(self, word: str, after: str) -> None:
        """Pass over a word that must stand here."""
        if not self.accept(word):
            raise self.error(f"expected {quoted(word)} {after}, found {self.found}")

    @property
    def found(self) -> str:
        """The next word, for a message."""
        return f"{quoted(self.word)}" if self.word else "the end"

    def error(self, message: str, hint: str = "") -> InputError:
        """An error at the next word."""
        return self.text.error(message, self.offset, len(self.word), hint)

    def number(self, bits: int) -> Const:
        """A number, which may have a sign."""
        start = self.offset
        word = ("-" if self.accept("-") else "") + self.word
        value = literal(word, bits)
        if value is None:
            big = NUMBER.fullmatch(word)
            message = f"this number has more than {bits} bits" if big else f"expected a number, found {self.found}"
            raise self.text.error(message, start, len(word))
        self.take()
        return Const(value)


def formula(tokens: Tokens, value: Callable[[Tokens], Expr], kind: Type, depth: int = 0) -> Expr:
    """A condition: comparisons of what `value` reads, at the type `kind`, under and, or, not and parentheses."""
    parts = [_conjunction(tokens, value, kind, depth)]
    while tokens.accept(*OR):
        parts.append(_conjunction(tokens, value, kind, depth))
    return joined("||", parts)


def _conjunction(tokens: Tokens, value: Callable[[Tokens], Expr], kind: Type, depth: int) -> Expr:
    parts = [_negation(tokens, value, kind, depth)]
    while tokens.accept(*AND):
        parts.append(_negation(tokens, value, kind, depth))
    return joined("&&", parts)


def _negation(tokens: Tokens, value: Callable[[Tokens], Expr], kind: Type, depth: int) -> Expr:
    negated = False
    while tokens.accept(*NOT):
        negated = not negated
    if tokens.accept("("):
        if depth == NESTING:
            raise tokens.error(f"parentheses more than {NESTING} deep")
        inner = formula(tokens, value, kind, depth + 1)
        tokens.expect(")", "to close the parenthesis")
    else:
        left = value(tokens)
        if tokens.word not in COMPARE:
            raise tokens.error(f"expected a comparison, found {tokens.found}", "a condition compares: `P0:r0 == 1`")
        inner = Binary(COMPARE[tokens.take()], left, value(tokens), kind)
    return Unary("!", inner, PRED) if negated else inner


def joined(op: str, parts: Sequence[Expr]) -> Expr:
    """The conjunction or disjunction of all parts, nested to the left; a long one as a balanced tree."""
    if len(parts) > FLAT:
        half = len(parts) // 2
        return Binary(op, joined(op, parts[:half]), joined(op, parts[half:]), PRED)
    whole = parts[0]
    for part in parts[1:]:
        whole = Binary(op, whole, part, PRED)
    return whole
