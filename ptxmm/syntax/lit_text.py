"""The text of a `.lit` file before its grammar: comments, the rows of `variants`, and where everything stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from ptxmm.errors import InputError, Span, near

COMMENT = re.compile(
    r'"(?:[^"\\\n]|\\[^\n])*+"?|//[^\n]*+|/\*.*?(?:\*/|\Z)|^[ \t]*+\.(?:loc|pragma)\b[^\n;]*+;?',
    re.DOTALL | re.MULTILINE,
)
DOLLAR = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
LABEL = re.compile(r"(?<![\w$])([A-Za-z_$][\w$]*+)\s*+:(?!:)")
BAR = re.compile(r"(?:(?<=\s)|^)\|(?=\s|$)")
HEAD = re.compile(r"^[ \t]*variants[ \t]*\r?$", re.MULTILINE)
TAIL = re.compile(r"^[ \t]*end[ \t]*\r?$", re.MULTILINE)
LARGEST = 1 << 19
LARGEST_EXPANDED = 1 << 20
RESERVED = ("name", "expect")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of `variants`: its text, and where it starts in the file."""

    text: str
    start: int

    @property
    def value(self) -> str:
        """What it stands for: `-` for nothing."""
        return "" if self.text == "-" else self.text


@dataclass(frozen=True)
class Source:
    """The text of one test, with places in it: `pieces` says where text from a cell was put in.

    A piece is `(start here, start in the file)`; `file` is the text of the whole file.
    """

    path: str
    text: str
    file: str
    variant: str | None = None
    expect: Cell | None = None
    pieces: tuple[tuple[int, int], ...] = field(default=((0, 0),), repr=False)

    @cached_property
    def starts(self) -> list[int]:
        """Where each line starts."""
        return [0, *(m.end() for m in re.finditer("\n", self.text))]

    def span(self, start: int, end: int | None = None) -> Span:
        """The place of a piece of this text, the line shown as it stands after substitution."""
        start = min(start, len(self.text))
        line = bisect_right(self.starts, start) - 1
        first = self.starts[line]
        last = self.starts[line + 1] - 1 if line + 1 < len(self.starts) else len(self.text)
        width = max(1, min(end if end is not None else start + 1, last) - start)
        return Span(self.path, line + 1, start - first + 1, self.text[first:last].rstrip("\r"), width)

    def error(self, message: str, start: int, end: int | None = None, hint: str = "") -> InputError:
        """An error at a piece of this text."""
        return InputError(message, self.span(start, end), hint)

    def cell_error(self, message: str, start: int, end: int, hint: str = "") -> InputError:
        """An error at a piece of the file, as the cells of `variants` are."""
        return InputError(message, in_file(self.path, self.file, start, end), hint)

    def in_file(self, error: InputError) -> InputError:
        """The same error where its text stands in the file: in a cell of `variants`, or around a `$NAME`."""
        at = error.at
        if len(self.pieces) == 1 or at.path != self.path or not 0 < at.line <= len(self.starts):
            return error
        offset = min(self.starts[at.line - 1] + at.column - 1, len(self.text))
        index = bisect_right(self.pieces, (offset, len(self.file))) - 1
        here, there = self.pieces[index]
        stop = self.pieces[index + 1][0] if index + 1 < len(self.pieces) else len(self.text)
        width = max(1, min(at.width, stop - offset))
        start = there + offset - here
        first, last = self._line(at.line)
        substituted = any(first < piece <= last for piece, _ in self.pieces[1:])
        message = f"{error.message} (in variant `{self.variant}`)" if substituted else error.message
        return InputError(message, in_file(self.path, self.file, start, start + width), error.hint)

    def _line(self, line: int) -> tuple[int, int]:
        last = self.starts[line] if line < len(self.starts) else len(self.text) + 1
        return self.starts[line - 1] - 1, last


def in_file(path: str, text: str, start: int, end: int) -> Span:
    """The place of a piece of a whole file."""
    start = min(start, len(text))
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    last = len(text) if last < 0 else last
    line = text.count("\n", 0, start) + 1
    return Span(path, line, start - first + 1, text[first:last].rstrip("\r"), max(1, min(end, last) - start))


def blank(text: str) -> str:
    """The text with spaces in place of comments, and of the lines `.loc` and `.pragma` of a compiler; strings stay.

    >>> blank('x // y')
    'x     '
    """
    return COMMENT.sub(lambda m: m[0] if m[0][0] == '"' else re.sub(r"[^\r\n]", " ", m[0]), text)


def sources(text: str, path: str) -> Iterator[Source]:
    """The text of each test of a file: one, or one for each row of `variants`."""
    if len(text) > LARGEST:
        raise InputError(f"the file is too large: a test has at most {LARGEST} characters", Span(path, 0, 0))
    clean = blank(text)
    head = HEAD.search(clean)
    if head is None:
        _no_dollars(clean, text, path)
        yield Source(path, clean, text)
        return
    tail = TAIL.search(clean, head.end())
    if tail is None:
        word = clean.index("variants", head.start())
        raise InputError("`variants` without `end`", in_file(path, text, word, word + 8), "close it with a line `end`")
    rest = clean[tail.end() :]
    block = re.sub(r"[^\n]", " ", clean[head.start() : tail.end()]) if rest.strip() else ""
    template = clean[: head.start()] + block + rest.rstrip()
    again = HEAD.search(template)
    if again is not None:
        raise InputError("a second `variants`", in_file(path, text, again.start(), again.end()), "one test has one")
    header, rows = _table(clean, head.end(), tail.start(), text, path)
    yield from _rows(template, header, rows, text, path)


