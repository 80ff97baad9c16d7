"""JSON values read as frozen dataclasses: each field has the type that its annotation says, or the value is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Record = TypeVar("Record")
PLAIN = (str, int, bool)


def record(kind: type[Record], value: object) -> Record:
    """The dataclass that a JSON object holds; TypeError or ValueError where it holds none.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Point:
    ...     x: int
    ...     tags: tuple[str, ...] = ()
    >>> record(Point, {"x": 1, "tags": ["a"]})
    Point(x=1, tags=('a',))
    >>> record(Point, {"x": "1"})
    Traceback (most recent call last):
    TypeError: '1' is no int
    """
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    shape: Any = kind
    readers, required = _shape(shape)
    if not required <= value.keys() <= readers.keys():
        raise TypeError(f"a {kind.__name__} has {', '.join(readers)}")
    return kind(**{name: readers[name](each) for name, each in value.items()})


@lru_cache
def _shape(kind: type) -> tuple[dict[str, Callable[[object], Any]], frozenset[str]]:
    """What reads each field of a dataclass, and which fields have no default."""
    hints = get_type_hints(kind)
    mine = [field for field in fields(kind) if field.init]
    required = (f.name for f in mine if f.default is MISSING and f.default_factory is MISSING)
    return {field.name: _reader(hints[field.name]) for field in mine}, frozenset(required)


def _reader(hint: Any) -> Callable[[object], Any]:
    """What reads a value of an annotation."""
    if is_dataclass(hint):
        return lambda value: record(hint, value)  # type: ignore[arg-type]
    if get_origin(hint) is UnionType:
        some = [_reader(each) for each in get_args(hint) if each is not NoneType]
        return lambda value: None if value is None else some[0](value)
    if get_origin(hint) is tuple:
        return _items(get_args(hint))
    if hint is float:
        return _number
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    if hint in PLAIN:
        return lambda value: _plain(hint, value)
    raise NotImplementedError(f"no JSON value stands for {hint}")


def _items(hints: tuple[Any, ...]) -> Callable[[object], Any]:
    """What reads a list: of any length for `X, ...`, else with an item for each annotation."""
    repeated = hints[-1] is ...
    readers = [_reader(each) for each in hints if each is not ...]

    def read(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise TypeError(f"{value!r} is no list")
        if repeated:
            return tuple(map(readers[0], value))
        return tuple(reader(item) for reader, item in zip(readers, value, strict=True))

    return read


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{value!r} is no number")
    return value


def _plain(kind: type, value: object) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value
