"""What stands in for CuPy's textures and surfaces."""

from __future__ import annotations

from typing import Any

from machine import standin
from machine.shown import WORD, show

NAMED = {
    "cudaResourceTypeArray": 0, "cudaResourceTypeLinear": 2, "cudaChannelFormatKindUnsigned": 1,
    "cudaAddressModeClamp": 1, "cudaArraySurfaceLoadStore": 2,
}  # fmt: skip
"""Constants of the runtime."""


class ChannelFormatDescriptor:
    """What a texel is: here a word."""

    def __init__(self, *bits_and_kind: int) -> None:
        assert bits_and_kind == (8 * WORD, 0, 0, 0, NAMED["cudaChannelFormatKindUnsigned"])


class CUDAarray:
    """An array: what it holds before is arbitrary."""

    def __init__(self, _texel: ChannelFormatDescriptor, width: int, height: int, *, flags: int) -> None:
        assert flags == NAMED["cudaArraySurfaceLoadStore"]
        self.width, self.height = width, height
        self.memory = standin.Owned(WORD * width * height)
        self._content()[:] = b"\x5a" * self.memory.size

    def _content(self) -> memoryview[int]:
        standin.machine.synchronize()
        return standin.machine.memory.piece(self.memory.ptr, self.memory.size)

    def copy_from(self, values: Any) -> None:
        assert values.nbytes == self.memory.size
        self._content()[:] = values.get().tobytes()


class ResourceDescriptor:
    """What a texture or a surface shows."""

    def __init__(
        self, kind: int, *, cuArr: CUDAarray | None = None, arr: Any = None, chDesc: Any = None, sizeInBytes: int = 0
    ) -> None:
        self.held = cuArr or arr
        self.sizes: tuple[int, ...]
        if kind == NAMED["cudaResourceTypeArray"]:
            assert cuArr is not None
            self.start, self.sizes = cuArr.memory.ptr, (cuArr.width, cuArr.height)
        else:
            assert kind == NAMED["cudaResourceTypeLinear"]
            assert isinstance(chDesc, ChannelFormatDescriptor)
            self.start, self.sizes = arr.data.ptr, (sizeInBytes // WORD,)


class TextureDescriptor:
    """How coordinates are read: as they are."""

    def __init__(self, modes: tuple[int, ...]) -> None:
        assert set(modes) == {NAMED["cudaAddressModeClamp"]}


class TextureObject:
    """A texture."""

    def __init__(self, resource: ResourceDescriptor, _how: TextureDescriptor) -> None:
        self.resource = resource
        self.ptr = show(standin.machine.memory, "texture", resource.start, resource.sizes)


class SurfaceObject:
    """A surface."""

    def __init__(self, resource: ResourceDescriptor) -> None:
        assert len(resource.sizes) > 1, "a surface is of an array"
        self.resource = resource
        self.ptr = show(standin.machine.memory, "surface", resource.start, resource.sizes)
