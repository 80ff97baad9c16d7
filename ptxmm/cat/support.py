"""What a model can express, for files that do not say so themselves."""

from __future__ import annotations

from collections.abc import Set

_MENTIONED: dict[str, str] = {
    "ALIAS": "alias",
    "vloc": "alias",
    "TEX": "texture",
    "SUR": "surface",
    "CON": "constant",
    "full": "mixed-size",
    "RESTRICT": "restricted-fences",
    "CLUSTER": "cluster",
    "scluster": "cluster",
    "syncbar": "barriers",
    "syncwarp": "warp-barriers",
    "syncbarcl": "cluster-barriers",
    "execbarcl": "cluster-barriers",
}


def inferred_features(mentioned: Set[str]) -> frozenset[str]:
    """The features whose sets or relations a model mentions.

    >>> sorted(inferred_features({"po", "rf", "vloc", "TEX", "syncbar"}))
    ['alias', 'barriers', 'texture']
    """
    return frozenset(feature for name, feature in _MENTIONED.items() if name in mentioned)
