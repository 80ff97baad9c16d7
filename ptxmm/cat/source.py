"""A cat file as text: positions for errors, comments blanked, and the directives that comments hold."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from ptxmm.errors import InputError, Span, near
from ptxmm.vocabulary import FEATURES

LARGEST = 1 << 20
_OUTSIDE = re.compile(r'"[^"\n]*"|//[^\n]*|\(\*')
_INSIDE = re.compile(r"\(\*|\*\)")
_DIRECTIVE = re.compile(r"\(\*\s*ptxmm:(.*)\*\)", re.DOTALL)
_WORD = re.compile(r"[^\s,]+")
HANDS_ON, EXPECT_ENDS_NOTHING = DECLARATIONS = "hands-on", "expect-tx-ends-no-phase"


@dataclass(frozen=True)
class Source:
    """The text of one file, under the path that errors show."""

    path: str
    text: str
    _starts: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_starts", (0, *(m.end() for m in re.finditer(r"\n", self.text))))

    def at(self, position: int, width: int = 1) -> Span:
        """The span that starts at an offset in the text."""
        position = min(position, len(self.text))
        line = bisect_right(self._starts, position)
        start = self._starts[line - 1]
        stop = self.text.find("\n", start)
        return Span(self.path, line, position - start + 1, self.text[start : stop if stop >= 0 else None], width)


def blank_comments(source: Source) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text with comments turned into blanks, offsets kept, and where the block comments stand.

    >>> blank_comments(Source("m.cat", "let a = (po*) (* b (* c *) d *) | rf // e"))[0].rstrip()
    'let a = (po*)                   | rf'
    """
    text, pieces, comments, last = source.text, list[str](), list[tuple[int, int]](), 0
    while found := _OUTSIDE.search(text, last):
        start, stop = found.span()
        if found.group().startswith('"'):
            pieces.append(text[last:stop])
        else:
            if found.group() == "(*":
                stop = _closing(source, start)
                comments.append((start, stop))
            pieces += text[last:start], re.sub(r"[^\n]", " ", text[start:stop])
        last = stop
    return "".join([*pieces, text[last:]]), tuple(comments)


def _closing(source: Source, start: int) -> int:
    """Where the block comment that opens at `start` ends; comments nest."""
    depth, position = 0, start
    while found := _INSIDE.search(source.text, position):
        depth += 1 if found.group() == "(*" else -1
        position = found.end()
        if not depth:
            return position
    raise InputError("this comment is never closed", source.at(start, 2), "end it with `*)`")


def declared_features(source: Source, comments: tuple[tuple[int, int], ...]) -> frozenset[str] | None:
    """What `(* ptxmm: supports … *)` lists, or None where no comment says so."""
    found: set[str] | None = None
    for start, stop in comments:
        if directive := _DIRECTIVE.fullmatch(source.text[start:stop]):
            words = list(_WORD.finditer(directive.group(1)))
            offset = start + directive.start(1)
            if [word.group() for word in words] in [[said] for said in DECLARATIONS]:
                continue
            if not words or words[0].group() != "supports":
                first = words[0] if words else None
                at = source.at(offset + first.start(), len(first.group())) if first else source.at(start, 2)
                raise InputError(
                    "not a ptxmm directive",
                    at,
                    f"write {', '.join(f'`(* ptxmm: {said} *)`' for said in ('supports FEATURE, …', *DECLARATIONS))}",
                )
            found = found or set()
            for word in words[1:]:
                if word.group() not in FEATURES:
                    at = source.at(offset + word.start(), len(word.group()))
                    known = near(word.group(), FEATURES) or f"the features are {', '.join(FEATURES)}"
                    raise InputError(f"no feature is called `{word.group()}`", at, known)
                found.add(word.group())
    return None if found is None else frozenset(found)


def says(source: Source, comments: tuple[tuple[int, int], ...], declaration: str) -> bool:
    """Whether a comment of the file declares this of the model (`model.Model.hands_on`, `.expect_ends`)."""
    found = (_DIRECTIVE.fullmatch(source.text[start:stop]) for start, stop in comments)
    return any(directive.group(1).strip() == declaration for directive in found if directive)
