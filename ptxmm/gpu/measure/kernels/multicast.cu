// Clusters whose CTAs load the same 16 KiB tiles: each for itself, or each a slice for all. One warp loads, four warps read; four stages.
struct alignas(64) Map { char bytes[128]; };
struct alignas(64) Maps { Map of[3]; };   // boxes of 128, 64 and 32 rows of 128 bytes
DEVICE u32 remote(u32 address, u32 rank) { u32 v; asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(v) : "r"(address), "r"(rank)); return v; }
DEVICE void cluster_sync() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
DEVICE u32 cluster_rank() { u32 v; asm volatile("mov.u32 %0, %cluster_ctarank;" : "=r"(v)); return v; }
DEVICE bool wait_cluster(u64 *b, u32 parity) {
  u32 done = 0, start = clock();
  while (!done && (u32)clock() - start < 10000000u)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(shared_address(b)), "r"(parity) : "memory");
  return done;
}
#define COPY_OWN \
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" :: "r"(shared_address(stage[s])), "l"(&maps.of[0]), "r"(0), "r"(tile * 128), "r"(shared_address(full + s)) : "memory");
#define COPY_SLICE \
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" :: "r"(shared_address(stage[s]) + rank * (16384 / C)), "l"(&maps.of[C / 2]), "r"(0), "r"(tile * 128 + rank * (128 / C)), "r"(shared_address(full + s)), "h"((unsigned short)((1 << C) - 1)) : "memory");
// Which bytes each CTA expects on its own mbarrier: all that arrive there, those of its own slice only, or all, but in rank 0 alone.
#define ARM_ALL expect(full + s, 16384);
#define ARM_SLICE expect(full + s, 16384 / C);
#define ARM_FIRST if (rank) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(full + s)) : "memory"); else expect(full + s, 16384);
// Word i of the source holds i. `apart`: every CTA has tiles of its own. `late`: the last CTA of a cluster reads that many cycles later.
//@ each
KERNEL __launch_bounds__(160) __cluster_dims__(@C@, 1, 1) load_@ID@(const __grid_constant__ Maps maps, u64 *out, u32 turns, u32 tiles, u32 apart, u32 check, u32 late) {
  constexpr u32 C = @C@, S = 4;
  constexpr bool TOGETHER = @TOGETHER@, HANDSHAKE = @HANDSHAKE@;
  extern __shared__ __align__(1024) char memory[];
  auto stage = (u32(*)[4096])memory;
  __shared__ __align__(8) u64 full[S], empty[S];
  u32 tid = threadIdx.x, rank = cluster_rank(), group = apart ? blockIdx.x : blockIdx.x / C, sum = 0;
  u64 wrong = 0, tried = 0, stuck = 0;
  if (tid == 0) { for (u32 s = 0; s < S; s++) { barrier_init(full + s, 1); barrier_init(empty + s, TOGETHER && HANDSHAKE ? C : 1); } barrier_init_seen(); }
  for (u32 j = tid; j < S * 4096; j += 160) ((u32 *)memory)[j] = 0xffffffffu;
  fence_async(); cluster_sync();
  if (tid == 0) {
    for (u32 k = 0; k < turns && !stuck; k++) {
      u32 s = k % S, tile = (group * turns + k) % tiles;
      stuck += !@WAIT@(empty + s, (k / S & 1) ^ 1);
      @ARM@
      @COPY@
    }
  } else if (tid >= 32) {
    u32 c = tid - 32, ended = 0;
    for (u32 k = 0; k < turns && !ended; k++) {
      u32 s = k % S, tile = (group * turns + k) % tiles;
      stuck += !wait_phase(full + s, k / S & 1);
      if (late && rank == C - 1) spend(late);
      if (check) { for (u32 j = c; j < 4096; j += 128) wrong += ((volatile u32 *)stage[s])[j] != tile * 4096 + j; tried += 32; }
      else for (u32 j = c; j < 1024; j += 128) { uint4 v = ((uint4 *)stage[s])[j]; sum += v.x ^ v.y ^ v.z ^ v.w; }
      asm volatile("{ .reg .pred p, q; setp.ne.u32 q, %1, 0; barrier.red.or.pred p, 1, 128, q; selp.u32 %0, 1, 0, p; }" : "=r"(ended) : "r"((u32)stuck) : "memory");
      if (TOGETHER && HANDSHAKE) { if (c < C) asm volatile("mbarrier.arrive.@ARRIVE@.shared::cluster.b64 _, [%0];" :: "r"(remote(shared_address(empty + s), c)) : "memory"); }
      else if (c == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(empty + s)) : "memory");
    }
  }
  if (TOGETHER && !HANDSHAKE) spend(30000);
  __syncwarp(); cluster_sync();
  if (sum == 0x9e3779b9u) report(out, EXTRA, 1);
  report(out, WRONG, wrong); report(out, TRIED, tried); report(out, STUCK, stuck);
}
//@ end
// Rank 0 writes and arrives on the mbarrier of rank 1, which waits and reads. place 0: global memory, in the reader's L1; 1: the reader's shared memory;
// 2: the writer's shared memory.
DEVICE u32 get(u32 place, u32 *global, u32 *mine, u32 theirs) {
  u32 v;
  if (place == 0) v = load_weak(global);
  else if (place == 1) v = *(volatile u32 *)mine;
  else asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(theirs) : "memory");
  return v;
}
//@ each scope
KERNEL __launch_bounds__(32) __cluster_dims__(2, 1, 1) scope_@ID@(u32 *data, u32 *scratch, u64 *out, u32 rounds, u32 place, u32 stores) {
  __shared__ u32 word[64];
  __shared__ __align__(8) u64 b;
  u32 rank = cluster_rank(), phase = 0, x = blockIdx.x * 7919u, *global = data + (u64)(blockIdx.x / 2) * 64;
  if (threadIdx.x == 0) { barrier_init(&b, 1); word[0] = 0; barrier_init_seen(); }
  __syncwarp(); cluster_sync();
  u32 their_barrier = remote(shared_address(&b), rank ^ 1), their_word = remote(shared_address(word), rank ^ 1);
  u64 wrong = 0, stuck = 0;
  if (threadIdx.x == 0) for (u32 k = 1; k <= rounds && !stuck; k++) {
    if (rank == 1) {
      wrong += get(place, global, word, their_word) == 0xffffffffu;
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(their_barrier) : "memory");
      u32 done = 0, start = clock();
      while (!done && (u32)clock() - start < 10000000u)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity@ACQUIRE@.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(shared_address(&b)), "r"(phase) : "memory");
      stuck += !done;
      wrong += get(place, global, word, their_word) != k;
    } else {
      stuck += !wait_cluster(&b, phase);
      outstanding(scratch, stores, x);
      if (place == 0) store_weak(global, k);
      else if (place == 1) asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(their_word), "r"(k) : "memory");
      else *(volatile u32 *)word = k;
      asm volatile("mbarrier.arrive@RELEASE@.shared::cluster.b64 _, [%0];" :: "r"(their_barrier) : "memory");
    }
    phase ^= 1;
  }
  __syncwarp(); cluster_sync();
  report(out, WRONG, wrong); report(out, STUCK, stuck);
  if (rank == 1 && threadIdx.x == 0) report(out, TRIED, rounds);
}
//@ end
KERNEL number(u32 *x, u32 thousands) { for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < thousands * 1024ull; i += (u64)gridDim.x * blockDim.x) x[i] = (u32)i; }
