// Forms of a wait: a loop that polls a word until it reaches a target, and what closes the loop.
//@ each
DEVICE bool wait_@ID@(const u32 *p, u32 target) {
  u32 v;
  @FIRST@
  for (u32 n = 0; n < BOUND; n++) {
    asm volatile("@POLL@ %0, [%1]@ADD@;" : "=r"(v) : "l"(p) : "memory");
    if (reached(v, target)) { @CLOSE@ return true; }
    @SLEEP@
  }
  return false;
}
// Two CTAs answer each other. Each reads the other's data after its wait; the line is in L1 since the round before.
KERNEL ping_@ID@(u32 *words, u32 *data, u32 *scratch, u64 *out, u32 rounds, u32 stores) {
  if (threadIdx.x) return;
  u32 me = blockIdx.x, wrong = 0, stuck = 0, x = me * 7919u + rounds;
  u32 *mine = words + 64 * me, *other = words + 64 * (1 - me), *give = data + 64 * me, *take = data + 64 * (1 - me);
  for (u32 k = 1; k <= rounds && !stuck; k++) {
    if (me == 0) { outstanding(scratch, stores, x); store_weak(give, k); store_release(mine, k); }
    stuck = !wait_@ID@(other, k);
    wrong += load_weak(take) != k;
    if (me == 1) { outstanding(scratch, stores, x); store_weak(give, k); store_release(mine, k); }
  }
  report(out, WRONG, wrong); report(out, TRIED, rounds); report(out, STUCK, stuck);
}
// A barrier of all CTAs; thread 0 reads what its neighbour wrote before it. Two buffers, so that nobody overwrites what is read;
// the line that is read was read two rounds before, and is in L1.
KERNEL grid_@ID@(u32 *words, u32 *data, u32 *scratch, u64 *out, u32 rounds, u32 stores) {
  u32 b = blockIdx.x, G = gridDim.x, wrong = 0, stuck = 0, x = (b * 1024 + threadIdx.x) * 2654435761u;
  __shared__ u32 ended;
  if (threadIdx.x == 0) ended = 0;
  __syncthreads();
  for (u32 k = 1; k <= rounds && !ended; k++) {
    u32 *half = data + (k & 1) * G * 64;
    outstanding(scratch, stores, x);
    if (threadIdx.x == 0) store_weak(half + b * 64, k);
    __syncthreads();
    if (threadIdx.x == 0) {
      add_release(words, 1);
      if (!wait_@ID@(words, k * G)) { stuck = 1; ended = 1; }
      wrong += load_weak(half + (b + 1) % G * 64) != k;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) { report(out, WRONG, wrong); report(out, TRIED, rounds); report(out, STUCK, stuck); }
}
// The word has its value already: cycles from n unrelated stores to the end of the wait and a load after it.
KERNEL satisfied_@ID@(u32 *words, u32 *data, u32 *scratch, u64 *out, u32 rounds, u32 stores) {
  if (threadIdx.x) return;
  u32 x = blockIdx.x * 7919u + 1, stuck = 0, wrong = 0; u64 cycles = 0;
  for (u32 k = 0; k < rounds && !stuck; k++) {
    outstanding(scratch, stores, x);
    u32 start = clock();
    stuck = !wait_@ID@(words, 0);
    u32 v = load_weak(data + blockIdx.x * 64);
    wrong += v != 0;
    cycles += (u32)clock() - start;
    fence_gpu();
  }
  report(out, WRONG, wrong); report(out, TRIED, rounds); report(out, STUCK, stuck); report(out, CYCLES, cycles);
}
// One warp polls while eight warps of the same CTA read a 64 KB table again and again; the last of them in the grid sets it free.
KERNEL neighbour_@ID@(u32 *words, u32 *data, u32 *scratch, u64 *out, u32 rounds, u32 poll) {
  __shared__ u32 left;
  if (threadIdx.x == 0) left = 8;
  __syncthreads();
  u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, stuck = 0;
  if (warp == 0) { if (lane == 0 && poll) stuck = !wait_@ID@(words, gridDim.x); }
  else {
    u32 sum = 0;
    for (u32 r = 0; r < rounds; r++)
      for (u32 j = (warp - 1) * 32 + lane; j < 16384; j += 1024)
        sum += load_weak(data + j) + load_weak(data + j + 256) + load_weak(data + j + 512) + load_weak(data + j + 768);
    report(out, WRONG, sum != 0); report(out, TRIED, 1);
    __syncwarp();
    if (lane == 0 && atomicSub(&left, 1u) == 1u) add_release(words, 1);
  }
  report(out, STUCK, stuck);
}
//@ end
