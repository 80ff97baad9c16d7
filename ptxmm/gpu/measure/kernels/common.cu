// What the kernels of all measurements share. Each access is one PTX instruction, so that its strength and scope are as written.
// Every spin is bounded. Results are summed into `out`: what was wrong, what was tried, which waits reached their bound, and more.
typedef unsigned u32;
typedef unsigned long long u64;
#define DEVICE __device__ __forceinline__
#define KERNEL extern "C" __global__ void
enum { WRONG, TRIED, STUCK, CYCLES, EXTRA, SLOTS = 8 };
const u32 BOUND = 2000000;

DEVICE u32 load_weak(const u32 *p) { u32 v; asm volatile("ld.weak.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
DEVICE u32 load_relaxed(const u32 *p) { u32 v; asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
DEVICE u32 load_acquire(const u32 *p) { u32 v; asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
DEVICE void store_weak(u32 *p, u32 v) { asm volatile("st.weak.global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
DEVICE void store_release(u32 *p, u32 v) { asm volatile("st.release.gpu.global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
DEVICE void add_relaxed(u32 *p, u32 v) { asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
DEVICE void add_release(u32 *p, u32 v) { asm volatile("red.release.gpu.global.add.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
DEVICE void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
DEVICE void spend(u32 cycles) { u32 start = clock(); while ((u32)clock() - start < cycles) {} }
DEVICE u32 dice(u32 &x) { x = x * 1664525u + 1013904223u; return x >> 8; }
DEVICE bool reached(u32 v, u32 target) { return (int)(v - target) >= 0; }
DEVICE bool await_relaxed(const u32 *p, u32 target) {
  for (u32 n = 0; n < BOUND; n++) if (reached(load_relaxed(p), target)) return true;
  return false;
}
DEVICE bool await_acquire(const u32 *p, u32 target) {
  for (u32 n = 0; n < BOUND; n++) if (reached(load_acquire(p), target)) return true;
  return false;
}
DEVICE void report(u64 *out, int slot, u64 n) { if (n) atomicAdd(out + slot, n); }
// Unrelated stores, spread over 64 MB, that are still on their way when what follows is issued.
DEVICE void outstanding(u32 *scratch, u32 n, u32 &x) { for (u32 q = 0; q < n; q++) { u32 i = dice(x); scratch[i & 0xffffffu] = x; } }
