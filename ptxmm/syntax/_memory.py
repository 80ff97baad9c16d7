"""The memory that another tool's test declares, on its way to `Program.objects` and `Program.views`."""

from __future__ import annotations

from ptxmm.arith import Type
from ptxmm.errors import near
from ptxmm.program import Addr, Const, Object, Proxy, View
from ptxmm.syntax._common import REGISTER, Text, quoted

ZERO = Const(0)


class Memory:
    """Objects of one type, and the views of them, by name."""

    def __init__(self, text: Text, kind: Type) -> None:
        self.text, self.kind = text, kind
        self.objects: dict[str, Object] = {}
        self.views: dict[str, View] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.objects or name in self.views

    def known(self, name: str, at: int) -> str:
        """A name that must have been declared."""
        if name not in self:
            hint = near(name, [*self.objects, *self.views]) or "declare it before it is used"
            raise self.text.error(f"there is no location {quoted(name)}", at, len(name), hint)
        return name

    def new(self, name: str, at: int) -> str:
        """A name that must not have been declared, and must not be a register's."""
        if REGISTER.fullmatch(name):
            raise self.text.error(f"{quoted(name)} is a register, not a location", at, len(name))
        if name in self:
            raise self.text.error(f"{quoted(name)} is declared twice", at, len(name))
        return name

    def add(self, name: str, at: int, value: Const | Addr = ZERO) -> None:
        """Declare an object with its initial value."""
        self.objects[self.new(name, at)] = Object(name, self.kind, init=(value,), at=self.text.span(at, len(name)))

    def view(self, name: str, at: int, target: str, proxy: Proxy) -> None:
        """Declare a view of a declared object or view."""
        span = self.text.span(at, len(name))
        self.views[self.new(name, at)] = View(name, self.known(target, at), proxy, span)

    def physical(self, name: str) -> str:
        """The object behind a declared name."""
        while name in self.views:
            name = self.views[name].target
        return name
