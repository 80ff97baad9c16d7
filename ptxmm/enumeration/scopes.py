"""Where threads are, and which of them a scope holds (PTX ISA, "Scope")."""

from __future__ import annotations

from ptxmm.program import Place, Scope


def includes(scope: Scope, one: Place, other: Place) -> bool:
    """Whether a scope named by a thread at `one` contains a thread at `other` (PTX ISA, "Scope").

    >>> includes(Scope.CTA, Place(0, 0, 0), Place(0, 0, 1)), includes(Scope.CLUSTER, Place(0, 0, 0), Place(0, 0, 1))
    (False, True)
    """
    match scope:
        case Scope.CTA:
            return cta(one) == cta(other)
        case Scope.CLUSTER:
            return cluster(one) == cluster(other)
        case Scope.GPU:
            return one.device == other.device
    return True


def cta(place: Place) -> tuple[int, int, int]:
    """What the places of one CTA have in common."""
    return place.kernel, place.device, place.cta


def cluster(place: Place) -> tuple[int, int, int]:
    """What the places of one cluster have in common."""
    return place.kernel, place.device, place.cluster
