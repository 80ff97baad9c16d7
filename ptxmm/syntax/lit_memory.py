"""The declared names of a `.lit` test, and how the words of a thread reach them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxmm.errors import InputError, near
from ptxmm.program import Addr, Object, Place, Proxy, View
from ptxmm.syntax.lit_reader import Reader, constant
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Node
from ptxmm.syntax.lit_values import TYPES, Value


@dataclass(slots=True)
class Memory:
    """The declared names of one test, and how a thread's words reach them."""

    source: Source
    objects: dict[str, Object] = field(default_factory=dict)
    views: dict[str, View] = field(default_factory=dict)
    families: dict[str, list[str]] = field(default_factory=dict)
    elements: int = 0

    def item(self, name: str) -> Object | View | None:
        """What is declared under exactly this name."""
        return self.objects.get(name) or self.views.get(name)

    def names(self) -> set[str]:
        """Every name that a test may write."""
        return {*self.objects, *self.views, *self.families}

    def object(self, name: str) -> Object:
        """The object behind a declared name."""
        while name in self.views:
            name = self.views[name].target
        return self.objects[name]

    def reached(self, name: str) -> Object | None:
        """The object behind a declared name that the generic proxy reaches, or nothing."""
        item = self.item(name)
        return (
            None if item is None or (isinstance(item, View) and item.proxy is not Proxy.GENERIC) else self.object(name)
        )

    def seen(self, name: str, place: Place | None) -> str | None:
        """The declared name that a word means at `place`: its own CTA's object where each CTA has one."""
        if self.item(name) is not None:
            return name
        if name in self.families and place is not None:
            own = f"{name}@b{place.cta}"
            return own if own in self.objects else None
        return None

    def stranger(self, name: str, place: Place) -> str:
        """Why a thread at `place` cannot reach a declared name, or nothing."""
        owner = self.object(name).owner
        if owner is None or (owner.kernel, owner.device, owner.cluster) == (place.kernel, place.device, place.cluster):
            return ""
        return f"`{name}` is shared memory of CTA {owner}, which is outside the cluster of this thread"

    def add(self, item: Object | View, start: int, end: int) -> None:
        """Declare a name, once."""
        base, family, _ = item.name.partition("@")
        clash = self.item(base) is not None if family else item.name in self.families
        if clash or self.item(item.name) is not None:
            raise self.source.error(f"`{item.name}` is already declared", start, end)
        if isinstance(item, View):
            self.views[item.name] = item
            return
        if family:
            self.families.setdefault(base, []).append(item.name)
        self.objects[item.name] = item


def leaf(memory: Memory, reader: Reader, node: Node) -> Value:
    """A name in a first value: `&x`, `&a[1]`."""
    if node.kind == "unary" and node.args[0].kind in ("name", "index"):
        return Value(address(memory, reader, node.args[0], None), TYPES["u64"])
    hint = f"write `&{node.text}` for its address" if memory.seen(node.text, None) else ""
    raise reader.source.error(f"`{node.text or '['}` is no number", node.start, node.end, hint)


def address(memory: Memory, reader: Reader, node: Node, place: Place | None) -> Addr:
    """The address of a name, or of an element of an array at a known index."""
    name = memory.seen(node.text, place)
    if name is None:
        raise unknown(memory, node, place)
    if node.kind == "name":
        return Addr(name)
    return Addr(name, constant(reader, node.args[0], "an index") * memory.object(name).type.size)


def unknown(memory: Memory, node: Node, place: Place | None) -> InputError:
    """The complaint about a name that nothing declares."""
    if node.text in memory.families:
        others = ", ".join(f"`{name}`" for name in memory.families[node.text][:4])
        what = "this CTA has no" if place is not None else "each CTA of a cluster has its own"
        return memory.source.error(f"{what} `{node.text}`", node.start, node.end, f"name one of {others}")
    hint = near(node.text, memory.names()) or f"declare it: `.global .u32 {node.text};`"
    return memory.source.error(f"unknown location `{node.text}`", node.start, node.end, hint)
