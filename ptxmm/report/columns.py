"""An execution laid out for people: a column for each thread, a row for each instruction, edges between rows."""

from __future__ import annotations

from dataclasses import dataclass

from ptxmm.arith import U32, Type, shown
from ptxmm.program import Program, Proxy
from ptxmm.verdict import Execution, Happening, MbarrierHistory, Race

INIT = "init"
SHAPE = frozenset({"po", "rmw"})


@dataclass(frozen=True, slots=True)
class Row:
    """One instruction as it was executed: its label, its text, what it read and wrote, whether it races."""

    label: str
    text: str
    effect: str
    events: tuple[int, ...]
    races: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A thread with its place and its rows, in program order."""

    thread: str
    place: str
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        return f"{self.thread} @ {self.place}" if self.place else self.thread


@dataclass(frozen=True, slots=True)
class Edge:
    """A named edge between two rows, by their labels (`init` for the initial writes), with the value it carries."""

    name: str
    source: str
    target: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """Everything that is drawn of an execution."""

    initial: tuple[str, ...]
    columns: tuple[Column, ...]
    edges: tuple[Edge, ...]
    final: tuple[str, ...]
    mbarriers: tuple[str, ...] = ()


def lay_out(execution: Execution, program: Program | None = None, race: Race | None = None) -> Layout:
    """The columns of an execution; `program` gives the places of threads and the types of registers."""
    racing = {race.first, race.second} if race is not None else set()
    threads = [t.name for t in program.threads] if program is not None else []
    named = dict.fromkeys([*threads, *(e.thread for e in execution.events if e.thread is not None)])
    labels = iter(_labels())
    columns = tuple(
        Column(
            thread, _place(program, thread), tuple(_row(g, next(labels), racing) for g in _grouped(execution, thread))
        )
        for thread in named
    )
    initial = [e for e in execution.events if e.thread is None]
    return Layout(
        tuple(_effect([e]) for e in initial),
        columns,
        _edges(execution, columns),
        _final(execution, program),
        tuple(_mbarrier(one, columns) for one in execution.mbarriers),
    )


def _mbarrier(one: MbarrierHistory, columns: tuple[Column, ...]) -> str:
    """An mbarrier with its operations in order and the state that they leave: `m: a, c; phase 0, pending 0, tx -4`."""
    label = labels_of(columns)
    left = f"phase {one.phase}, pending {one.pending}, tx {one.bytes}" if one.valid else "no mbarrier"
    return f"{one.name}: {', '.join(label[id] for id in one.operations)}; " + (
        f"{label[one.operations[-1]]} is undefined: it {one.undefined}" if one.undefined else left
    )


def labels_of(columns: tuple[Column, ...]) -> dict[int, str]:
    """The labels of the instructions that events belong to; initial writes have none."""
    return {id: row.label for column in columns for row in column.rows for id in row.events}


def race_ends(layout: Layout, race: Race) -> tuple[str, str]:
    """The labels of the two accesses that race, either of which may be an initial write."""
    label = labels_of(layout.columns)
    return label.get(race.first, INIT), label.get(race.second, INIT)


def race_sentences(layout: Layout, race: Race) -> list[str]:
    """What is said of a race: the pair with its hazard, then what is missing, step by step."""
    label = labels_of(layout.columns)
    mixed = " (mixed sizes)" if race.mixed else ""
    hazard = f", {race.hazard} in this execution" if race.hazard else ""
    first, second = race_ends(layout, race)
    pair = f"race on {race.on}{mixed}: {first} and {second}{hazard}"
    missing = [
        (f"missing at {label[one.event]}: " if one.lacks and one.event in label else "") + one.why
        for one in race.missing
    ]
    return [pair + (f"; {race.why}" if race.why else ""), *missing]


def _labels() -> list[str]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [*letters, *(f"{letter}{n}" for n in range(1, 1000) for letter in letters)]


def _place(program: Program | None, thread: str) -> str:
    places = {t.name: str(t.place) for t in program.threads} if program is not None else {}
    return places.get(thread, "")


def _grouped(execution: Execution, thread: str) -> list[list[Happening]]:
    """The events of a thread, those of one instruction together: it does each thing to each place only once."""
    groups: list[list[Happening]] = []
    for event in sorted((e for e in execution.events if e.thread == thread), key=lambda e: e.step):
        last = groups[-1] if groups else []
        same = bool(last) and (last[0].text, last[0].line) == (event.text, event.line)
        if same and all((e.kind, e.place) != (event.kind, event.place) for e in last):
            last.append(event)
        else:
            groups.append([event])
    return groups


def _row(group: list[Happening], label: str, racing: set[int]) -> Row:
    ids = tuple(e.id for e in group)
    return Row(label, " ".join(group[0].text.split()).rstrip(";"), _effect(group), ids, not racing.isdisjoint(ids))


def _effect(group: list[Happening]) -> str:
    """What an instruction did to memory: `x = 1` for a read or a write, `x = 0 -> 1` for both."""
    places: dict[str, list[str]] = {}
    for event in group:
        if event.place is not None and event.value is not None:
            through = "" if event.proxy is Proxy.GENERIC else f" ({event.proxy.value})"
            places.setdefault(event.place + through, []).append(shown(event.value, event.type))
    return ", ".join(f"{place} = {' -> '.join(values)}" for place, values in places.items())


def _edges(execution: Execution, columns: tuple[Column, ...]) -> tuple[Edge, ...]:
    """The edges worth showing: reads-from, from-reads, coherence between threads' writes, and the model's own."""
    events = {e.id: e for e in execution.events}
    label = labels_of(columns)
    order = {text: n for n, text in enumerate([INIT, *label.values()])}
    edges = dict.fromkeys(
        Edge(name, label.get(a, INIT), label.get(b, INIT), _note(name, events[b]))
        for name, pairs in execution.edges.items()
        if name not in SHAPE
        for a, b in sorted(pairs)
        if label.get(a) != label.get(b) and not (name == "co" and a not in label)
    )
    rank = {"rf": 0, "co": 1, "fr": 2}
    return tuple(sorted(edges, key=lambda e: (rank.get(e.name, 3), e.name, order[e.source], order[e.target])))


def _note(name: str, target: Happening) -> str:
    if name != "rf" or target.place is None or target.value is None:
        return ""
    return f"{target.place} = {shown(target.value, target.type)}"


def _final(execution: Execution, program: Program | None) -> tuple[str, ...]:
    types = {(t.name, r): kind for t in program.threads for r, kind in t.types.items()} if program is not None else {}
    registers = (f"{t}.{r} = {shown(v, types.get((t, r), U32))}" for (t, r), v in execution.registers.items())
    memory = (f"{place} = {shown(value, _type_of(execution, place))}" for place, value in execution.memory.items())
    return (*registers, *memory)


def _type_of(execution: Execution, place: str) -> Type:
    return next((e.type for e in execution.events if e.place == place), U32)
