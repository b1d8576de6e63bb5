// SPDX-License-Identifier: MIT
#include "engine/samples.h"

#include <arpa/inet.h>

#include <cstring>
#include <initializer_list>

#include "core/path/rewrite.h"
#include "tables/maglev.h"

namespace fairlead::engine::samples {
namespace {

using namespace core;

constexpr uint32_t vip_v4 = 0x0ac80101;
constexpr uint32_t node_v4 = 0xc000020b;

Address v6(const char* text) {
  Address address{};
  inet_pton(AF_INET6, text, &address);
  return address;
}

class Writer {
 public:
  Writer& bytes(std::initializer_list<uint8_t> values) {
    frame_.insert(frame_.end(), values);
    return *this;
  }
  Writer& u16(uint32_t value) {
    return bytes({static_cast<uint8_t>(value >> 8), static_cast<uint8_t>(value)});
  }
  Writer& u32(uint32_t value) { return u16(value >> 16).u16(value & 0xffff); }
  Writer& address(const Address& value) {
    for (be32 word : value.word) u32(to_host(word));
    return *this;
  }
  Writer& ethernet(uint32_t type) { return bytes({2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}).u16(type); }
  Writer& ipv4(uint32_t destination, uint8_t protocol) {
    u16(0x4500).u16(50).u16(1).u16(0).bytes({64, protocol}).u16(0);
    return u32(source_v4).u32(destination);
  }
  Writer& tcp(Flags flags) {
    u16(31337).u16(80).u32(1000).u32(2000);
    return bytes({0x50, static_cast<uint8_t>(flags)}).u16(8192).u16(0x1234).u16(0);
  }
  std::vector<uint8_t> padded(size_t size) {
    frame_.resize(size, 'x');
    return std::move(frame_);
  }

 private:
  std::vector<uint8_t> frame_;
};

tables::Member member(uint32_t number) {
  tables::Member made;
  made.identity = {{{to_be32(0x0a000000 + number), 0, 0, 0}}, Family::v4, 0};
  made.name = "10.0.0." + std::to_string(number) + ":80";
  made.line.method = Method::gre;
  made.line.inner_mtu = 65'511;  // nothing is too big
  made.line.mss = 65'471;
  made.line.flags = backend_flag::takes_new | backend_flag::keeps_known;
  const uint8_t macs[12] = {2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1};
  std::memcpy(made.line.macs, macs, sizeof macs);
  wire::Ipv4 outer{};
  outer.version_length = 0x45;
  outer.fragment = to_be16(wire::fragment_dont);
  outer.ttl = 64;
  outer.protocol = wire::protocol_gre;
  outer.source = to_be32(node_v4);
  outer.destination = made.identity.address.word[0];
  std::memcpy(made.line.outer, &outer, sizeof outer);
  uint32_t sum = 0;
  for (size_t i = 0; i < sizeof outer; i += 2) {
    uint16_t word = 0;
    std::memcpy(&word, made.line.outer + i, sizeof word);
    sum += word;
  }
  made.line.partial_sum = rewrite_detail::folded(sum);
  return made;
}

}  // namespace

std::shared_ptr<const tables::Snapshot> snapshot(uint32_t table_size) {
  auto made = std::make_shared<tables::Snapshot>();
  made->generation = 1;
  made->seed = {0x1234567, 0x89abcdef};
  made->ttl_ms = {0, 5'000, 60'000, 10'000, 30'000, 30'000};
  made->vips.push_back({"v4", {{to_be32(vip_v4), 0, 0, 0}}, 32, Family::v4, true});
  made->vips.push_back({"v6", v6("fc00:1::1"), 128, Family::v6, true});
  for (uint32_t vip = 0; vip < 2; vip++) {
    for (uint8_t protocol : {wire::protocol_tcp, wire::protocol_udp}) {
      made->services.push_back({vip, protocol, 80, 0, false});
    }
  }
  tables::Pool pool;
  pool.id = "web";
  std::vector<tables::MaglevBackend> weights;
  for (uint32_t number = 1; number <= 10; number++) {
    pool.members.push_back(member(number));
    weights.push_back({number * 0x9e3779b97f4a7c15, 1});
  }
  pool.table = std::make_shared<const std::vector<uint16_t>>(
      tables::build_maglev(weights, table_size, tables::Fill::paper));
  made->pools.push_back(std::move(pool));
  return made;
}

Sample tcp_v4(Flags flags) {
  return {Writer().ethernet(0x0800).ipv4(vip_v4, 6).tcp(flags).padded(64), 26, 34};
}

Sample udp_v4() {
  return {Writer().ethernet(0x0800).ipv4(vip_v4, 17).u16(31337).u16(80).u16(30).u16(0).padded(64),
          26, 34};
}

Sample not_a_vip() {
  return {Writer().ethernet(0x0800).ipv4(vip_v4 + 1, 6).tcp(Flags::ack).padded(64), 26, 34};
}

Sample tcp_v6(Flags flags) {
  Writer writer;
  writer.ethernet(0x86dd).u32(6u << 28).u16(26).bytes({6, 64});
  Address source = v6("2001:db8:1::");
  source.word[3] = to_be32(source_v4);
  return {writer.address(source).address(v6("fc00:1::1")).tcp(flags).padded(80), 34, 54};
}

}  // namespace fairlead::engine::samples
