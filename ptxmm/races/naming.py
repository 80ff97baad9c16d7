"""Instructions, objects and bytes as the sentences about a race name them."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.events import Event
from ptxmm.isa_text import mnemonic
from ptxmm.program import Addr, Expr, Fence, Program, Statement
from ptxmm.verdict import Missing


def line_of(event: Event) -> int:
    """The line of the text in which an instruction stands; 0 where there is none."""
    return event.statement.at.line if event.statement else 0


def text_of(event: Event) -> str:
    """An instruction as the test has it, without its semicolon."""
    if event.statement is None:
        return ""
    return " ".join(event.statement.text.split()).rstrip("; ") or mnemonic(event.statement)


def spelled(statement: Statement) -> str:
    """The mnemonic of an instruction, with the state space of the text that it changes."""
    head = statement.text.split("[")[0]
    space = next((s for s in ("shared::cluster", "shared::cta", "shared", "global") if f".{s}." in head + "."), "")
    return mnemonic(statement, space if not isinstance(statement, Fence) else "")


def name_of(address: Expr) -> str:
    """The object that an address in the text of a remedy names."""
    assert isinstance(address, Addr)
    return address.name


def bytes_of(event: Event) -> str:
    """The bytes of its object that an access touches."""
    first, size = event.where
    return f"{first} to {first + size - 1}"


@dataclass(frozen=True, slots=True)
class Named:
    """Threads and instructions of a test by their names."""

    program: Program

    def thread(self, event: Event) -> str:
        """The name of an event's thread."""
        return self.program.threads[event.thread].name

    def where(self, event: Event) -> str:
        """An instruction as the test has it: `st.relaxed.gpu.u32 [f], 1` (A, line 8)."""
        line = f", line {line_of(event)}" if line_of(event) else ""
        return f"`{text_of(event)}` ({self.thread(event)}{line})"

    def missing(self, lacks: tuple[str, ...], event: Event, why: str, instead: str = "") -> Missing:
        """What an instruction lacks, and where it is."""
        return Missing(lacks, event.id, self.thread(event), line_of(event), text_of(event), why, instead)
