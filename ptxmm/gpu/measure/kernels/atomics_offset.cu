// Contended counters of 4 bytes, packed from `base`. pattern 0: every lane a pseudo-random counter; 1: lane l counter l mod C; 2: a whole warp one counter.
DEVICE u32 chosen(u32 pattern, u32 tid, u32 r, u32 &x) { u32 i = dice(x); return pattern == 0 ? i >> 8 : pattern == 1 ? (tid & 31) + (tid / 32 & ~31u) + r * 32 : tid / 32 + r; }
KERNEL contend_red(u32 *base, u64 *out, u32 counters, u32 rounds, u32 pattern) {
  u32 tid = blockIdx.x * blockDim.x + threadIdx.x, x = tid * 2654435761u + 12345u;
  for (u32 r = 0; r < rounds; r++) add_relaxed(base + (chosen(pattern, tid, r, x) & counters - 1), 1);
}
KERNEL contend_atom(u32 *base, u64 *out, u32 counters, u32 rounds, u32 pattern) {
  u32 tid = blockIdx.x * blockDim.x + threadIdx.x, x = tid * 2654435761u + 12345u, sum = 0;
  for (u32 r = 0; r < rounds; r++) {
    u32 old;
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(base + (chosen(pattern, tid, r, x) & counters - 1)) : "memory");
    sum += old;
  }
  if (sum == 0x9e3779b9u) report(out, EXTRA, 1);
}
// Not atomic: what the check of the sums must see.
KERNEL contend_apart(u32 *base, u64 *out, u32 counters, u32 rounds, u32 pattern) {
  u32 tid = blockIdx.x * blockDim.x + threadIdx.x, x = tid * 2654435761u + 12345u;
  for (u32 r = 0; r < rounds; r++) { u32 *p = base + (chosen(pattern, tid, r, x) & counters - 1); store_weak(p, load_weak(p) + 1); }
}
#define KEYS for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
KERNEL count_plain(const u32 *key, u32 *base, u32 n) { KEYS add_relaxed(base + key[i], 1); }
KERNEL count_together(const u32 *key, u32 *base, u32 n) {
  KEYS { u32 k = key[i], same = __match_any_sync(~0u, k); if ((threadIdx.x & 31) == __ffs(same) - 1) add_relaxed(base + k, __popc(same)); }
}
KERNEL count_apart(const u32 *key, u32 *base, u32 n) { KEYS store_weak(base + key[i], load_weak(base + key[i]) + 1); }
KERNEL count_cuda(const u32 *key, u32 *base, u32 n) { KEYS atomicAdd(base + key[i], 1u); }
// Lanes store a word each; the lane that stands for all adds them up and publishes, with an order that is the question; another SM waits and reads all words.
//@ each
KERNEL __launch_bounds__(32) publish_@ID@(u32 *data, u32 *flags, u32 *scratch, u64 *out, u32 rounds, u32 stores) {
  u32 pair = blockIdx.x / 2, lane = threadIdx.x, x = (blockIdx.x * 32 + lane) * 2654435761u, wrong = 0, stuck = 0;
  u32 *word = data + (u64)pair * 1024 + lane * 32, *flag = flags + pair * 128, *ready = flag + 64;
  for (u32 k = 1; k <= rounds; k++) {
    if (blockIdx.x & 1) {
      if (lane == 0) stuck += !await_acquire(ready, k);
      __syncwarp();
      if (lane) outstanding(scratch, stores, x);
      store_weak(word, k);
      u32 same = __match_any_sync(~0u, pair);
      @SYNC@
      if (lane == __ffs(same) - 1) asm volatile("red.@ORDER@.gpu.global.add.u32 [%0], %1;" :: "l"(flag), "r"(__popc(same)) : "memory");
    } else {
      wrong += load_weak(word) == 0xffffffffu;
      __syncwarp();
      if (lane == 0) { store_release(ready, k); stuck += !await_acquire(flag, 32 * k); }
      __syncwarp();
      wrong += load_weak(word) != k;
      __syncwarp();
    }
  }
  report(out, WRONG, wrong); report(out, STUCK, stuck);
  if (!(blockIdx.x & 1)) report(out, TRIED, rounds);
}
//@ end
