"""Errors that point at the user's text, and the sentences that other failures are told in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

SHOWN = 160


@dataclass(frozen=True, slots=True)
class Span:
    """Where in a user's file something stands: `line` and `column` count from 1, `source` is the whole line.

    The line 0 is that of what is said of a whole file, and the path is empty where no file is spoken of.
    """

    path: str
    line: int
    column: int
    source: str = ""
    width: int = 1


class PtxmmError(Exception):
    """What went wrong, in one sentence for the user: every error that ptxmm reports is one of these."""


class InputError(PtxmmError):
    """The user's file is wrong, here, and this is what would be right.

    >>> at = Span("mp.lit", 4, 9, "  st.weak.gpu [x], 1", 3)
    >>> print(InputError("`st.weak` takes no scope", at, "write `st.relaxed.gpu` for a strong store"))
    mp.lit:4:9: error: `st.weak` takes no scope
      st.weak.gpu [x], 1
            ^^^
      hint: write `st.relaxed.gpu` for a strong store
    >>> print(InputError("this is a folder, not a test", Span("litmus", 0, 0)))
    litmus: error: this is a folder, not a test
    """

    def __init__(self, message: str, at: Span, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.at, self.hint = message, at, hint

    def __str__(self) -> str:
        at = self.at
        where = f"{printable(at.path)}:{at.line}:{at.column}" if at.line else printable(at.path)
        head = f"{where}: error: {self.message}" if where else self.message
        return "\n".join([head, *excerpt(at), *([f"  hint: {self.hint}"] if self.hint else [])])


def printable(text: str, kept: str = "") -> str:
    r"""The text with nothing in it that moves a terminal's cursor or changes its state, except what is `kept`.

    >>> printable("\x1b[31mred\ttext")
    '?[31mred text'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else " " if c == "\t" else "?" for c in text)


def excerpt(at: Span) -> list[str]:
    """The line that `at` points at, without its indentation and cut to a readable length, and the caret below."""
    if not at.source.strip():
        return []
    expanded = printable(at.source.rstrip("\r\n"))
    indent = len(expanded) - len(expanded.lstrip())
    first = max(indent, at.column - 1 - SHOWN // 2) if at.column - 1 - indent > SHOWN else indent
    shown = expanded[first : first + SHOWN].rstrip()
    caret = max(0, at.column - 1 - first)
    width = max(1, min(at.width, max(1, len(shown) - caret)))
    return [f"  {shown}", f"  {' ' * caret}{'^' * width}"]


class Unsupported(PtxmmError):
    """The model, or this version of ptxmm, cannot express what the test asks: the sentence says what."""


class Undecided(PtxmmError):
    """ptxmm gives up on a question (too large, undefined, cut): the sentence says why. The answer is `unknown`."""


class MissingTool(PtxmmError):
    """Something outside ptxmm is not installed: the sentence says what, and how to get it."""


def near(word: str, known: Iterable[str]) -> str:
    """A hint that names the known words nearest to `word`, or nothing.

    >>> near("relaxd", ["relaxed", "release", "weak"])
    'did you mean `relaxed` or `release`?'
    """
    close = get_close_matches(word, sorted(known), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(f'`{c}`' for c in close)}?" if close else ""


def near_or_all(word: str, known: Iterable[str], what: str) -> str:
    """A hint that names the nearest of the known words, or where none is near, all of them.

    >>> near_or_all("B", ["writer", "reader"], "threads of this test")
    'threads of this test: writer, reader'
    """
    every = list(known)
    return near(word, every) or f"{what}: {', '.join(every)}"
