// A token's result is the weighted sum of k rows that lie scattered: each row adds into the token with atomics, or the token gathers its rows in order.
DEVICE float noise(u64 i, u32 seed) { u64 x = i * 0x9E3779B97F4A7C15ull + seed; x ^= x >> 31; x *= 0xBF58476D1CE4E5B9ull; x ^= x >> 29; return ((u32)(x >> 32) & 0xffffff) * (2.f / 16777216.f) - 1.f; }
DEVICE u32 pack(float low, float high) { u32 v; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low)); return v; }
DEVICE float low(u32 v) { return __uint_as_float(v << 16); }
DEVICE float high(u32 v) { return __uint_as_float(v & 0xffff0000u); }
#define WORDS(n) for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < (u64)(n); i += (u64)gridDim.x * blockDim.x)
KERNEL fill_f32(float *x, u32 thousands, u32 seed) { WORDS(thousands * 1024ull) x[i] = noise(i, seed); }
KERNEL fill_bf16(u32 *x, u32 thousands, u32 seed) { WORDS(thousands * 1024ull) x[i] = pack(noise(2 * i, seed), noise(2 * i + 1, seed)); }
// Scatter: a CTA for each row, H elements, to the row's token.
KERNEL scatter_f32(const float *x, const u32 *token, const float *weight, float *to, u32 H) {
  u32 r = blockIdx.x; float w = weight[r]; const float *from = x + (u64)r * H; float *at = to + (u64)token[r] * H;
  for (u32 j = threadIdx.x; j < H; j += 4 * blockDim.x) {
    float v[4];
    #pragma unroll
    for (int q = 0; q < 4; q++) if (j + q * blockDim.x < H) v[q] = __ldcs(from + j + q * blockDim.x);
    #pragma unroll
    for (int q = 0; q < 4; q++) if (j + q * blockDim.x < H) asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" :: "l"(at + j + q * blockDim.x), "f"(w * v[q]) : "memory");
  }
}
KERNEL scatter_f32x4(const float4 *x, const u32 *token, const float *weight, float *to, u32 H) {
  u32 r = blockIdx.x; float w = weight[r]; const float4 *from = x + (u64)r * (H / 4); float *at = to + (u64)token[r] * H;
  for (u32 j = threadIdx.x; j < H / 4; j += blockDim.x) {
    float4 v = __ldcs(from + j);
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" :: "l"(at + 4 * j), "f"(w * v.x), "f"(w * v.y), "f"(w * v.z), "f"(w * v.w) : "memory");
  }
}
KERNEL scatter_bf16(const u32 *x, const u32 *token, const float *weight, u32 *to, u32 H) {
  u32 r = blockIdx.x; float w = weight[r]; const u32 *from = x + (u64)r * (H / 2); u32 *at = to + (u64)token[r] * (H / 2);
  for (u32 j = threadIdx.x; j < H / 2; j += blockDim.x) {
    u32 v = __ldcs(from + j);
    asm volatile("red.relaxed.gpu.global.add.noftz.bf16x2 [%0], %1;" :: "l"(at + j), "r"(pack(w * low(v), w * high(v))) : "memory");
  }
}
KERNEL scatter_bf16x8(const uint4 *x, const u32 *token, const float *weight, u32 *to, u32 H) {
  u32 r = blockIdx.x; float w = weight[r]; const uint4 *from = x + (u64)r * (H / 8); u32 *at = to + (u64)token[r] * (H / 2);
  for (u32 j = threadIdx.x; j < H / 8; j += blockDim.x) {
    uint4 v = __ldcs(from + j);
    asm volatile("red.relaxed.gpu.global.add.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4};" :: "l"(at + 4 * j), "r"(pack(w * low(v.x), w * high(v.x))), "r"(pack(w * low(v.y), w * high(v.y))), "r"(pack(w * low(v.z), w * high(v.z))), "r"(pack(w * low(v.w), w * high(v.w))) : "memory");
  }
}
//@ each
// The token's own CTA gathers its @K@ rows, in the order in which they are listed.
KERNEL gather_f32_@K@(const float4 *x, const u32 *rows, const float *weight, float4 *to, u32 H) {
  constexpr int K = @K@; u32 t = blockIdx.x; u64 from[K]; float w[K];
  #pragma unroll
  for (int i = 0; i < K; i++) { u32 r = rows[t * K + i]; w[i] = weight[r]; from[i] = (u64)r * (H / 4); }
  for (u32 j = threadIdx.x; j < H / 4; j += blockDim.x) {
    float4 v[K], sum = make_float4(0, 0, 0, 0);
    #pragma unroll
    for (int i = 0; i < K; i++) v[i] = __ldcs(x + from[i] + j);
    #pragma unroll
    for (int i = 0; i < K; i++) { sum.x = fmaf(w[i], v[i].x, sum.x); sum.y = fmaf(w[i], v[i].y, sum.y); sum.z = fmaf(w[i], v[i].z, sum.z); sum.w = fmaf(w[i], v[i].w, sum.w); }
    to[(u64)t * (H / 4) + j] = sum;
  }
}
KERNEL gather_bf16_@K@(const uint4 *x, const u32 *rows, const float *weight, uint4 *to, u32 H) {
  constexpr int K = @K@; u32 t = blockIdx.x; u64 from[K]; float w[K];
  #pragma unroll
  for (int i = 0; i < K; i++) { u32 r = rows[t * K + i]; w[i] = weight[r]; from[i] = (u64)r * (H / 8); }
  for (u32 j = threadIdx.x; j < H / 8; j += blockDim.x) {
    uint4 v[K]; float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    #pragma unroll
    for (int i = 0; i < K; i++) v[i] = __ldcs(x + from[i] + j);
    #pragma unroll
    for (int i = 0; i < K; i++) {
      u32 c[4] = {v[i].x, v[i].y, v[i].z, v[i].w};
      #pragma unroll
      for (int q = 0; q < 4; q++) { sum[2 * q] = fmaf(w[i], low(c[q]), sum[2 * q]); sum[2 * q + 1] = fmaf(w[i], high(c[q]), sum[2 * q + 1]); }
    }
    to[(u64)t * (H / 8) + j] = make_uint4(pack(sum[0], sum[1]), pack(sum[2], sum[3]), pack(sum[4], sum[5]), pack(sum[6], sum[7]));
  }
}
//@ end
// Words that differ from those of another run of the same arm, bit for bit.
KERNEL compare(const u32 *a, const u32 *b, u64 *out, u32 thousands) { u64 wrong = 0; WORDS(thousands * 1024ull) wrong += a[i] != b[i]; report(out, WRONG, wrong); }
// The squared error and the square of the reference, in f64, over every 16th token: slots EXTRA and EXTRA + 1, as f64.
KERNEL error(const u32 *x, const u32 *rows, const float *weight, const u32 *to, double *out, u32 H, u32 k, u32 half) {
  u32 t = blockIdx.x * 16; double wrong = 0, all = 0;
  for (u32 j = threadIdx.x; j < H; j += blockDim.x) {
    double sum = 0;
    for (u32 i = 0; i < k; i++) {
      u32 r = rows[t * k + i]; u64 at = (u64)r * H + j;
      float v = half ? (at & 1 ? high(x[at / 2]) : low(x[at / 2])) : __uint_as_float(x[at]);
      sum += (double)weight[r] * v;
    }
    u64 at = (u64)t * H + j;
    float v = half ? (at & 1 ? high(to[at / 2]) : low(to[at / 2])) : __uint_as_float(to[at]);
    wrong += (v - sum) * (v - sum); all += sum * sum;
  }
  atomicAdd(out + EXTRA, wrong); atomicAdd(out + EXTRA + 1, all);
}