def _no_dollars(clean: str, text: str, path: str) -> None:
    for found in _holes(clean, frozenset()):
        span = in_file(path, text, found.start(), found.end())
        raise InputError(f"unknown `{found[0]}`: this test has no `variants`", span, "`$NAME` stands for a column")


def _holes(text: str, columns: frozenset[str]) -> list[re.Match[str]]:
    """Every `$NAME`, except in the names of labels such as `$L__BB0_1`."""
    holes = list(DOLLAR.finditer(text))
    labels = {m[1] for m in LABEL.finditer(text) if "$" in m[1] and columns.isdisjoint(DOLLAR.findall(m[1]))}
    return [hole for hole in holes if not labels or _word(hole, text) not in labels]


def _word(found: re.Match[str], text: str) -> str:
    """The word that a `$` stands in."""
    before = re.search(r"[\w$]*+$", text[max(0, found.start() - 80) : found.start()])
    after = re.match(r"[\w$]*+", text[found.end() : found.end() + 80])
    return (before[0] if before else "") + found[0] + (after[0] if after else "")


def _table(clean: str, start: int, stop: int, text: str, path: str) -> tuple[list[Cell], list[list[Cell]]]:
    """The header and the rows of `variants`, each of as many cells."""
    lines = []
    for line in re.findall(r".+\n?|\n", clean[start:stop]):
        if line.strip():
            lines.append(_cells(line, start))
        start += len(line)
    if len(lines) < 2:
        raise InputError(
            "`variants` without a row", in_file(path, text, stop, stop + 3), "a header line, then one line a test"
        )
    header, rows = lines[0], lines[1:]
    names: set[str] = set()
    for cell in header:
        at = in_file(path, text, cell.start, cell.start + len(cell.text))
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", cell.text):
            raise InputError(f"`{cell.text}` cannot name a column", at, "letters, digits and `_`")
        if cell.text in names:
            raise InputError(f"a second column `{cell.text}`", at)
        names.add(cell.text)
    if "name" not in names:
        at = in_file(path, text, header[0].start, header[0].start + len(header[0].text))
        raise InputError("`variants` has no column `name`", at, "each row is a test with a name")
    for row in rows:
        if len(row) != len(header):
            last = row[-1] if len(row) < len(header) else row[len(header)]
            kind = "few" if len(row) < len(header) else "many"
            at = in_file(path, text, last.start, last.start + len(last.text))
            hint = f"the header has {len(header)}; cells are separated by ` | `, an empty cell is `-`"
            raise InputError(f"too {kind} cells: {len(row)}", at, hint)
    return header, rows


def _cells(line: str, start: int) -> list[Cell]:
    cells, begin = [], 0
    for stop in [*(m.start() for m in BAR.finditer(line)), len(line)]:
        part = line[begin:stop]
        cells.append(Cell(part.strip(), start + begin + len(part) - len(part.lstrip())))
        begin = stop + 1
    return cells


def _rows(template: str, header: list[Cell], rows: list[list[Cell]], text: str, path: str) -> list[Source]:
    names = [cell.text for cell in header]
    columns = frozenset(names) - set(RESERVED)
    holes = _holes(template, columns)
    for hole in holes:
        if hole[1] not in columns:
            span = in_file(path, text, hole.start(), hole.end())
            raise InputError(f"`variants` has no column `{hole[1]}`", span, near(hole[1], columns))
    used = {hole[1] for hole in holes}
    for cell in header:
        if cell.text in columns - used:
            span = in_file(path, text, cell.start, cell.start + len(cell.text))
            raise InputError(f"nothing uses the column `{cell.text}`", span, f"write `${cell.text}` where it belongs")
    seen: set[str] = set()
    sources: list[Source] = []
    total = 0
    for row in rows:
        cells = dict(zip(names, row, strict=True))
        name = cells["name"]
        span = in_file(path, text, name.start, name.start + len(name.text))
        if not name.text or not re.fullmatch(r"[^\s\[\]\"|]+", name.text):
            raise InputError(f"`{name.text}` cannot name a variant", span, "a word without brackets and quotes")
        if name.text in seen:
            raise InputError(f"a second variant `{name.text}`", span)
        seen.add(name.text)
        source = _filled(template, holes, cells, Source(path, template, text, name.text, cells.get("expect")))
        total += len(template) + len(source.text)
        if total > LARGEST_EXPANDED:
            raise InputError(f"the variants are too large: together more than {LARGEST_EXPANDED} characters", span)
        sources.append(source)
    return sources


def _filled(template: str, holes: list[re.Match[str]], cells: dict[str, Cell], plain: Source) -> Source:
    """The template with its holes filled, and where each piece came from."""
    parts, pieces, length, last = [], [(0, 0)], 0, 0
    for hole in holes:
        cell = cells[hole[1]]
        parts += [template[last : hole.start()], cell.value]
        length += hole.start() - last
        pieces.append((length, cell.start))
        length += len(cell.value)
        pieces.append((length, hole.end()))
        last = hole.end()
    parts.append(template[last:])
    return replace(plain, text="".join(parts), pieces=tuple(pieces))
