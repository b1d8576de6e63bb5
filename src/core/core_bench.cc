// SPDX-License-Identifier: MIT
// What the stages of the path cost, each alone: the hash, the connection table at several sizes and
// fills, the tunnel, and the whole path for one flow of each kind. The path over many flows, one by
// one and in batches, is engine/user's benchmark; the same in the kernel is engine/xdp's.
//
// Tables of a million connections are measured on huge pages where the kernel has them, as the
// engines use them.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "core/path/path.h"
#include "core/test_tunnel.h"
#include "core/test_world.h"

namespace fairlead::core::test {
namespace {

// The hash.

template <Family family>
void hash(benchmark::State& state) {
  const TestTables tables;
  Address source = address(family == Family::v6 ? "2001:db8::7" : "203.0.113.7");
  const Address vip = address(family == Family::v6 ? "2001:db8:1::10" : "198.51.100.10");
  be16 port = 1;
  for (auto _ : state) {
    // The port of the next comes out of the last, so that hashes do not overlap.
    port = static_cast<be16>(flow_hash(tables.settings(), family, source, vip, port, 443, 6));
    benchmark::DoNotOptimize(port);
  }
}
BENCHMARK(hash<Family::v4>)->Name("core/hash/v4");
BENCHMARK(hash<Family::v6>)->Name("core/hash/v6");

void hash_of_client(benchmark::State& state) {
  const TestTables tables;
  Address source = address("203.0.113.7");
  for (auto _ : state) {
    source.word[0] = static_cast<be32>(client_hash(tables.settings(), source));
    benchmark::DoNotOptimize(source);
  }
}
BENCHMARK(hash_of_client)->Name("core/hash/client");

// The connection table.

template <class Bucket>
KeyOf<Bucket> key_of(u64 number) {
  if constexpr (std::is_same_v<Bucket, NarrowBucket>) {
    return number << 16 | 1;
  } else {
    return {{number, ~number}, number << 48 | 1};
  }
}

template <class Record>
void on_huge_pages(std::vector<Record>& records) {
  constexpr int collapse = 25;  // MADV_COLLAPSE, newer than Debian's headers
  constexpr std::uintptr_t page = 4096;
  const auto begin = (reinterpret_cast<std::uintptr_t>(records.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(records.data() + records.size()) / page * page;
  if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, collapse);  // only a wish
}

// A table with room for 2^range(0) connections, of which `fill` % are taken.
template <class Bucket>
struct Filled {
  static constexpr bool narrow = std::is_same_v<Bucket, NarrowBucket>;
  Filled(const benchmark::State& state, int64_t fill)
      : capacity(1u << state.range(0)),
        tables({.narrow_lines = narrow ? capacity / narrow_ways : 1,
                .wide_lines = narrow ? 1 : capacity / wide_ways}) {
    if constexpr (narrow)
      on_huge_pages(tables.narrow());
    else
      on_huge_pages(tables.wide());
    tables.set().clock = 1000;
    while (count * 100 < capacity * static_cast<u64>(fill)) add();
  }
  bool add() {
    const u64 hash = hash_of(++count);
    const Meta meta = meta_of(tables.now(), tag_of(hash), State::established, 1);
    return remember<Bucket>(tables, key_of<Bucket>(count), hash, meta);
  }
  u32 capacity;
  TestTables tables;
  u64 count = 0;
};

// Look-ups one by one, as a worker without batches would make them.
template <class Bucket>
void find(benchmark::State& state, bool present) {
  const Filled<Bucket> filled(state, state.range(1));
  std::mt19937_64 random(1);
  std::vector<u64> numbers(1u << 16);
  for (u64& number : numbers) number = random() % filled.count + 1 + (present ? 0 : filled.count);
  size_t at = 0;
  for (auto _ : state) {
    const u64 number = numbers[at++ & 0xffff];
    const KeyOf<Bucket> key = key_of<Bucket>(number);
    benchmark::DoNotOptimize(find_connection<Bucket>(filled.tables, key, hash_of(number)));
  }
}

// Comings while as many go: each lives 64 ticks.
template <class Bucket>
void add(benchmark::State& state) {
  Filled<Bucket> filled(state, 0);
  for (Tick& ttl : filled.tables.set().ttl) ttl = 63;
  const u64 per_tick = filled.capacity * static_cast<u64>(state.range(1)) / 100 / 64;
  auto step = [&filled, per_tick] {
    if (filled.count % per_tick == 0) filled.tables.set().clock++;
    return filled.add();
  };
  for (u64 n = 0; n < 3 * 64 * per_tick; n++) step();
  u64 refused = 0, all = 0;
  for (auto _ : state) {
    refused += !step();
    all++;
  }
  state.counters["refused_percent"] =
      100.0 * static_cast<double>(refused) / static_cast<double>(all);
}

void fills(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"log2", "fill"});
  for (const int fill : {15, 50, 70, 90, 95}) bench->Args({20, fill});
  bench->Args({12, 50});
}
void find_narrow(benchmark::State& state) { find<NarrowBucket>(state, true); }
void find_wide(benchmark::State& state) { find<WideBucket>(state, true); }
void miss_narrow(benchmark::State& state) { find<NarrowBucket>(state, false); }
void miss_wide(benchmark::State& state) { find<WideBucket>(state, false); }
BENCHMARK(find_narrow)->Name("core/connections/find/narrow")->Apply(fills);
BENCHMARK(find_wide)->Name("core/connections/find/wide")->Apply(fills);
BENCHMARK(miss_narrow)->Name("core/connections/miss/narrow")->Apply(fills);
BENCHMARK(miss_wide)->Name("core/connections/miss/wide")->Apply(fills);
BENCHMARK(add<NarrowBucket>)->Name("core/connections/add/narrow")->Apply(fills);
BENCHMARK(add<WideBucket>)->Name("core/connections/add/wide")->Apply(fills);

// The tunnel, and the path whole.

const std::string client = "203.0.113.7", vip = "198.51.100.10";
const std::string client6 = "2001:db8::7", vip6 = "2001:db8:1::10";
const Tunnel over_v4{}, over_v6{.node = "2001:db8:2::11", .backend = "2001:db8:b::1"};

// A frame that is put back after each pass: 64 bytes in front and the first 64 of the frame.
struct Repeated {
  explicit Repeated(const Bytes& bytes) : block(bytes.size() + 64) {
    for (size_t i = 0; i < bytes.size(); i++) block[64 + i] = bytes[i];
    kept.assign(block.begin(), block.begin() + 118);
  }
  TestFrame frame() {
    __builtin_memcpy(block.data(), kept.data(), 118);
    benchmark::ClobberMemory();
    return {std::span<u8>(block), 64};
  }
  Bytes block, kept;
};

Bytes syn(bool inner_v6, const std::vector<u32>& tags = {}, u8 flags = 0x10) {
  const IpSpec spec{.source = inner_v6 ? client6 : client, .destination = inner_v6 ? vip6 : vip};
  return ethernet(ip(spec, tcp({.flags = flags, .payload = Bytes(10)})), tags);
}

void encapsulate(benchmark::State& state, bool inner_v6, const Tunnel& tunnel) {
  Repeated repeated(syn(inner_v6));
  Packet packet;
  packet.shape = admit(repeated.frame(), packet);
  const Backend line = tunnel.line(usable);
  for (auto _ : state) {
    TestFrame frame = repeated.frame();
    benchmark::DoNotOptimize(rewrite(frame, line, packet));
  }
}
BENCHMARK_CAPTURE(encapsulate, v4_in_v4, false, over_v4)->Name("core/gre/v4_in_v4");
BENCHMARK_CAPTURE(encapsulate, v6_in_v4, true, over_v4)->Name("core/gre/v6_in_v4");
BENCHMARK_CAPTURE(encapsulate, v4_in_v6, false, over_v6)->Name("core/gre/v4_in_v6");
BENCHMARK_CAPTURE(encapsulate, v6_in_v6, true, over_v6)->Name("core/gre/v6_in_v6");

void restoring(benchmark::State& state) {  // what the measures of this kind contain beside
  Repeated repeated(syn(false));
  for (auto _ : state) benchmark::DoNotOptimize(repeated.frame());
}
BENCHMARK(restoring)->Name("core/restoring_the_frame");

TestTables world() {
  TestTables tables;
  tables.set_backend(1) = over_v4.line(usable);
  tables.add_pool(0, 0, 4093, {1});
  tables.add_vip(address(vip), Family::v4, 32, 1);
  tables.add_vip(address(vip6), Family::v6, 128, 2);
  tables.add_vip(address("203.0.0.0"), Family::v4, 8, 3);
  tables.add_service(address(vip), Family::v4, 32, 6, 80, 1, 1, 0);
  tables.add_service(address(vip6), Family::v6, 128, 6, 80, 2, 2, 0);
  tables.add_service(address("203.0.0.0"), Family::v4, 8, 6, 0, 3, 3, 0);
  return tables;
}

// One flow again and again: everything is in the cache, so what counts is the work.
void path(benchmark::State& state, const Bytes& bytes) {
  const TestTables tables = world();
  Repeated repeated(bytes);
  for (auto _ : state) {
    TestFrame frame = repeated.frame();
    benchmark::DoNotOptimize(process(frame, tables));
  }
}
BENCHMARK_CAPTURE(path, v4, syn(false))->Name("core/path/v4");
BENCHMARK_CAPTURE(path, v6, syn(true))->Name("core/path/v6");
BENCHMARK_CAPTURE(path, tags, syn(false, {0x88a80001, 0x81000002}))->Name("core/path/v4_two_tags");
BENCHMARK_CAPTURE(path, prefix, frame({.source = client, .destination = "203.0.113.99"}, tcp()))
    ->Name("core/path/v4_prefix_vip");
BENCHMARK_CAPTURE(path, pass, frame({.source = client, .destination = "192.0.2.1"}, tcp()))
    ->Name("core/path/v4_no_vip");
BENCHMARK_CAPTURE(path, unknown, syn(false, {}, 0x11))->Name("core/path/v4_hashed");
BENCHMARK_CAPTURE(path, extensions,
                  frame({.source = client6, .destination = vip6, .extensions = {hop_by_hop()}},
                        tcp()))
    ->Name("core/path/v6_extension");

}  // namespace
}  // namespace fairlead::core::test
