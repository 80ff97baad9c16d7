"""What a scheduler promises: which threads go on in an execution that never ends (`docs/progress.md`).

At each level of the hierarchy (device, cluster, CTA, thread) the model says which members of a group that goes on go on
themselves, by how the threads end: `stopped` ones are not scheduled any more, all others do what they can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from ptxmm.enumeration.schedule import predecessors
from ptxmm.program import Program


@dataclass(frozen=True, eq=False)
class Group:
    """A thread, or the groups that share a device, cluster or CTA; in the order of their numbers."""

    threads: tuple[int, ...]
    below: tuple[Group, ...] = ()


@dataclass(frozen=True)
class Standing:
    """How the members of a group stand: which can go on, and which have started."""

    able: tuple[bool, ...]
    started: tuple[bool, ...]

    def first(self, at: int) -> bool:
        """Whether no member before this one can go on."""
        return not any(self.able[:at])


MODELS: dict[str, Callable[[Standing, int], bool]] = {
    "fair": lambda group, at: True,
    "hsa": lambda group, at: group.first(at),
    "obe": lambda group, at: group.started[at],
    "hsa-obe": lambda group, at: group.first(at) or group.started[at],
    "lobe": lambda group, at: any(group.started[at:]),
    "unfair": lambda group, at: False,
}
MAY_NEVER_START = frozenset({"obe", "hsa-obe", "lobe"})
MAY_STOP = frozenset({"hsa", "unfair"})


@dataclass
class Promise:
    """What a progress model promises the threads of a program."""

    program: Program
    model: str

    @cached_property
    def everything(self) -> Group:
        """The hierarchy; a group of one is its only member."""
        level: dict[tuple[int, ...], list[Group]] = {}
        for number, thread in enumerate(self.program.threads):
            place = thread.place
            key: tuple[int, ...] = (place.kernel, place.device, place.cluster, place.cta)
            level.setdefault(key, []).append(Group((number,)))
        while True:
            joined = {one: join(level[one]) for one in sorted(level)}
            if () in joined:
                return joined[()]
            level = {}
            for one, group in joined.items():
                level.setdefault(one[:-1], []).append(group)

    def kept(self, ends: tuple[str, ...]) -> list[frozenset[int]]:
        """The threads that go on, in each way to keep the promise where the threads end like this."""
        return list(dict.fromkeys(self.ways(self.everything, ends, goes_on=True)))

    def able(self, thread: int, ends: tuple[str, ...]) -> bool:
        """Whether a thread has something to do."""
        return ends[thread] not in ("end", "stuck", "waiting") and self.may_start(thread, ends)

    def may_start(self, thread: int, ends: tuple[str, ...]) -> bool:
        return all(ends[other] == "end" for other in predecessors(self.program, thread))

    def ways(self, group: Group, ends: tuple[str, ...], *, goes_on: bool) -> Iterator[frozenset[int]]:
        """The threads of a group that go on, if the group does or does not."""
        if not goes_on:
            yield frozenset()
            return
        if not group.below:
            (thread,) = group.threads
            if ends[thread] != "stopped" or not self.may_start(thread, ends):
                yield frozenset({thread})
            return
        standing = Standing(
            tuple(any(self.able(thread, ends) for thread in one.threads) for one in group.below),
            tuple(any(ends[thread] not in ("stopped", "waiting") for thread in one.threads) for one in group.below),
        )
        for chosen in product((False, True), repeat=len(group.below)):
            promised = (MODELS[self.model](standing, at) for at in range(len(chosen)))
            somebody = not any(standing.able) or any(map(bool.__and__, chosen, standing.able))
            if somebody and all(goes or not due for goes, due in zip(chosen, promised, strict=True)):
                each = [list(self.ways(one, ends, goes_on=goes)) for one, goes in zip(group.below, chosen, strict=True)]
                for parts in product(*each):
                    yield frozenset[int]().union(*parts)


def join(groups: list[Group]) -> Group:
    """A group of these groups."""
    if len(groups) == 1:
        return groups[0]
    return Group(tuple(thread for group in groups for thread in group.threads), tuple(groups))
