// Mbarriers, bulk copies and tensor maps.
DEVICE u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }
DEVICE void barrier_init(u64 *b, u32 count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(b)), "r"(count) : "memory"); }
DEVICE void barrier_init_seen() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DEVICE void expect(u64 *b, u32 bytes) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared_address(b)), "r"(bytes) : "memory"); }
DEVICE bool wait_phase(u64 *b, u32 parity) {
  u32 done = 0, start = clock();
  while (!done && (u32)clock() - start < 10000000u)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(shared_address(b)), "r"(parity) : "memory");
  return done;
}
DEVICE void load_tile(u32 to, const void *map, u32 row, u64 *b) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" :: "r"(to), "l"(map), "r"(0), "r"(row), "r"(shared_address(b)) : "memory");
}
DEVICE void map_acquire(const void *map) { asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"(map) : "memory"); }
DEVICE void map_release() { asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory"); }
DEVICE void map_point(char *shared_map, u64 base) { asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" :: "r"(shared_address(shared_map)), "l"(base) : "memory"); }
DEVICE void map_publish(char *map, char *shared_map) { asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" :: "l"(map), "r"(shared_address(shared_map)) : "memory"); }
DEVICE void fence_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
DEVICE void map_copy(char *map, const char *encoded, u32 lane) { if (lane < 8) ((uint4 *)map)[lane] = ((const uint4 *)encoded)[lane]; }
