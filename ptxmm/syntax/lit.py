"""The reader of `.lit` files: text to programs, one for each row of `variants`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ptxmm.errors import InputError, Span, near
from ptxmm.program import Conventions, Expect, Place, Program, Thread
from ptxmm.syntax.lit_code import Code
from ptxmm.syntax.lit_declare import memory
from ptxmm.syntax.lit_expect import Clauses, contradiction, suits
from ptxmm.syntax.lit_memory import Memory
from ptxmm.syntax.lit_parse import tree
from ptxmm.syntax.lit_places import Layout, Written, seats, written
from ptxmm.syntax.lit_question import Finals, conventions, hardware, launches, unquoted
from ptxmm.syntax.lit_text import Cell, Source, in_file, sources
from ptxmm.syntax.lit_tree import Item

CONDITIONS = ("exists", "~exists", "forall")


def read(text: str, path: str) -> tuple[Program, ...]:
    """The tests of a `.lit` file.

    >>> [p.full_name for p in read("ptx t .global .u32 x; thread A @ d0.c0.b0 { st.weak.u32 [x], 1; }", "t.lit")]
    ['t']
    """
    programs = []
    for source in sources(text, path):
        try:
            programs.append(Reading(source).program())
        except InputError as wrong:
            raise source.in_file(wrong) from None
        except RecursionError:
            raise InputError("the test is nested too deeply", Span(path, 0, 0)) from None
    return tuple(programs)


class Reading:
    """Reads one test."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.test = tree(source)

    def items(self, *kinds: str) -> list[Item]:
        """The items of some kinds, in the order of the text."""
        return [item for item in self.test.steps if item.kind in kinds]

    def only(self, *kinds: str) -> Item | None:
        """The one item of some kinds, or none."""
        found = self.items(*kinds)
        if len(found) > 1:
            raise self.source.error(
                f"a second `{found[1].kind}`", found[1].start, found[1].end, "a test asks one question"
            )
        return found[0] if found else None

    def program(self) -> Program:
        """The whole test."""
        layout, places = self._layout()
        threads = self.items("thread")
        seated = [(str(item.words[0]), layout.place(place), place) for item, place in zip(threads, places, strict=True)]
        seats(self.source, seated)
        ctas = [replace(place, warp=None, lane=None) for _, place, _ in seated]
        self._names(threads)
        declared = memory(self.source, self.items("declaration"), layout, ctas)
        meant = conventions(self.source, self.items("dialect"))
        code = {
            name: self._thread(item, place, declared, meant)
            for item, (name, place, _) in zip(threads, seated, strict=True)
        }
        finals = Finals(self.source, declared, code)
        condition, filter_ = self.only(*CONDITIONS), self.only("filter")
        asked = finals.condition(condition) if condition else None
        named = [finals.location(node) for item in self.items("locations") for node in item.exprs]
        name, *purpose = self.test.words
        program = Program(
            name=unquoted(name) if name[0] == '"' else str(name),
            objects=tuple(declared.objects.values()),
            threads=tuple(code.values()),
            views=tuple(declared.views.values()),
            condition=asked,
            filter=finals.formula(filter_.exprs[0]) if filter_ else None,
            locations=tuple(named),
            variant=self.source.variant,
            purpose=" ".join(unquoted(word) for word in purpose),
            path=self.source.path,
            conventions=meant,
            hardware=hardware(self.source, self.items("hardware"), declared, code),
            launches=launches(self.source, self.items("launch"), {place.kernel for _, place, _ in seated}),
        )
        return replace(program, expects=tuple(self._expects(program, declared)))

    def _layout(self) -> tuple[Layout, list[Written]]:
        """Where all CTAs are; and the written places of the threads."""
        layout = Layout(self.source)
        places = [written(self.source, item) for item in self.items("thread")]
        for place in places:
            layout.add(place)
        shared = [
            layout.in_kernel(written(self.source, part, every=True))
            for item in self.items("declaration")
            if item.words[0] == ".shared"
            for part in item.steps
            if part.kind == "placed"
        ]
        for place in shared:
            layout.add(place)
        layout.check((*places, *shared))
        return layout, places

    def _names(self, threads: list[Item]) -> None:
        """Threads have different names, and start after other threads of the test."""
        names: set[str] = set()
        for item in threads:
            name = str(item.words[0])
            if not name.isidentifier():
                raise self.source.error(
                    f"`{name}` cannot name a thread", item.start, item.end, "letters, digits and `_`"
                )
            if name in names:
                raise self.source.error(f"a second thread `{name}`", item.start, item.end)
            names.add(name)
        for item in threads:
            for after in item.words[2:]:
                if after not in names or after == item.words[0]:
                    raise self.source.error(
                        f"no other thread `{after}`", after.start_pos or 0, after.end_pos or 0, near(after, names)
                    )

    def _thread(self, item: Item, place: Place, declared: Memory, meant: Conventions) -> Thread:
        code = Code(self.source, declared, str(item.words[0]), place, meant)
        after = str(item.words[2]) if len(item.words) > 2 else None
        return code.thread(item.steps, after, item.start, item.end)

    def _expects(self, program: Program, declared: Memory) -> list[Expect]:
        source = self.source
        found: list[Expect] = []
        for item in self.items("expect"):
            base = item.start
            fail = partial(_shifted, source.error, base)
            clauses = Clauses(str(item.words[0]), fail, partial(_object, declared), declared.names)
            found += clauses.read(partial(_span, source, base))
        cell = source.expect
        if cell is not None and cell.value:
            found += self._cell(cell, declared)
        said: dict[str | None, set[str]] = {}
        for expect in found:
            for model in expect.models or (None,):
                clash = contradiction(expect, said.setdefault(model, set()))
                if clash:
                    raise InputError(f"`{clash}` contradicts an earlier line", expect.at)
            wrong = suits(expect, program.condition)
            if wrong is not None:
                raise InputError(wrong[0], expect.at, wrong[1])
        return found

    def _cell(self, cell: Cell, declared: Memory) -> list[Expect]:
        """The verdicts in a cell of `variants`, whose places are those of the file."""
        source = self.source
        fail = partial(_shifted, source.cell_error, cell.start)
        clauses = Clauses(cell.value, fail, partial(_object, declared), declared.names)
        return clauses.read(lambda start, end: in_file(source.path, source.file, cell.start + start, cell.start + end))


def _shifted(make: Callable[..., InputError], base: int, message: str, start: int, end: int, hint: str) -> InputError:
    return make(message, base + start, base + end, hint)


def _span(source: Source, base: int, start: int, end: int) -> Span:
    return source.span(base + start, base + end)


def _object(declared: Memory, name: str) -> str | None:
    return declared.object(name).name if declared.item(name) is not None else None
