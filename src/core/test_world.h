// SPDX-License-Identifier: MIT
// A Frame and Tables for the core's own tests, fuzzer and benchmarks, made of nothing but the core:
// the engines have theirs, which have tests of their own. TestTables also puts a small world
// together: VIPs, services, backends, and slots that go to the backends of a pool in turn. Real
// Maglev tables and real publishing are tables/'s affair.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/path/path.h"

namespace fairlead::core::test {

// Views bytes that somebody else owns, with `room` of them in front of the frame.
class TestFrame {
 public:
  using Handle = const TestFrame*;

  TestFrame(std::span<u8> block, u32 room)
      : block_(block.data()), data_(block.data() + room), end_(block.data() + block.size()) {}
  explicit TestFrame(Handle handle) : TestFrame(*handle) {}

  Handle handle() const { return this; }
  u32 length() const { return static_cast<u32>(end_ - data_); }
  std::span<const u8> bytes() const { return {data_, end_}; }

  template <class Header>
  Header* at(u32 offset) const {
    static_assert(alignof(Header) == 1);
    if (offset + sizeof(Header) > length()) return nullptr;
    return static_cast<Header*>(static_cast<void*>(data_ + offset));
  }

  bool grow(u32 n) {
    if (n > static_cast<u32>(data_ - block_)) return false;
    data_ -= n;
    return true;
  }

 private:
  u8* block_;
  u8* data_;
  u8* end_;
};
static_assert(Frame<TestFrame>);

// A block of the heap that ends where the frame ends, so that AddressSanitizer sees every read and
// write beyond it; without room, also every one in front of it.
class HeapFrame {
 public:
  HeapFrame(std::span<const u8> bytes, u32 room)
      : size_(bytes.size() + room), block_(new u8[size_]), room_(room) {
    for (u32 i = 0; i < room; i++) block_[i] = 0xee;
    for (size_t i = 0; i < bytes.size(); i++) block_[room + i] = bytes[i];
  }
  TestFrame frame() const { return {std::span<u8>(block_.get(), size_), room_}; }

 private:
  size_t size_;
  std::unique_ptr<u8[]> block_;
  u32 room_;
};

// How many lines of each kind look-ups and inserts have asked for since the last reset.
struct Accesses {
  std::vector<u32> narrow, wide;
  void reset() { narrow.clear(), wide.clear(); }
};

// All sizes are powers of two.
struct TestSizes {
  u32 rows = 256;
  u32 slots = 8192;
  u32 backends = 64;
  u32 services = 64;
  u32 narrow_lines = 256;
  u32 wide_lines = 256;
  u32 fragment_lines = 64;
  u32 translations = 256;
};

// The element of a vector of 2^k, whatever the index.
template <class Vector>
auto& masked_in(Vector& vector, u32 i) {
  return vector[i & static_cast<u32>(vector.size() - 1)];
}

class TestTables {
 public:
  explicit TestTables(const TestSizes& sizes = {})
      : rows_(2 * sizes.rows),
        branches_(64),
        tables_(16),
        turns_(16),
        live_(sizes.backends),
        slots_(sizes.slots),
        backends_(sizes.backends),
        narrow_(sizes.narrow_lines),
        wide_(sizes.wide_lines),
        fragments_(sizes.fragment_lines),
        translations_(sizes.translations),
        backend_counters_(sizes.backends),
        service_counters_(sizes.services) {
    settings_.version = layout_version;
    settings_.seed[0] = 0x0123456789abcdef;
    settings_.seed[1] = 0xfedcba9876543210;
    const Tick ttl[] = {0, 50, 600, 100, 300, 300};  // by State: the defaults in ticks of 0.1 s
    for (u32 i = 0; i < state_count; i++) settings_.ttl[i] = ttl[i];
    settings_.fragment_ttl = 100;
    settings_.smallest_inner_mtu = 0xffff;
    settings_.workers = 1;
  }

  // What the core asks for.
  Tick now() const { return settings_.clock; }
  const Settings& settings() const { return settings_; }
  const PrefixLengths& prefixes() const { return settings_.prefixes[settings_.generation & 1]; }
  const Row& row(u32 i) const {
    const u32 half = static_cast<u32>(rows_.size() / 2);
    return rows_[(i & (half - 1)) + (settings_.generation & 1) * half];
  }
  const Branch& branch(u32 i) const { return masked_in(branches_, i); }
  TableRef table(u32 i) const { return masked_in(tables_, i); }
  u64& turns_taken(u32 i) const { return masked_in(turns_, i); }
  u64& live(u32 i) const { return masked_in(live_, i); }
  Slot slot(u32 i) const { return masked_in(slots_, i); }
  const Backend& backend(u32 i) const { return masked_in(backends_, i); }
  template <class Bucket>
  Bucket& line(u32 i) const {
    if constexpr (Same<Bucket, NarrowBucket>) {
      if (accesses) accesses->narrow.push_back(i & static_cast<u32>(narrow_.size() - 1));
      return masked_in(narrow_, i);
    } else {
      if (accesses) accesses->wide.push_back(i & static_cast<u32>(wide_.size() - 1));
      return masked_in(wide_, i);
    }
  }
  NarrowBucket& fragment_line(u32 i) const { return masked_in(fragments_, i); }
  Translation& translation(u32 i) const { return masked_in(translations_, i); }
  u32 worker() const { return 0; }
  const TestTables& of_worker(u32) const { return *this; }
  WorkerCounters& counters() const { return counters_; }
  BackendCounters& backend_counters(u32 i) const { return masked_in(backend_counters_, i); }
  ServiceCounters& service_counters(u32 i) const { return masked_in(service_counters_, i); }

