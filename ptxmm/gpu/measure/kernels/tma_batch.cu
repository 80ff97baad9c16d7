// One 4 KiB tile of each of N inputs for a CTA, summed and stored: how the mbarriers are set up and waited for.
struct alignas(64) Map { char bytes[128]; };
struct alignas(64) Maps { Map of[8]; };
struct Inputs { const float4 *of[8]; };
DEVICE void barrier_end(u64 *b) { asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(shared_address(b)) : "memory"); }
DEVICE void load_flat(u32 to, const void *from, u64 *b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 4096, [%2];" :: "r"(to), "l"(from), "r"(shared_address(b)) : "memory");
}
#define INPUTS _Pragma("unroll") for (int i = 0; i < N; i++)
#define COPY_TILE load_tile(shared_address(tile[i]), &maps.of[i], at * 4, BARRIER);
#define COPY_FLAT load_flat(shared_address(tile[i]), in.of[i] + (u64)at * 256, b);
#define BARRIER (b + (SHARED ? 0 : i))
// One load after the other: `who` starts and ends the mbarrier of each.
#define SERIAL(who) \
  INPUTS { \
    if (who) barrier_init(b + i, 1); \
    __syncthreads(); \
    if (tid == 0) { expect(b + i, 4096); COPY_TILE stuck |= !wait_phase(b + i, 0); } \
    __syncthreads(); \
    if (who) barrier_end(b + i); \
  }
// All loads first, each on its mbarrier.
#define BATCH \
  if (tid == 0) { INPUTS barrier_init(b + i, 1); } \
  __syncthreads(); \
  if (tid == 0) { INPUTS { expect(b + i, 4096); COPY_TILE } }
#define BATCH_ALL_WAIT BATCH INPUTS stuck |= !wait_phase(b + i, 0);
#define BATCH_ONE_WAITS BATCH if (tid == 0) { INPUTS stuck |= !wait_phase(b + i, 0); } __syncthreads();
// All loads on one mbarrier, which expects their bytes before or after they start.
#define TOGETHER(before, copy, after) \
  if (tid == 0) barrier_init(b, 1); \
  __syncthreads(); \
  if (tid == 0) { if (before) expect(b, 4096 * N); INPUTS { copy } if (after) expect(b, 4096 * N); } \
  if (!LATE) stuck = !wait_phase(b, 0);
#define NOTHING
//@ each
KERNEL __launch_bounds__(256) sum_@ID@(const __grid_constant__ Maps maps, Inputs in, float4 *to, u64 *out) {
  constexpr int N = @N@;
  constexpr bool SHARED = @SHARED@, LATE = @LATE@;
  __shared__ __align__(128) float4 tile[N][256];
  __shared__ __align__(8) u64 b[N];
  u32 tid = threadIdx.x, at = blockIdx.x;
  bool stuck = false;
  @LOAD@
  for (u32 j = tid; j < 256; j += blockDim.x) {
    float4 sum = make_float4(0, 0, 0, 0), v[N];
    #pragma unroll
    for (int i = 0; i < N; i++) v[i] = @READ@;
    #pragma unroll
    for (int i = 0; i < N; i++) { sum.x += v[i].x; sum.y += v[i].y; sum.z += v[i].z; sum.w += v[i].w; }
    to[(u64)at * 256 + j] = sum;
  }
  if (LATE) stuck = !wait_phase(b, 0);
  if (stuck) report(out, STUCK, 1);
}
//@ end
KERNEL fill(float *x, u32 thousands, u32 seed) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < thousands * 1024ull; i += (u64)gridDim.x * blockDim.x) {
    u64 h = i * 0x9E3779B97F4A7C15ull + seed; h ^= h >> 29; h *= 0xBF58476D1CE4E5B9ull;
    x[i] = (float)(h >> 40 & 0xffff);   // sums of eight are exact in f32
  }
}
KERNEL check(Inputs in, const float *to, u32 thousands, u32 N, u64 *out) {
  u64 wrong = 0, tried = 0;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < thousands * 1024ull; i += (u64)gridDim.x * blockDim.x) {
    float sum = 0;
    for (u32 k = 0; k < N; k++) sum += ((const float *)in.of[k])[i];
    wrong += !(sum == to[i]); tried++;
  }
  report(out, WRONG, wrong); report(out, TRIED, tried);
}
