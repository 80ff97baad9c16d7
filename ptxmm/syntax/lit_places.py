"""Where threads and shared memory sit: `[kK.]dD.cC.bB[.wW[.lL]]`, and what may not be where."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ptxmm.program import Place
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Item

PLACE = re.compile(r"(?:k(\d+)\.)?d(\d+)(?:\.c(\d+))?\.b(\d+|\*)(?:\.w(\d+)(?:\.l(\d+))?)?")
WARP = 32
LARGEST = 10**6


@dataclass(frozen=True, slots=True)
class Written:
    """A place as it is written: `cluster` None for a CTA alone, `cta` None for `b*` or `*`, `kernel` None for any."""

    kernel: int | None
    device: int
    cluster: int | None
    cta: int | None
    warp: int | None
    lane: int | None
    start: int
    end: int


def written(source: Source, item: Item, *, every: bool = False) -> Written:
    """The place that a word spells; `every` allows `d0.c0.*`."""
    token = item.words[0] if item.kind == "placed" else item.words[1]
    start, end = token.start_pos or 0, token.end_pos or 0
    text = re.sub(r"\.\*$", ".b*", str(token))
    found = PLACE.fullmatch(text)
    if found is None:
        raise source.error(f"`{token}` is no place", start, end, "write `d0.c0.b0`: device, cluster, CTA")
    if any(part and part != "*" and int(part[:9]) > LARGEST for part in found.groups()):
        raise source.error("this number is too large for a place", start, end)
    kernel, device, cluster, cta, warp, lane = (int(g) if g and g != "*" else None for g in found.groups())
    if found[4] == "*" and (not every or cluster is None):
        raise source.error(f"`{token}` names no single CTA", start, end, "write `d0.c0.b0`")
    if lane is not None and lane >= WARP:
        raise source.error(f"a warp has no lane {lane}", start, end, f"lanes are 0 to {WARP - 1}")
    return Written(kernel, device or 0, cluster, cta, warp, lane, start, end)


@dataclass(slots=True)
class Layout:
    """Which CTA is in which cluster of which kernel."""

    source: Source
    clusters: dict[tuple[int, int], tuple[int, int | None]] = field(default_factory=dict)
    alone: int = 0

    def add(self, place: Written) -> None:
        """Note a CTA; an error where it is already elsewhere."""
        if place.cta is None:
            return
        key, home = (place.device, place.cta), (place.kernel or 0, place.cluster)
        known = self.clusters.setdefault(key, home)
        if known == home:
            return
        cta = f"CTA d{place.device}.b{place.cta}"
        if known[0] != home[0]:
            message = f"{cta} is already in kernel {known[0]}"
            raise self.source.error(message, place.start, place.end, "CTA numbers are unique on a device")
        where = f"cluster {known[1]}" if known[1] is not None else "a cluster of its own"
        hint = "a CTA is in one cluster: give it the same number everywhere"
        raise self.source.error(f"{cta} is already in {where}", place.start, place.end, hint)

    def in_kernel(self, place: Written) -> Written:
        """A place of memory in the kernel that its CTA or cluster runs in."""
        if place.kernel is not None:
            return place
        homes = (
            kernel
            for (device, cta), (kernel, cluster) in self.clusters.items()
            if device == place.device and (cta == place.cta if place.cta is not None else cluster == place.cluster)
        )
        return replace(place, kernel=next(homes, 0))

    def check(self, places: Iterable[Written]) -> None:
        """After all were added: clusters belong to one kernel, and CTAs that name none get free numbers."""
        kernels: dict[tuple[int, int], int] = {}
        for place in places:
            if place.cluster is not None:
                known = kernels.setdefault((place.device, place.cluster), place.kernel or 0)
                if known != (place.kernel or 0):
                    message = f"cluster d{place.device}.c{place.cluster} is already in kernel {known}"
                    raise self.source.error(message, place.start, place.end)
        taken = {(device, cluster) for device, cluster in kernels}
        single = [key for key, (_, cluster) in self.clusters.items() if cluster is None]
        if any(key in taken for key in single):
            self.alone = 1 + max(cluster for _, cluster in taken)

    def place(self, place: Written) -> Place:
        """The place with its cluster: a CTA alone has a number that no named cluster has."""
        assert place.cta is not None
        cluster = place.cluster if place.cluster is not None else place.cta + self.alone
        return Place(place.device, cluster, place.cta, place.warp, place.lane, place.kernel or 0)


def seats(source: Source, threads: list[tuple[str, Place, Written]]) -> None:
    """Check that no two threads sit in one lane, or share a warp that one of them stands for."""
    taken: dict[Place, str] = {}
    warps: dict[Place, str] = {}
    for name, place, at in threads:
        if place.warp is None:
            continue
        warp = replace(place, lane=None)
        other, what = taken.get(place), "is already there"
        if other is None:
            other, what = taken.get(warp), "stands for its whole warp"
        if other is None and place.lane is None:
            other, what = warps.get(warp), "is already in this warp"
        if other is not None:
            raise source.error(f"thread {other} {what}", at.start, at.end, f"give {name} another warp or lane")
        taken[place] = warps[warp] = name
