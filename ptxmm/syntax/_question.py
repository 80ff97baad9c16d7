"""What a test of Dartagnan's dialect asks: `locations`, `filter` and a quantified condition."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ptxmm.arith import S64, Type
from ptxmm.program import Condition, Expr, FinalMem, FinalReg, Quantifier
from ptxmm.syntax._common import NAME, REGISTER, Tokens, formula, quoted
from ptxmm.syntax._memory import Memory

QUANTIFIERS = {quantifier.value: quantifier for quantifier in Quantifier}
THREAD = re.compile(r"P?\d{1,9}", re.ASCII)


class Question:
    """Reads the question of a test whose memory and threads are known.

    `registers` has the types of each thread's registers, and gets those that only the question names; `thread` gives
    the name of the thread with a number.
    """

    def __init__(
        self, memory: Memory, registers: Mapping[str, dict[str, Type]], thread: Callable[[str, int], str]
    ) -> None:
        self.memory, self.registers, self.thread = memory, registers, thread

    def read(self, tokens: Tokens) -> tuple[Condition | None, Expr | None, tuple[FinalReg | FinalMem, ...]]:
        """`locations`, `filter` and the quantified condition, each at most once."""
        condition: Condition | None = None
        kept: Expr | None = None
        locations: list[FinalReg | FinalMem] = []
        while tokens.word and condition is None:
            if not locations and tokens.accept("locations"):
                tokens.expect("[", "after `locations`")
                while not tokens.accept("]"):
                    locations.append(self.final(tokens))
                    if tokens.word != "]":
                        tokens.expect(";", "between locations")
            elif kept is None and tokens.accept("filter"):
                kept = formula(tokens, self.compared, S64)
                tokens.accept(";")
            else:
                negation = "~" if tokens.accept("~", "not") else ""
                quantifier = QUANTIFIERS.get(negation + tokens.word)
                if quantifier is None:
                    raise tokens.error(f"expected a condition, found {tokens.found}", "exists, ~exists or forall")
                tokens.take()
                condition = Condition(quantifier, formula(tokens, self.compared, S64))
                tokens.accept(";")
        if tokens.word:
            raise tokens.error(f"expected the end of the file, found {tokens.found}")
        return condition, kept, tuple(locations)

    def compared(self, tokens: Tokens) -> Expr:
        """One side of a comparison."""
        number = tokens.word == "-" or (tokens.word[:1].isdigit() and tokens.following != ":")
        return tokens.number(S64.bits) if number else self.final(tokens)

    def final(self, tokens: Tokens) -> FinalReg | FinalMem:
        """A register `P0:r0` or a location; an unnamed register is 0 at the end as it was at the start."""
        word, at = tokens.word, tokens.offset
        if tokens.following == ":" and THREAD.fullmatch(word):
            thread = self.thread(word.lstrip("P"), at)
            tokens.take()
            tokens.take()
            register = tokens.word
            if not REGISTER.fullmatch(register):
                raise tokens.error(f"expected a register, found {tokens.found}", "registers are `r` and a number")
            tokens.take()
            self.registers[thread].setdefault(register, S64)
            return FinalReg(thread, register)
        if not NAME.fullmatch(word):
            raise tokens.error(f"expected a register, a location or a number, found {tokens.found}")
        if REGISTER.fullmatch(word):
            raise tokens.error(f"{quoted(word)} is a register of which thread?", f"write `P0:{word}`")
        tokens.take()
        return FinalMem(self.memory.physical(self.memory.known(word, at)), 0, S64)
