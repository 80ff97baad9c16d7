"""The encodings of one test under one model: questions about executions with the same ending share one."""

from __future__ import annotations

from ptxmm.deadline import Deadline
from ptxmm.encode import Encoding, encoded, events_under
from ptxmm.events import Ending
from ptxmm.grown import Grown
from ptxmm.model import Model
from ptxmm.program import Program


class Encodings:
    """What has been encoded so far. Questions may add what defines a literal, and nothing that restricts executions."""

    def __init__(self, program: Program, model: Model, deadline: Deadline) -> None:
        self.program, self.model, self.deadline = program, model, deadline
        self._grown = Grown.of(program)
        self._made: list[Encoding] = []
        self._known: dict[tuple[Ending, int, bool, bool], Encoding] = {}

    def of(self, ending: Ending, bound: int, *, loose: bool = False, states: bool = True) -> Encoding:
        """The executions with an ending. Without `states`, nothing is asked of final registers; `loose` are some."""
        key = (ending, bound, loose, states)
        if key not in self._known:
            self._known[key] = self._of(ending, bound, loose=loose, states=states)
        return self._known[key]

    def _of(self, ending: Ending, bound: int, *, loose: bool, states: bool) -> Encoding:
        graph = events_under(self.program, self.model, bound, ending, self.deadline, states=states, grown=self._grown)
        for one in self._made:
            made = one.graph
            if made.ending is ending and one.base.loose == loose and made.nodes == graph.nodes:
                return one
        self._made.append(encoded(graph, self.model, loose=loose))
        return self._made[-1]
