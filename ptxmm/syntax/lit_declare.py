"""The declarations of a `.lit` test: objects, their types and first values, and other views of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from lark import Token

from ptxmm.arith import U32, Type
from ptxmm.errors import InputError, near
from ptxmm.program import Addr, Const, Object, Place, Proxy, Space, View
from ptxmm.syntax import lit_opaque as opaque
from ptxmm.syntax.lit_memory import Memory, leaf, unknown
from ptxmm.syntax.lit_places import Layout, written
from ptxmm.syntax.lit_reader import Reader, constant
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Item, Node
from ptxmm.syntax.lit_values import TYPES, Value, settle

SPACES = {f".{space.value}": space for space in Space}
VIEWS = {
    ".alias": Proxy.GENERIC,
    ".texref": Proxy.TEXTURE,
    ".surfref": Proxy.SURFACE,
    ".constref": Proxy.CONSTANT,
}
MOST = 1 << 17
DEEPEST = 50


def memory(source: Source, items: list[Item], layout: Layout, ctas: Iterable[Place]) -> Memory:
    """What the declarations of a test declare; `ctas` are the CTAs in which threads run."""
    declared = Memory(source)
    places = sorted(set(ctas), key=lambda place: (place.device, place.cta))
    pending: list[tuple[str, Item]] = []
    for item in items:
        pending += Declaration(source, item, layout, declared, tuple(places)).declare()
    for view in declared.views.values():
        _check_view(source, declared, view)
    for name, initial in pending:
        obj = declared.objects[name]
        if initial.kind == "mapped":
            declared.objects[name] = opaque.mapped(source, obj, initial, declared.reached, declared.names())
        else:
            declared.objects[name] = replace(obj, init=_first_values(declared, obj, initial))
    return declared


@dataclass(frozen=True, slots=True)
class Declaration:
    """One declaration, as it is read."""

    source: Source
    item: Item
    layout: Layout
    declared: Memory
    ctas: tuple[Place, ...]

    def declare(self) -> list[tuple[str, Item]]:
        """Declare its names; those with first values come back with them."""
        head = self.item.words[0]
        if opaque.kind_of(self.item) == ".tensormap" and head not in (".global", ".shared", ".param"):
            raise self._error("a tensor map is in global or shared memory, or a parameter", head, "write `.param`")
        if head not in SPACES and head not in VIEWS:
            hint = near(str(head), [*SPACES, *VIEWS]) or "one of `.global`, `.shared`, `.const`, `.alias`"
            raise self._error(f"unknown declaration `{head}`", head, hint)
        return [found for d in self.item.steps if d.kind == "declarator" for found in self._declarator(str(head), d)]

    def _declarator(self, head: str, item: Item) -> list[tuple[str, Item]]:
        name = str(item.words[0])
        if not name.replace("$", "_").isidentifier():
            raise self._error(f"`{name}` cannot name memory", item.words[0], "letters, digits, `_` and `$`")
        if head in VIEWS:
            self._view(VIEWS[head], name, item)
            return []
        kind, count = opaque.kind_of(self.item), None
        type_, (length, initial) = self._type(), self._length(item, kind)
        if kind is not None:
            opaque.alone(self.source, kind, item)
            count = opaque.arrivals(self.source, head, item) if kind == ".mbarrier" else None
            type_, each = opaque.ELEMENTS[kind]
            length *= each
        names = []
        for full, owner, device in self._homes(head, name, item):
            self.declared.elements += length
            if self.declared.elements > MOST:
                hint = f"all objects together have at most {MOST} elements"
                raise self._error(f"`{name}` is too large", item.words[0], hint)
            at = self.source.span(item.start, item.end)
            zeros = (Const(0),) * length
            family = full.partition("@")[0] if "@" in full else None
            obj = Object(full, type_, length, zeros, SPACES[head], owner, device, family, count, at=at)
            self.declared.add(obj, item.start, item.end)
            names.append(full)
        return [(name, initial) for name in names if initial is not None]

    def _type(self) -> Type:
        found = None
        for part in self.item.steps:
            if part.kind != "dotted":
                continue
            word = str(part.words[0])
            if word in (".visible", ".extern", ".align", *opaque.ELEMENTS):
                continue
            type_ = TYPES.get(word[1:])
            if type_ is None or word == ".pred":
                raise self._error(f"unknown type `{word}`", part.words[0], near(word[1:], TYPES))
            if found is not None:
                raise self._error("a second type", part.words[0])
            found = type_
        return found or U32

    def _length(self, item: Item, kind: str | None) -> tuple[int, Item | None]:
        initial = next((p for p in item.steps if p.kind in ("scalar", "elements", "mapped")), None)
        if initial is not None and initial.kind == "mapped" and kind != ".tensormap":
            raise self._error("only a `.tensormap` points with `->`", item.words[0])
        if kind is None and any(p.kind in ("count", "numbered") for p in item.steps):
            raise self._error(
                f"`{item.words[0]}` takes no number in parentheses", item.words[0], "write `x[4]` for an array"
            )
        lengths = [p for p in item.steps if p.kind == "length"]
        if len(lengths) > 1:
            raise self._error("an array has one dimension", item.words[0])
        if not lengths:
            return 1, initial
        if not lengths[0].exprs:
            if initial is None or initial.kind != "elements":
                raise self._error(f"how long is `{item.words[0]}`?", item.words[0], "write its length, as in `a[4]`")
            return len(initial.exprs), initial
        node = lengths[0].exprs[0]
        length = constant(Reader(self.source, _no_names), node, "the length of an array")
        if length < 1:
            raise self.source.error("an array has at least one element", node.start, node.end)
        return length, initial

    def _homes(self, head: str, name: str, item: Item) -> list[tuple[str, Place | None, int | None]]:
        """Where the object lives: for shared memory the CTA, or each CTA of the cluster; else perhaps a device."""
        own = [p for p in item.steps if p.kind == "placed"]
        places = [p for p in self.item.steps if p.kind == "placed"]
        if head != ".shared":
            where = (own + places)[:1]
            return [(name, None, self._device(where[0]) if where else None)]
        if not places:
            raise self._error(f"where is `{name}`?", item.words[0], f"write `.shared @ d0.c0.b0 .u32 {name};`")
        place = self.layout.in_kernel(written(self.source, places[0], every=True))
        if place.cta is not None:
            owner = replace(self.layout.place(place), warp=None, lane=None)
            if own and str(own[0].words[0]) != f"b{place.cta}":
                raise self._error(f"`{own[0].words[0]}` is not the CTA that is named before", own[0].words[0])
            return [(f"{name}@b{place.cta}" if own else name, owner, None)]
        if own:
            raise self._error("a CTA is named twice", own[0].words[0])
        home = (place.kernel or 0, place.device, place.cluster)
        found = [c for c in self.ctas if (c.kernel, c.device, c.cluster) == home]
        if not found:
            raise self._error(f"no thread runs in {places[0].words[0]}", places[0].words[0])
        return [(f"{name}@b{cta.cta}", cta, None) for cta in found]

    def _device(self, item: Item) -> int:
        word = str(item.words[0])
        if word[:1] != "d" or not word[1:].isdigit() or len(word) > 6:
            raise self._error(f"`{word}` is no device", item.words[0], "write `.global x @ d1;`")
        return int(word[1:])

    def _view(self, proxy: Proxy, name: str, item: Item) -> None:
        target = item.steps[0] if len(item.steps) == 1 else None
        node = target.exprs[0] if target is not None and target.kind == "scalar" else None
        if node is None or node.kind not in ("name", "unary"):
            kind = str(self.item.words[0])
            raise self._error(
                f"`{kind}` names what `{name}` is a view of", item.words[0], f"write `{kind} {name} = x;`"
            )
        node = node.args[0] if node.kind == "unary" and node.text == "&" else node
        self.declared.add(View(name, node.text, proxy, self.source.span(node.start, node.end)), item.start, item.end)

    def _error(self, message: str, token: Token, hint: str = "") -> InputError:
        return self.source.error(message, token.start_pos or 0, token.end_pos or 0, hint)


def _no_names(reader: Reader, node: Node) -> Value:
    raise reader.source.error(f"`{node.text or '['}` is no number", node.start, node.end)


def _check_view(source: Source, declared: Memory, view: View) -> None:
    seen, name = {view.name}, view.target
    while True:
        item = declared.item(name)
        if item is None:
            start = source.starts[view.at.line - 1] + view.at.column - 1
            raise unknown(declared, Node("name", name, (), start, start + view.at.width), None)
        if isinstance(item, Object):
            return
        start = source.starts[view.at.line - 1] + view.at.column - 1
        if item.proxy is not Proxy.GENERIC:
            hint = f"name what `{name}` is a view of"
            raise source.error(f"`{name}` is itself a {item.proxy} view", start, start + view.at.width, hint)
        if name in seen:
            raise source.error(f"`{view.name}` is a view of itself", start, start + view.at.width)
        if len(seen) > DEEPEST:
            raise source.error(f"views of views more than {DEEPEST} deep", start, start + view.at.width)
        seen.add(name)
        name = item.target


def _first_values(declared: Memory, obj: Object, item: Item) -> tuple[Const | Addr, ...]:
    source = declared.source
    reader = Reader(source, lambda r, n: leaf(declared, r, n))
    if item.kind == "scalar" and obj.length > 1:
        node = item.exprs[0]
        raise source.error(f"`{obj.name}` is an array", node.start, node.end, "write its elements: `{1, 2}`")
    if len(item.exprs) > obj.length:
        node = item.exprs[obj.length]
        raise source.error(f"`{obj.name}` has {obj.length} element{'s' * (obj.length > 1)}", node.start, node.end)
    found = tuple(_first_value(source, reader, obj.type, node) for node in item.exprs)
    return found + (Const(0),) * (obj.length - len(found))


def _first_value(source: Source, reader: Reader, type_: Type, node: Node) -> Const | Addr:
    value = reader.value(node)
    if isinstance(value.expr, Addr):
        if type_.bits != 64 or type_.floating:
            raise source.error("width mismatch: an address has 64 bits", node.start, node.end, "declare it `.u64`")
        return value.expr
    bits = value.type.bits if value.type is not None else type_.bits
    expr = settle(source, value, type_, node)
    if not isinstance(expr, Const) or bits != type_.bits:
        raise source.error(f"this is no `.{type_}`", node.start, node.end)
    return expr
