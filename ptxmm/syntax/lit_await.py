"""`await`: an mbarrier's phase is tested again and again until it is complete."""

from __future__ import annotations

from collections.abc import Callable

from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Node, Step

TESTS = ("mbarrier.try_wait", "mbarrier.test_wait")
SHAPE = "write `await mbarrier.try_wait.parity.acquire.cta [m], 0;`"


def tested(source: Source, step: Step, hidden: Callable[[], str]) -> tuple[Step, Node]:
    """The test that an `await` repeats and the predicate it writes: the one that is written, else a `hidden` one."""
    test = step.blocks[0][0]
    if not any(test.text == name or test.text.startswith(f"{name}.") for name in TESTS):
        message = f"`await` repeats a test of an mbarrier, not `{test.text}`"
        raise source.error(message, test.start, test.start + len(test.text), SHAPE)
    first = test.exprs[0]
    if first.kind == "name" and first.text != "_":
        return test, first
    done = Node("name", hidden(), (), test.start, test.start + len(test.text))
    operands = test.exprs[1:] if first.kind == "name" else test.exprs
    return test._replace(exprs=(done, *operands)), done