  // What a test sets.
  Settings& set() { return settings_; }
  Backend& set_backend(u32 id) { return backends_[id]; }
  std::vector<Slot>& set_slots() { return slots_; }
  std::vector<Branch>& set_branches() { return branches_; }
  std::vector<TableRef>& set_tables() { return tables_; }
  std::vector<NarrowBucket>& narrow() { return narrow_; }
  std::vector<WideBucket>& wide() { return wide_; }

  // Puts a row into a generation. Gives up the program if it does not find room within the probes.
  u32 add_row(const Address& address, const RowId& id, u16 service, u16 vip, u32 table,
              u32 generation = 0) {
    const u32 half = static_cast<u32>(rows_.size() / 2);
    u32 at = row_home(address, id);
    for (u32 probe = 0; probe < limits::service_probes; probe++, at++) {
      Row& row = rows_[(at & (half - 1)) + generation * half];
      if (row.id.kind != RowKind::empty) continue;
      row = {address, id, service, vip, table};
      return at & (half - 1);
    }
    std::abort();
  }

  void add_own(const Address& address, Family family) {
    add_row(address, row_id(RowKind::own, family, host_length(family)), 0, 0, 0);
  }

  // A VIP of this many bits; the family's prefix lengths are kept longest first.
  void add_vip(const Address& address, Family family, u8 length, u16 vip) {
    add_row(masked(address, length), row_id(RowKind::vip, family, length), 0, vip, 0);
    if (length == host_length(family)) return;
    auto& lengths = family == Family::v6 ? settings_.prefixes[0].v6 : settings_.prefixes[0].v4;
    u8 entry = static_cast<u8>(length + 1);
    for (u8& here : lengths) {
      if (here == entry) return;
      if (here < entry) std::swap(here, entry);
    }
  }

  // port in host byte order
  void add_service(const Address& address, Family family, u8 length, u8 protocol, u16 port,
                   u16 service, u16 vip, u32 table, u16 flags = 0) {
    RowId id = row_id(RowKind::service, family, length, protocol, to_be16(port));
    id.flags = flags;
    if (length != host_length(family) || port == 0 || protocol == 0) id.flags |= row_flag::wide;
    add_row(masked(address, length), id, service, vip, table);
  }

  // A table of `size` slots that the backends own in turn, with its mirror.
  void add_pool(u32 table, u32 offset, u32 size, std::span<const u16> owners) {
    for (u32 i = 0; i < size + limits::slot_mirror; i++) {
      slots_.at(offset + i) = owners.empty() ? Slot{0} : owners[i % size % owners.size()];
    }
    tables_.at(table) = {offset, owners.empty() ? 0 : size};
  }
  void add_pool(u32 table, u32 offset, u32 size, std::initializer_list<u16> owners) {
    add_pool(table, offset, size, std::span<const u16>(owners.begin(), owners.size()));
  }

  // Records every line that is asked for; null: nothing is recorded.
  Accesses* accesses = nullptr;

 private:
  Settings settings_{};
  std::vector<Row> rows_;
  std::vector<Branch> branches_;
  std::vector<TableRef> tables_;
  mutable std::vector<u64> turns_;
  mutable std::vector<u64> live_;
  std::vector<Slot> slots_;
  std::vector<Backend> backends_;
  // The core writes through const Tables, as they are views in the engines.
  mutable std::vector<NarrowBucket> narrow_;
  mutable std::vector<WideBucket> wide_;
  mutable std::vector<NarrowBucket> fragments_;
  mutable std::vector<Translation> translations_;
  mutable WorkerCounters counters_{};
  mutable std::vector<BackendCounters> backend_counters_;
  mutable std::vector<ServiceCounters> service_counters_;
};
static_assert(Tables<TestTables>);

// A hash for tests that number their flows (the finalizer of splitmix64).
constexpr u64 hash_of(u64 number) {
  u64 h = number * 0x9e3779b97f4a7c15;
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9;
  h = (h ^ h >> 27) * 0x94d049bb133111eb;
  return h ^ h >> 31;
}

constexpr u8 usable = backend_flag::takes_new | backend_flag::keeps_known;

}  // namespace fairlead::core::test
