// A tensor map in global memory is pointed at another tensor; which tensor does the next load find? Tensor t is 8 rows of 32 words, t << 28 | index.
DEVICE u32 found(u32 *tile, const char *map, u64 *b, u32 &phase, u64 &stuck) {
  expect(b, 1024);
  load_tile(shared_address(tile), map, 0, b);
  stuck += !wait_phase(b, phase);
  phase ^= 1;
  u32 v = ((volatile u32 *)tile)[5];
  ((volatile u32 *)tile)[5] = 0xffffffffu;
  fence_async();
  return v;
}
DEVICE void replaced(char *map, char *copy, u64 base, u32 lane) {
  ((u32 *)copy)[lane] = ((volatile u32 *)map)[lane]; __syncwarp();
  if (lane == 0) map_point(copy, base);
  __syncwarp();
  map_publish(map, copy);
}
// CTAs in pairs, each CTA on its own SM: the reader loads through the map, says so, waits for the flag, fences, loads again.
//@ each
KERNEL __launch_bounds__(32) change_@ID@(char *maps, const char *encoded, const u64 *bases, u32 *flags, u64 *out, u32 rounds, u32 touch, u32 lag) {
  __shared__ alignas(1024) u32 tile[256];
  __shared__ alignas(128) char copy[128];
  __shared__ alignas(8) u64 b;
  u32 pair = blockIdx.x / 2, lane = threadIdx.x, phase = 0, *ready = flags + pair * 128, *flag = ready + 64;
  char *map = maps + 128 * pair;
  u64 wrong = 0, tried = 0, stuck = 0, cycles = 0;
  if (lane == 0) { barrier_init(&b, 1); barrier_init_seen(); }
  __syncwarp();
  for (u32 k = 1; k <= rounds; k++) {
    u32 t = k & 3;
    if (blockIdx.x & 1) {
      if (lane == 0) stuck += !await_acquire(ready, k);
      __syncwarp();
      @CHANGE@
      __syncwarp();
      if (lane == 0) store_release(flag, k);
      continue;
    }
    if (lane == 0) {
      if (touch) found(tile, map, &b, phase, stuck);
      store_release(ready, k);
      stuck += !await_acquire(flag, k);
      if (lag) spend(lag);
    }
    __syncwarp();
    u32 start = clock();
    @FENCE@
    __syncwarp();
    if (lane == 0) {
      u32 v = found(tile, map, &b, phase, stuck);
      cycles += (u32)clock() - start;
      tried++;
      wrong += v != (t << 28 | 5);
    }
    __syncwarp();
  }
  report(out, WRONG, wrong); report(out, TRIED, tried); report(out, STUCK, stuck); report(out, CYCLES, cycles);
}
//@ end
// One thread changes its map and uses `others` maps before it uses the changed one again, without an acquire fence: does it find the old one?
KERNEL __launch_bounds__(32) evicted(char *maps, const char *encoded, u64 *out, u32 rounds, u32 others) {
  __shared__ alignas(1024) u32 tile[256];
  __shared__ alignas(8) u64 b;
  if (threadIdx.x) return;
  char *map = maps + (u64)blockIdx.x * 128 * 1032;
  u32 phase = 0; u64 wrong = 0, stuck = 0, first = 0;
  barrier_init(&b, 1); barrier_init_seen();
  for (u32 k = 1; k <= rounds; k++) {
    map_acquire(map);
    first += found(tile, map, &b, phase, stuck) != ((k - 1 & 3) << 28 | 5);
    for (u32 j = 0; j < 8; j++) map_copy(map, encoded + 128 * (k & 3), j);
    __threadfence();
    for (u32 e = 1; e <= others; e++) found(tile, map + 128 * e, &b, phase, stuck);
    wrong += found(tile, map, &b, phase, stuck) != ((k & 3) << 28 | 5);
  }
  report(out, WRONG, wrong); report(out, TRIED, rounds); report(out, STUCK, stuck); report(out, EXTRA, first);
}
// What a kernel of its own finds; the map was changed by the launch before.
KERNEL __launch_bounds__(32) launched(char *map, u64 *out, u32 t) {
  __shared__ alignas(1024) u32 tile[256];
  __shared__ alignas(8) u64 b;
  if (threadIdx.x) return;
  u32 phase = 0; u64 stuck = 0;
  barrier_init(&b, 1); barrier_init_seen();
  report(out, WRONG, found(tile, map, &b, phase, stuck) != (t << 28 | 5)); report(out, TRIED, 1); report(out, STUCK, stuck);
}
KERNEL change_map(char *map, const char *encoded, u32 t) { map_copy(map, encoded + 128 * t, threadIdx.x); }
