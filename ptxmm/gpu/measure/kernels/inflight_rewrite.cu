// A tensor map is rewritten while copies that name it are in flight: which tensor does each tile come from? Word i of tensor t is t << 28 | i.
// Bulk copies of 32 KB through a map of their own, the fillers, keep the unit busy in front of the copies that count.
DEVICE u32 random_row(u32 &x, u32 rows) { return dice(x) % rows; }
DEVICE void poison(char *tiles, u32 n, u32 words, u32 lane) {
  for (u32 i = lane; i < n; i += 32) { volatile u32 *w = (volatile u32 *)(tiles + i * words * 4); w[0] = w[words / 2] = w[words - 1] = 0xf0000000u; }
}
// The tensor that a tile came from, by its first, middle and last word; 15 where these disagree.
DEVICE u32 origin(const char *tile, u32 words, u32 row) {
  const volatile u32 *w = (const volatile u32 *)tile;
  u32 first = w[0], middle = w[words / 2], last = w[words - 1], t = first >> 28;
  return first == (t << 28 | row * 32) && middle == (t << 28 | (row * 32 + words / 2)) && last == (t << 28 | (row * 32 + words - 1)) ? t : 15;
}
//@ each
KERNEL __launch_bounds__(32) rewrite_@ID@(char *maps, const char *encoded, const char *filler_map, const u64 *bases, u64 *out, u32 rounds, u32 n, u32 height, u32 fillers, u32 warm, u32 delay, u32 rows) {
  extern __shared__ __align__(1024) char memory[];
  __shared__ alignas(128) char copy[128];
  __shared__ alignas(8) u64 mine, filled, probe;
  __shared__ u32 row[64];
  u32 lane = threadIdx.x, bytes = height * 128, words = height * 32, phase = 0, odd = 0, probed = 0, x = blockIdx.x * 7919u + n;
  char *map = maps + 128 * (u64)blockIdx.x, *tiles = memory + 32768;
  u64 wrong = 0, tried = 0, stuck = 0, cycles = 0, torn = 0;
  if (lane == 0) { barrier_init(&mine, 1); barrier_init(&filled, 1); barrier_init(&probe, 1); barrier_init_seen(); }
  __syncwarp();
  for (u32 k = 1; k <= rounds; k++) {
    u32 A = 2 * k & 3, B = 2 * k + 1 & 3;
    map_copy(map, encoded + 128 * A, lane);
    map_release(); __syncwarp(); map_acquire(map); __syncwarp();
    ((u32 *)copy)[lane] = ((const u32 *)(encoded + 128 * A))[lane]; __syncwarp();
    if (lane == 0) map_point(copy, bases[B]);
    __syncwarp();
    if (warm) { if (lane == 0) { expect(&probe, bytes); load_tile(shared_address(tiles), map, k & 63, &probe); stuck += !wait_phase(&probe, probed); } probed ^= 1; __syncwarp(); }
    poison(tiles, n, words, lane);
    if (lane == 0) for (u32 i = 0; i < n; i++) row[i] = random_row(x, rows - height);
    fence_async(); __syncwarp();
    if (lane == 0) {
      if (fillers) { expect(&filled, fillers * 32768); for (u32 i = 0; i < fillers; i++) load_tile(shared_address(memory), filler_map, random_row(x, rows - 256), &filled); }
      expect(&mine, n * bytes);
      for (u32 i = 0; i < n; i++) load_tile(shared_address(tiles) + i * bytes, map, row[i], &mine);
      u32 start = clock();
      @DRAIN@
      if (delay) spend(delay);
      cycles += (u32)clock() - start;
    }
    __syncwarp();
    map_publish(map, copy); map_acquire(map); __syncwarp();
    if (lane == 0) stuck += !wait_phase(&mine, phase);
    phase ^= 1; __syncwarp();
    for (u32 i = lane; i < n; i += 32) { u32 t = origin(tiles + i * bytes, words, row[i]); tried++; wrong += t == B; torn += t != A && t != B; }
    if (fillers) { if (lane == 0) stuck += !wait_phase(&filled, odd); odd ^= 1; }
    __syncwarp();
    // One load after the acquire fence must find the new tensor.
    if (lane == 0) { fence_async(); expect(&probe, bytes); load_tile(shared_address(tiles), map, k & 63, &probe); stuck += !wait_phase(&probe, probed); torn += origin(tiles, words, k & 63) != B; }
    probed ^= 1; __syncwarp();
  }
  report(out, WRONG, wrong); report(out, TRIED, tried); report(out, STUCK, stuck); report(out, CYCLES, cycles); report(out, EXTRA, torn);
}
//@ end
// Steps of a grouped product: step s rewrites map s mod K and starts n copies; Q steps are in flight; tiles are judged when their mbarrier completes.
// drain 0 none, 1 commit_group and wait_group.read before the rewrite, 2 the mbarrier of step s - K is observed before it.
KERNEL __launch_bounds__(32) ring(char *maps, const char *encoded, const char *filler_map, const u64 *bases, u64 *out, u32 steps, u32 n, u32 height, u32 K, u32 Q, u32 drain, u32 fillers, u32 rows) {
  extern __shared__ __align__(1024) char memory[];
  __shared__ alignas(128) char copy[128];
  __shared__ alignas(8) u64 b[8];
  __shared__ u32 row[4 * 64];
  u32 lane = threadIdx.x, bytes = height * 128, words = height * 32, x = blockIdx.x * 7919u + K;
  char *map0 = maps + 1024 * (u64)blockIdx.x, *tiles = memory + 32768;
  u64 wrong = 0, tried = 0, stuck = 0, torn = 0;
  if (lane < 8) barrier_init(b + lane, 1);
  if (lane == 0) barrier_init_seen();
  ((u32 *)copy)[lane] = ((const u32 *)encoded)[lane];
  for (u32 j = 0; j < K; j++) map_copy(map0 + 128 * j, encoded, lane);
  map_release(); __syncwarp();
  for (u32 j = 0; j < K; j++) map_acquire(map0 + 128 * j);
  poison(tiles, Q * n, words, lane); fence_async(); __syncwarp();
  for (u32 s = 0; s < steps + Q - 1; s++) {
    if (s < steps) {
      u32 q = s % Q; char *map = map0 + 128 * (s % K);
      if (lane == 0) {
        for (u32 i = 0; i < n; i++) row[q * 64 + i] = random_row(x, rows - height);
        if (drain == 1) { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
        if (drain == 2 && s >= K && K <= Q) stuck += !wait_phase(b + (s - K) % Q, (s - K) / Q & 1);
        map_point(copy, bases[s & 3]);
      }
      __syncwarp(); map_publish(map, copy); map_acquire(map); __syncwarp();
      if (lane == 0) {
        if (fillers) {   // never completes a phase: nobody arrives on this mbarrier
          asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" :: "r"(shared_address(b + 7)), "r"(fillers * 32768) : "memory");
          for (u32 i = 0; i < fillers; i++) load_tile(shared_address(memory), filler_map, random_row(x, rows - 256), b + 7);
        }
        expect(b + q, n * bytes);
        for (u32 i = 0; i < n; i++) load_tile(shared_address(tiles) + (q * n + i) * bytes, map, row[q * 64 + i], b + q);
      }
      __syncwarp();
    }
    if (s >= Q - 1) {
      u32 c = s - (Q - 1), q = c % Q;
      if (lane == 0) stuck += !wait_phase(b + q, c / Q & 1);
      __syncwarp();
      for (u32 i = lane; i < n; i += 32) { u32 t = origin(tiles + (q * n + i) * bytes, words, row[q * 64 + i]); tried++; wrong += t != (c & 3) && t != 15; torn += t == 15; }
      poison(tiles + q * n * bytes, n, words, lane); fence_async(); __syncwarp();
    }
  }
  spend(fillers ? 100000 : 0);   // fillers still on their way need this CTA's shared memory
  report(out, WRONG, wrong); report(out, TRIED, tried); report(out, STUCK, stuck); report(out, EXTRA, torn);
}
