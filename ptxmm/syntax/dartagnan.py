"""Reads Dartagnan's PTX dialect (`.litmus`): threads in columns, one unbounded integer type, herd's conditions.

Where the dialect means something else than our language, `Program.conventions` says so. Two spellings have no
counterpart in it and are written as follows. `bar.cta.sync INSTANCE` has no barrier number and meets every such barrier
of that instance in its CTA: its `id` is `Const(-1)`. `x = y` in the initial block copies the initial value of `y`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePath

from ptxmm.arith import S64, Type
from ptxmm.errors import InputError, Span, near
from ptxmm.program import (
    Addr,
    Branch,
    Const,
    Conventions,
    Label,
    Place,
    Program,
    Proxy,
    Statement,
    Thread,
)
from ptxmm.syntax._columns import INSTRUCTIONS
from ptxmm.syntax._common import NAME, REGISTER, Text, Tokens, blanked, literal, quoted
from ptxmm.syntax._memory import Memory
from ptxmm.syntax._question import Question
from ptxmm.syntax._written import Written

CONVENTIONS = Conventions(
    failed_cas_writes=True, reductions_read=True, named_instances=True, branches_control_the_rest=True
)
PROXIES = {proxy.value: proxy for proxy in Proxy}

COMMENTS = {"(*": "*)", "<<": ">>"}
START = re.compile(r"\s*(?:PTX|ptx)\b")
HEAD = re.compile(r'\s*(?:PTX|ptx)\b[ \t]*+([^\n"{]*+)((?:"[^"]*+"|[^"{])*+)\{', re.S)
QUOTED = re.compile(r'"([^"]*)"')
INIT = re.compile(
    r"""(?:P?(?P<thread>\d{1,9})\s*:\s*(?P<register>r\d{1,9})|(?P<name>[A-Za-z_]\w*))\s*+=\s*+(?P<value>&?\s*+[\w-]+)
    | (?P<view>[A-Za-z_]\w*)\s*@\s*(?P<proxy>\w+)\s+aliases\s+(?P<target>\w+)""",
    re.ASCII | re.X,
)
COLUMN = re.compile(r"P?(\d{1,9})\s*@\s*cta\s+(\d{1,9})\s*,\s*gpu\s+(\d{1,9})", re.ASCII)
CELL = re.compile(r"(?P<opcode>[A-Za-z_][\w.]*)(?P<operands>.*)", re.ASCII | re.S)
QUESTION = re.compile(r"~|\b(?:exists|forall|filter|locations|final|not)\b")


def read(text: str, path: str) -> tuple[Program, ...]:
    """The one test of a file in Dartagnan's PTX dialect.

    >>> (test,) = read("PTX t { x=0; } P0@cta 0,gpu 0 ; st.weak x, 1 ; exists (x == 1)", "t.litmus")
    >>> test.name, test.threads[0].place, test.threads[0].body[0].text
    ('t', Place(device=0, cluster=0, cta=0, warp=None, lane=None, kernel=0), 'st.weak x, 1')
    """
    return (_Reader(Text(path, blanked(text, COMMENTS))).program(),)


@dataclass(slots=True)
class _Column:
    """One thread as far as it has been read."""

    place: Place
    at: Span
    body: list[Statement] = field(default_factory=list)
    types: dict[str, Type] = field(default_factory=dict)
    init: dict[str, Const | Addr] = field(default_factory=dict)


class _Reader:
    """One file on its way to a program."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.memory = Memory(text, S64)
        self.columns: dict[str, _Column] = {}
        self.locations: dict[str, int] = {}

    def program(self) -> Program:
        """The parts of the file in their order."""
        text = self.text.text
        head = HEAD.match(text)
        if head is None:
            known = START.match(text)
            message = "expected `{` and initial values" if known else "expected `PTX NAME` at the start"
            hint = "" if known else "`.litmus` files are read in Dartagnan's PTX dialect, and no others"
            at = known.end() - 1 if known else self.text.first(0, len(text))
            raise self.text.error(message, at, hint=hint)
        close = text.find("}", head.end())
        if close < 0:
            raise self.text.error("the initial values do not end", head.end() - 1, hint="write `}` after them")
        question = QUESTION.search(text, close)
        end = question.start() if question else len(text)
        self.code(head.end(), close, end)
        for name, at in self.locations.items():
            if name not in self.memory:
                self.memory.add(name, at)
        tokens = Tokens(self.text, end, len(text))
        registers = {name: column.types for name, column in self.columns.items()}
        condition, kept, locations = Question(self.memory, registers, self.thread).read(tokens)
        return Program(
            name=head.group(1).strip() or PurePath(self.text.path).stem,
            objects=tuple(self.memory.objects.values()),
            views=tuple(self.memory.views.values()),
            threads=tuple(self.finished(name, column) for name, column in self.columns.items()),
            condition=condition,
            filter=kept,
            locations=locations,
            purpose=" ".join(" ".join(QUOTED.findall(head.group(2))).split()),
            path=self.text.path,
            conventions=CONVENTIONS,
        )

    def code(self, initial: int, close: int, end: int) -> None:
        """The rows of the table, and between its first row and the others the initial values that name its threads."""
        start = self.text.first(close + 1, end)
        start += self.text.text.startswith(";", start, end)
        *rows, last = self.text.pieces(start, end, ";")
        if self.text.first(*last) < last[1]:
            raise self.text.error("this row does not end", self.text.first(*last), hint="end each row with `;`")
        if not rows:
            raise self.text.error("expected the threads", start, hint="write `P0@cta 0,gpu 0 ;`")
        self.threads(*rows[0])
        self.initial(initial, close)
        for row in rows[1:]:
            self.row(*row)

    # --- threads and initial values ---

    def threads(self, start: int, end: int) -> None:
        """The row of the threads and their places."""
        for first, last in self.text.pieces(start, end, "|"):
            cell, at = self.text.text[first:last].strip(), self.text.first(first, last)
            found = COLUMN.fullmatch(cell)
            if found is None:
                raise self.text.error("expected a thread", at, len(cell), "write `P0@cta 0,gpu 0`")
            number, cta, gpu = map(int, found.groups())
            if f"P{number}" in self.columns:
                raise self.text.error(f"there are two threads P{number}", at, len(cell))
            self.columns[f"P{number}"] = _Column(Place(device=gpu, cluster=cta, cta=cta), self.text.span(at, len(cell)))

    def thread(self, number: str, at: int) -> str:
        """The name of the thread with a number."""
        name = f"P{int(number)}"
        if name not in self.columns:
            raise self.text.error(f"there is no thread {name}", at, len(number), near(name, self.columns))
        return name

    def initial(self, start: int, end: int) -> None:
        """The block of initial values and aliases; registers may point to locations declared after them."""
        pointers = []
        for first, last in self.text.pieces(start, end, ";"):
            at = self.text.first(first, last)
            source = self.text.text[at:last].rstrip()
            found = INIT.fullmatch(source)
            if source and found is None:
                hint = "write `x = 0`, `P0:r0 = 0` or `y @ generic aliases x`"
                raise self.text.error("expected an initial value", at, len(source), hint)
            if found is None:
                continue
            if found["view"]:
                proxy = found["proxy"]
                if proxy not in PROXIES:
                    hint = near(proxy, PROXIES) or f"one of {', '.join(PROXIES)}"
                    raise self.text.error(f"there is no proxy {quoted(proxy)}", at, len(source), hint)
                self.memory.view(found["view"], at, found["target"], PROXIES[proxy])
                continue
            value = self.value(found["value"], at, len(source))
            if found["thread"]:
                column = self.columns[self.thread(found["thread"], at)]
                column.types[found["register"]] = S64
                if value != Const(0):
                    column.init[found["register"]] = value
                if isinstance(value, Addr):
                    pointers.append((value.name, at))
            else:
                if isinstance(value, Addr):
                    origin = self.memory.physical(self.memory.known(value.name, at))
                    (value,) = self.memory.objects[origin].init
                self.memory.add(found["name"], at, value)
        for name, at in pointers:
            self.memory.known(name, at)

    def value(self, word: str, at: int, width: int) -> Const | Addr:
        """A number or the name of a location."""
        number, name = literal(word, S64.bits), word.lstrip("& \t\r\n")
        if number is not None:
            return Const(number)
        if NAME.fullmatch(name) and not REGISTER.fullmatch(name):
            return Addr(name)
        raise self.text.error(f"{quoted(word)} is neither a location nor a number of 64 bits", at, width)

    # --- code ---

    def row(self, start: int, end: int) -> None:
        """One row: an instruction, or nothing, for each thread."""
        cells = self.text.pieces(start, end, "|")
        if len(cells) != len(self.columns):
            message = f"this row has {len(cells)} columns, and there are {len(self.columns)} threads"
            raise self.text.error(message, self.text.first(start, end), hint="separate columns by `|`, rows by `;`")
        for column, (first, last) in zip(self.columns.values(), cells, strict=True):
            at = self.text.first(first, last)
            if at < last:
                column.body.append(self.statement(column, at, self.text.text[at:last].rstrip()))

    def statement(self, column: _Column, at: int, source: str) -> Statement:
        """The statement of one cell."""
        found = CELL.fullmatch(source)
        if found is None:
            raise self.text.error("expected an instruction", at, len(source))
        opcode, rest = found["opcode"], found["operands"].strip()
        if rest == ":":
            return Label(name=opcode, at=self.text.span(at, len(source)), text=source)
        operands = tuple(word.strip() for word in rest.split(",")) if rest else ()
        written = Written(self.text, at, source, opcode, operands, S64, self.locations, column.types)
        head = opcode.split(".", 1)[0]
        if head not in INSTRUCTIONS:
            raise written.error(f"there is no instruction {quoted(head)}", opcode, near(head, INSTRUCTIONS))
        return INSTRUCTIONS[head](written)

    def finished(self, name: str, column: _Column) -> Thread:
        """A thread, each of whose branches has one label to go to."""
        labels: set[str] = set()
        for statement in column.body:
            if isinstance(statement, Label):
                if statement.name in labels:
                    raise InputError(f"thread {name} has the label {quoted(statement.name)} twice", statement.at)
                labels.add(statement.name)
        for statement in column.body:
            if isinstance(statement, Branch) and statement.target not in labels:
                raise InputError(
                    f"thread {name} has no label {quoted(statement.target)}",
                    statement.at,
                    near(statement.target, labels),
                )
        return Thread(name, column.place, tuple(column.body), column.types, column.init, at=column.at)
