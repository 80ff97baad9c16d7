// A grid barrier over a 64-bit semaphore whose sign bit flips when the last CTA arrives. 128 threads of a CTA take part; a warp more does not.
#define ALL asm volatile("bar.sync 1, 128;" ::: "memory")
const u32 LIMIT = 200000;
DEVICE bool quiet(u32 *word, u32 target) {   // all CTAs meet, and no L1 is invalidated
  add_relaxed(word, 1);
  for (u32 n = 0; n < LIMIT; n++) if (reached(load_relaxed(word), target)) return true;
  return false;
}
//@ each
KERNEL __launch_bounds__(160) sync_@ID@(u32 *data, u64 *semaphore, u32 *meet, u32 *scratch, u64 *out, u32 rounds, u32 touch, u32 bystander, u32 stores, u32 late) {
  u32 tid = threadIdx.x, b = blockIdx.x, G = gridDim.x, x = (b * 160 + tid) * 2654435761u, wrong = 0, stuck = 0;
  __shared__ volatile u32 stop, ended;
  if (tid == 0) stop = ended = 0;
  __syncthreads();
  u32 *partner = data + (u64)((b + G / 2) % G) * 1024, *own = data + (u64)b * 1024 + tid % 128 * 8, *theirs = partner + tid % 128 * 8;
  if (tid >= 128) {
    // Another word of the same sectors: no race, but it brings the lines back into L1. A weak load would be hoisted out of the loop.
    u32 sum = 0;
    while (bystander && !stop)
      for (u32 q = 0; q < 4; q++) { u32 v; asm volatile("ld.relaxed.cta.global.u32 %0, [%1];" : "=r"(v) : "l"(partner + tid % 32 * 8 + 1 + q * 256) : "memory"); sum += v; }
    report(out, EXTRA, sum);
    return;
  }
  for (u32 k = 1; k <= rounds && !ended; k++) {
    if (touch && load_weak(theirs) == 0xffffffffu) wrong++;
    ALL; if (tid == 0 && !quiet(meet, k * G)) stuck = ended = 1; ALL;
    if (late && b >= G / 2) spend(late);
    outstanding(scratch, stores, x);
    store_weak(own, k);
    @BEFORE@
    ALL;
    if (tid == 0) {
      @ARRIVE@
      u64 step = b == G - 1 ? (1ull << 63) - (G - 1) : 1ull, old, v;
      asm volatile("atom.@ORDER@.gpu.global.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(semaphore), "l"(step) : "memory");
      u32 n = 0, pause = 8;
      for (; n < LIMIT; n++) {
        asm volatile("@POLL@.global.u64 %0, [%1];" : "=l"(v) : "l"(semaphore) : "memory");
        if ((v ^ old) >> 63) break;
        __nanosleep(pause);
        if (pause < 256) pause *= 2;
      }
      if (n == LIMIT) stuck = ended = 1;
      @AFTER@
    }
    ALL;
    @END@
    u32 v;
    asm volatile("@READ@.global.u32 %0, [%1];" : "=r"(v) : "l"(theirs) : "memory");
    wrong += v != k;
    ALL; if (tid == 0 && !quiet(meet + 64, k * G)) stuck = ended = 1; ALL;
  }
  ALL;
  if (tid == 0) stop = 1;
  report(out, WRONG, wrong); report(out, TRIED, rounds); report(out, STUCK, stuck);
}
//@ end
// Which reads bring a line back into L1 after a fence: the reader's CTA touches x, thread 0 fences, then `who` reads once more; a CTA on another SM
// writes x; thread 0 reads x after a relaxed handshake. 0 nobody, 1 thread 0, 2 its warp, 3 another warp, 4 another warp, the next word.
KERNEL refill(u32 *data, u32 *flags, u64 *out, u32 rounds, u32 who) {
  u32 tid = threadIdx.x, pair = blockIdx.x / 2, *x = data + (u64)pair * 1024, *ready = flags + pair * 128, *flag = ready + 64, wrong = 0, stuck = 0;
  for (u32 k = 1; k <= rounds; k++) {
    if (blockIdx.x & 1) {
      if (tid == 0) { stuck += !await_relaxed(ready, k); store_weak(x, k); fence_gpu(); asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(flag), "r"(k) : "memory"); }
      continue;
    }
    if (tid == 0) { wrong += load_weak(x) == 0xffffffffu; fence_gpu(); }
    __syncthreads();
    if ((who == 1 && tid == 0) || (who == 2 && tid == 1) || (who >= 3 && tid == 32)) wrong += load_weak(x + (who == 4)) == 0xffffffffu;
    __syncthreads();
    if (tid == 0) {
      asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(ready), "r"(k) : "memory");
      stuck += !await_relaxed(flag, k);
      wrong += load_weak(x) != k;
    }
    __syncthreads();
  }
  report(out, WRONG, wrong); report(out, STUCK, stuck);
  if (tid == 0 && !(blockIdx.x & 1)) report(out, TRIED, rounds);
}
