"""From the rules of the grammar `lit.lark` to the tree of one test."""

from __future__ import annotations

from typing import Any

from lark import Token, Transformer

from ptxmm.syntax.lit_tree import SPELLING, Item, Node, Step, climb, end_of, shallow, start_of


def _leaf(kind: str, token: Token) -> Node:
    return Node(kind, str(token), (), start_of(token), end_of(token))


class Build(Transformer[Token, Any]):
    """One method for each rule, called while the text is read."""

    def name(self, c: list[Token]) -> Node:
        return _leaf("name", c[0])

    def number(self, c: list[Token]) -> Node:
        return _leaf("number", c[0])

    def final(self, c: list[Token]) -> Node:
        return _leaf("final", c[0])

    def index(self, c: list[Any]) -> Node:
        return Node("index", str(c[0]), (c[1],), start_of(c[0]), end_of(c[2]))

    def own(self, c: list[Token]) -> Node:
        return Node("name", f"{c[0]}@{c[1]}", (), start_of(c[0]), end_of(c[1]))

    def own_index(self, c: list[Any]) -> Node:
        return Node("index", f"{c[0]}@{c[1]}", (c[2],), start_of(c[0]), end_of(c[3]))

    def call(self, c: list[Any]) -> Node:
        args = tuple(a for a in c[1:-1] if a is not None)
        return Node("call", str(c[0]), args, start_of(c[0]), end_of(c[-1]))

    def memory(self, c: list[Any]) -> Node:
        first = c[0] if c[0] is not None else c[1]
        return Node("memory", str(c[0] or ""), tuple(c[2:-1]), start_of(first), end_of(c[-1]))

    def vector(self, c: list[Any]) -> Node:
        return Node("vector", "", tuple(a for a in c[1:-1] if a is not None), start_of(c[0]), end_of(c[-1]))

    def group(self, c: list[Node]) -> Node:
        return c[0]

    def signs(self, c: list[Any]) -> Node:
        node = c[-1]
        for sign in reversed(c[:-1]):
            node = Node("unary", SPELLING.get(sign, str(sign)), (node,), start_of(sign), node.end)
        return shallow(node, len(c))

    def select(self, c: list[Node]) -> Node:
        return Node("select", "?", tuple(c), c[0].start, c[-1].end)

    def chain(self, c: list[Any]) -> Node:
        return climb(c)

    # --- statements ---------------------------------------------------------------------------------------------------

    def guard_name(self, c: list[Token]) -> Node:
        return _leaf("name", c[0])

    def guard_not(self, c: list[Token]) -> Node:
        return Node("unary", "!", (_leaf("name", c[0]),), start_of(c[0]), end_of(c[0]))

    def guard_expr(self, c: list[Node]) -> Node:
        return c[0]

    def operands(self, c: list[Node]) -> tuple[Node, ...]:
        return tuple(c)

    def block(self, c: list[Step]) -> tuple[Step, ...]:
        return tuple(s for s in c if s.kind != "empty")

    def empty(self, c: list[Any]) -> Step:
        return Step("empty", "", (), (), None, 0, 0)

    def label(self, c: list[Token]) -> Step:
        return Step("label", str(c[0]), (), (), None, start_of(c[0]), end_of(c[0]))

    def instruction(self, c: list[Any]) -> Step:
        guard = c.pop(0) if isinstance(c[0], Node) else None
        operands = c[1] if len(c) > 1 else ()
        end = operands[-1].end if operands else end_of(c[0])
        return Step("instruction", str(c[0]), operands, (), guard, start_of(c[0]), end)

    def assign(self, c: list[Any]) -> Step:
        guard = c.pop(0) if isinstance(c[0], Node) else None
        return Step("assign", str(c[0]), (c[1],), (), guard, start_of(c[0]), c[1].end)

    def branch(self, c: list[Any]) -> Step:
        other = c[3] if len(c) > 3 and c[3] is not None else ()
        other = (other,) if isinstance(other, Step) else other
        return Step("if", "", (c[1],), (c[2], other), None, start_of(c[0]), c[1].end + 1)

    def while_(self, c: list[Any]) -> Step:
        return Step("while", "", (c[1],), (c[2],), None, start_of(c[0]), c[1].end + 1)

    def do_(self, c: list[Any]) -> Step:
        return Step("do", "", (c[-1],), (c[1],), None, start_of(c[0]), end_of(c[0]))

    def repeat_(self, c: list[Any]) -> Step:
        return Step("repeat", "", (c[1],), (c[2],), None, start_of(c[0]), c[1].end + 1)

    def scope_(self, c: list[Any]) -> Step:
        """Statements in braces, with labels of their own: a `repeat` of one."""
        once = Node("number", "1", (), start_of(c[0]), end_of(c[0]))
        return Step("repeat", "", (once,), (self.block(c[1:-1]),), None, start_of(c[0]), end_of(c[0]))

    def assume_(self, c: list[Any]) -> Step:
        return Step("assume", "", (c[1],), (), None, start_of(c[0]), c[1].end + 1)

    def await_(self, c: list[Any]) -> Step:
        guard = c.pop(0) if isinstance(c[0], Node) else None
        tested = Step("instruction", str(c[1]), c[2], (), None, start_of(c[1]), c[2][-1].end)
        return Step("await", "await", (), ((tested,),), guard, start_of(c[0]), tested.end)

    # --- memory and threads -------------------------------------------------------------------------------------------

    def declaration(self, c: list[Any]) -> Item:
        return Item("declaration", (c[0],), (), tuple(c[1:]))

    def placed(self, c: list[Token]) -> Item:
        return Item("placed", (c[0],))

    def dotted(self, c: list[Any]) -> Item:
        return Item("dotted", tuple(t for t in c if t is not None))

    def declarator(self, c: list[Any]) -> Item:
        return Item("declarator", (c[0],), (), tuple(part for part in c[1:] if part is not None))

    def length(self, c: list[Any]) -> Item:
        return Item("length", (), tuple(a for a in c if a is not None))

    def count(self, c: list[Node]) -> Item:
        return Item("count", (), tuple(c))

    def numbered(self, c: list[Token]) -> Item:
        return Item("numbered", (c[0],))

    def scalar(self, c: list[Node]) -> Item:
        return Item("scalar", (), tuple(c))

    def elements(self, c: list[Any]) -> Item:
        return Item("elements", (), tuple(a for a in c if a is not None))

    def mapped(self, c: list[Any]) -> Item:
        return Item("mapped", (c[0],), (), tuple(c[1:]))

    def mapping(self, c: list[Any]) -> Item:
        return Item("mapping", (c[0],), tuple(a for a in c[1:] if a is not None))

    def thread(self, c: list[Any]) -> Item:
        return Item("thread", tuple(t for t in c[:3] if t is not None), (), c[3])

    # --- the question -------------------------------------------------------------------------------------------------

    def exists(self, c: list[Any]) -> Item:
        return Item("exists", (c[0],), (c[1],))

    def never(self, c: list[Any]) -> Item:
        return Item("~exists", (c[0],), (c[1],))

    def always(self, c: list[Any]) -> Item:
        return Item("forall", (c[0],), (c[1],))

    def filter_(self, c: list[Any]) -> Item:
        return Item("filter", (c[0],), (c[1],))

    def locations(self, c: list[Any]) -> Item:
        return Item("locations", (), tuple(a for a in c if a is not None))

    def expect(self, c: list[Token]) -> Item:
        return Item("expect", (c[0],))

    def dialect(self, c: list[Token]) -> Item:
        return Item("dialect", tuple(c))

    def launch(self, c: list[Token]) -> Item:
        return Item("launch", tuple(c))

    def hardware(self, c: list[Item]) -> Item:
        return Item("hardware", (), (), tuple(c))

    def require(self, c: list[Token]) -> Item:
        return Item("require", tuple(c))

    def preload(self, c: list[Token]) -> Item:
        return Item("preload", tuple(c))

    def busy(self, c: list[Token]) -> Item:
        return Item("busy", tuple(c))

    def skip(self, c: list[Token]) -> Item:
        return Item("skip", tuple(c))

    def start(self, c: list[Any]) -> Item:
        words = tuple(t for t in c if isinstance(t, Token))
        return Item("test", words, (), tuple(c[len(words) :]))
