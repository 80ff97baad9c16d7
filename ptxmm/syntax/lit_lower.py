"""Structured statements become labels and branches; `repeat` is written out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ptxmm.errors import InputError, near
from ptxmm.syntax.lit_await import tested
from ptxmm.syntax.lit_reader import Reader, constant
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Item, Node, Step
from ptxmm.syntax.lit_values import Value
from ptxmm.syntax.lit_wait import Wait, is_wait, wait

MOST = 20_000
DEEPEST = 60
LONGEST = 250


class Draft(NamedTuple):
    """A statement without structure: `text` is the label, the target or the register; `negated` for a branch."""

    kind: str
    step: Step
    text: str = ""
    cond: Node | None = None
    negated: bool = False


@dataclass(slots=True)
class Lowering:
    """Lowers the code of one thread."""

    source: Source
    out: list[Draft] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    defined: dict[str, int] = field(default_factory=dict)
    branches: list[tuple[Step, str]] = field(default_factory=list)
    counter: int = 0
    copies: int = 0
    waits: dict[int, Wait] = field(default_factory=dict)
    tests: dict[int, tuple[Step, Node]] = field(default_factory=dict)

    def run(self, steps: tuple[Step, ...]) -> list[Draft]:
        """The drafts of a thread, every target known."""
        self.names = set(_labels(steps))
        self._block(steps, {}, 0)
        for step, target in self.branches:
            if target not in self.defined:
                node = step.exprs[0]
                raise self.source.error(f"no label `{node.text}`", node.start, node.end, self._hint(node.text))
        return self.out

    def _hint(self, name: str) -> str:
        if name in self.names:
            return "it stands inside a `repeat`, where it is written out several times"
        return near(name, self.defined) or f"write `{name}:` before a statement of this thread"

    def _fresh(self, stem: str) -> str:
        while True:
            self.counter += 1
            name = f"{stem}_{self.counter}"
            if name not in self.names:
                return name

    def _emit(self, draft: Draft) -> None:
        if len(self.out) >= MOST:
            at = draft.step
            raise self.source.error(f"this thread has more than {MOST} statements", at.start, at.end)
        self.out.append(draft)

    def _label(self, step: Step, name: str) -> None:
        self.defined[name] = step.start
        self._emit(Draft("label", step, name))

    def _block(self, steps: Iterable[Step], renamed: dict[str, str], depth: int) -> None:
        for step in steps:
            self._check(step, depth)
            match step.kind:
                case "if":
                    self._if(step, renamed, depth)
                case "while":
                    self._while(step, renamed, depth)
                case "do":
                    top = self._fresh("do")
                    self._label(step, top)
                    self._block(step.blocks[0], renamed, depth + 1)
                    self._emit(Draft("branch", step, top, step.exprs[0]))
                case "repeat":
                    self._repeat(step, renamed, depth)
                case "label":
                    self._own_label(step, renamed)
                case "instruction" if step.text in ("bra", "bra.uni"):
                    self._bra(step, renamed)
                case "instruction" if is_wait(step.text):
                    self._wait(step)
                case "await":
                    self._await(step)
                case _:
                    self._emit(Draft(step.kind, step, step.text))

    def _check(self, step: Step | Item, depth: int) -> None:
        if isinstance(step, Item):
            message = "a register with a first value is declared at the start of a thread"
            raise self.source.error(message, step.start, step.end, "move this out of the braces")
        if depth > DEEPEST:
            raise self.source.error(f"nested more than {DEEPEST} deep", step.start, step.end)
        if len(step.text) > LONGEST:
            raise self.source.error(f"a word of more than {LONGEST} characters", step.start, step.end)

    def _if(self, step: Step, renamed: dict[str, str], depth: int) -> None:
        then, other = step.blocks
        end = self._fresh("endif")
        skip = self._fresh("else") if other else end
        self._emit(Draft("branch", step, skip, step.exprs[0], True))
        self._block(then, renamed, depth + 1)
        if other:
            self._emit(Draft("branch", step, end))
            self._label(step, skip)
            self._block(other, renamed, depth + 1)
        self._label(step, end)

    def _while(self, step: Step, renamed: dict[str, str], depth: int) -> None:
        """The condition stands before the loop and at its end: nothing that the body writes is read at its start."""
        top, end = self._fresh("while"), self._fresh("endwhile")
        self._emit(Draft("branch", step, end, step.exprs[0], True))
        self._label(step, top)
        self._block(step.blocks[0], renamed, depth + 1)
        self._emit(Draft("branch", step, top, step.exprs[0]))
        self._label(step, end)

    def _wait(self, step: Step) -> None:
        if id(step) not in self.waits:
            self.waits[id(step)] = wait(self.source, step)
        parts = self.waits[id(step)]
        poll, done, over = self._fresh("poll"), self._fresh("done"), self._fresh("over")
        branch = Draft("branch", parts.statement)
        if step.guard is not None:
            self._emit(branch._replace(text=over, cond=step.guard, negated=True))
        if parts.seeded:
            self._emit(branch._replace(text=done, cond=parts.test))
        self._label(parts.statement, poll)
        self._emit(Draft("instruction", parts.poll, parts.poll.text))
        if parts.nap is not None:
            self._emit(branch._replace(text=done, cond=parts.test))
            self._emit(Draft("instruction", parts.nap, parts.nap.text))
            self._emit(branch._replace(text=poll))
        else:
            self._emit(branch._replace(text=poll, cond=parts.test, negated=True))
        if parts.seeded or parts.nap is not None:
            self._label(parts.statement, done)
        if parts.close is not None:
            self._emit(Draft("instruction", parts.close, parts.close.text))
        if step.guard is not None:
            self._label(parts.statement, over)

    def _await(self, step: Step) -> None:
        """A test that repeats until it is true; the predicate is one that nothing else in the test names."""
        if id(step) not in self.tests:
            self.tests[id(step)] = tested(self.source, step, lambda: self._hidden("awaited"))
        test, done = self.tests[id(step)]
        top, over = self._fresh("await"), self._fresh("over") if step.guard is not None else ""
        if step.guard is not None:
            self._emit(Draft("branch", step, over, step.guard, True))
        self._label(step, top)
        self._emit(Draft("instruction", test, test.text))
        self._emit(Draft("branch", step, top, done, True))
        if step.guard is not None:
            self._label(step, over)

    def _hidden(self, stem: str) -> str:
        """The name of a register that the text of the test does not use."""
        while True:
            self.counter += 1
            name = f"{stem}_{self.counter}"
            if name not in self.source.text:
                self.hidden.add(name)
                return name

    def _repeat(self, step: Step, renamed: dict[str, str], depth: int) -> None:
        node = step.exprs[0]
        times = constant(Reader(self.source, _no_register), node, "the number of `repeat`")
        if not 0 <= times <= MOST:
            raise self.source.error(f"cannot repeat {times} times", node.start, node.end, f"0 to {MOST}")
        inner = list(_labels(step.blocks[0]))
        for _ in range(times if step.blocks[0] else 0):
            self.copies += 1
            if self.copies > MOST:
                raise self.source.error(f"`repeat` makes more than {MOST} copies", step.start, step.end)
            fresh = {label: self._fresh(label) for label in inner}
            self._block(step.blocks[0], {**renamed, **fresh}, depth + 1)

    def _own_label(self, step: Step, renamed: dict[str, str]) -> None:
        name = renamed.get(step.text, step.text)
        if "." in name or "::" in name or name[0] == "%":
            raise self.source.error(f"`{name}` cannot be a label", step.start, step.end)
        if name in self.defined:
            raise self.source.error(f"a second label `{step.text}`", step.start, step.end)
        self._label(step, name)

    def _bra(self, step: Step, renamed: dict[str, str]) -> None:
        if len(step.exprs) != 1 or step.exprs[0].kind != "name":
            raise self.source.error("`bra` takes one label", step.start, step.end, "write `bra L1;`")
        target = renamed.get(step.exprs[0].text, step.exprs[0].text)
        self.branches.append((step, target))
        self._emit(Draft("branch", step, target))


def _labels(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, Item):
            continue
        if step.kind == "label":
            yield step.text
        for block in step.blocks:
            yield from _labels(block)


def _no_register(reader: Reader, node: Node) -> Value:
    raise _not_known(reader, node)


def _not_known(reader: Reader, node: Node) -> InputError:
    return reader.source.error("the number of `repeat` must be known before the test runs", node.start, node.end)
