"""Textures, surfaces and the constant bank of one side of a launch, through CuPy."""

from __future__ import annotations

from typing import Any

from ptxmm.gpu.device import Gpu
from ptxmm.gpu.views import BANK, ROW, SYMBOL, Views

TEXEL = 4
ALIGNED = 512
"""What the address of a texture is a multiple of (CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT of every device so far)."""


class Viewed:
    """What `views` asks for, over memory of `size` bytes that lies at `start` and again `alias` bytes behind it.

    A launch has two sides; each has an array of its own, and half of the constant bank.
    """

    def __init__(self, gpu: Gpu, views: Views, side: int, start: int, alias: int, size: int) -> None:
        self.gpu, self.views, self.inset, self.bank = gpu, views, side * BANK, 0
        self.array = _array(gpu, f"array{side}", -(-size // (TEXEL * ROW))) if views.array else None
        self.texture, self.surface = None, None
        if views.surface:
            self.surface = gpu.cupy.cuda.texture.SurfaceObject(self._resource(start, size))
        if views.texture:
            shown = self._resource(start + alias if views.texture == "second" else start, size)
            self.texture = gpu.cupy.cuda.texture.TextureObject(shown, _whole(gpu))

    def open(self, function: Any) -> None:
        """Find the constant bank of a module, by the global address that its bytes have too."""
        if self.views.bank:
            self.bank = int(function.module.get_global_var(SYMBOL))
            self.gpu.foreign("memory of constants", self.bank, 2 * BANK, function).fill(0)

    def arguments(self) -> tuple[Any, ...]:
        """The parameters of the kernel: a texture, a surface, and the part of the constant bank."""
        u32, u64 = self.gpu.numpy.uint32, self.gpu.numpy.uint64
        handles = [0 if each is None else each.ptr for each in (self.texture, self.surface)]
        return (*map(u64, handles), u64(self.bank + self.inset), u32(self.inset))

    def _resource(self, start: int, size: int) -> Any:
        """What a texture or a surface shows: the array, or the memory at an address."""
        cuda = self.gpu.cupy.cuda
        if self.array is not None:
            return cuda.texture.ResourceDescriptor(cuda.runtime.cudaResourceTypeArray, cuArr=self.array)
        if start % ALIGNED:
            raise RuntimeError("the memory of the test does not begin where a texture may")
        memory = cuda.MemoryPointer(cuda.UnownedMemory(start, size, self.gpu), 0)
        linear = self.gpu.cupy.ndarray((size,), self.gpu.cupy.uint8, memory)
        return cuda.texture.ResourceDescriptor(
            cuda.runtime.cudaResourceTypeLinear, arr=linear, chDesc=_word(self.gpu), sizeInBytes=size // TEXEL * TEXEL
        )


def _whole(gpu: Gpu) -> Any:
    """Texels as they are, by their numbers."""
    clamp = gpu.cupy.cuda.runtime.cudaAddressModeClamp
    return gpu.cupy.cuda.texture.TextureDescriptor((clamp, clamp))


def _word(gpu: Gpu) -> Any:
    """A texel of 32 bits."""
    cuda = gpu.cupy.cuda
    return cuda.texture.ChannelFormatDescriptor(8 * TEXEL, 0, 0, 0, cuda.runtime.cudaChannelFormatKindUnsigned)


def _array(gpu: Gpu, name: str, rows: int) -> Any:
    """An array of at least so many rows of texels, zeros where it is new."""
    cuda, found = gpu.cupy.cuda, gpu.arrays.get(name)
    if found is None or found.height < rows:
        gpu.arrays.pop(name, None)
        flags = cuda.runtime.cudaArraySurfaceLoadStore
        found = gpu.arrays[name] = cuda.texture.CUDAarray(_word(gpu), ROW, rows, flags=flags)
        gpu.clear(found)
    return found
