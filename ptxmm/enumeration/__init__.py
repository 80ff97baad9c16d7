"""The second engine: decides the same questions as the solver, by trying every candidate execution.

It shares with the first only programs, arithmetic, models and verdicts, so that each checks the other.
"""

from ptxmm.enumeration.answer import check, outcomes

__all__ = ["check", "outcomes"]
