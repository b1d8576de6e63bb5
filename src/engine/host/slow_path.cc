// SPDX-License-Identifier: MIT
#include "engine/host/slow_path.h"

#include <algorithm>
#include <cstring>

#include "core/path/path.h"
#include "engine/host/checksum.h"
#include "engine/host/pieces.h"
#include "engine/host/reply.h"

namespace fairlead::host {
namespace {

using core::Family;
using core::Outcome;
using core::Packet;
using core::Reason;
using core::Shape;
using core::State;
namespace wire = core::wire;

constexpr uint32_t headroom = 256;

// Whether an error may go to this address at all (RFC 1122 section 3.2.2, RFC 4443 section 2.4
// (e)): it has to be a single host's.
bool is_single_host(const Packet& packet) {
  const uint32_t first = core::to_host(packet.source.word[0]);
  if (packet.family == Family::v6) {
    const auto* word = packet.source.word;
    const bool unspecified = (word[0] | word[1] | word[2] | word[3]) == 0;
    return !unspecified && first >> 24 != 0xff;
  }
  const uint32_t top = first >> 24;
  return top != 0 && top != 127 && top < 224;
}

// What a packet of this family may have on the way to a backend. Nobody may be told less than the
// least MTU of IPv6 (RFC 8200 section 5); a path that small loses what does not fit.
uint16_t mtu_for(const core::Backend& backend, Family family) {
  constexpr uint16_t ipv6_least = 1280;
  return family == Family::v6 ? std::max(backend.inner_mtu, ipv6_least) : backend.inner_mtu;
}

// The outer UDP checksum of GUE over IPv6, over all that is in it.
void finish_gue(uint8_t* frame, const Packet& packet) {
  uint8_t* ip = frame + packet.l3;
  uint8_t* udp = ip + sizeof(wire::Ipv6);
  const size_t length = packet.ip_length + sizeof(core::rewrite_detail::UdpGue);
  uint64_t sum = sum_of({ip + 8, 32}) + sum_of({udp, length});
  sum += core::to_be16(static_cast<uint16_t>(length));
  sum += core::to_be16(wire::protocol_udp);
  const uint16_t checksum = checksum_of(sum);
  const uint16_t written = checksum == 0 ? 0xffff : checksum;
  std::memcpy(udp + 6, &written, sizeof written);
}

}  // namespace

// One frame on its way through.
struct SlowPath::Job {
  std::span<const uint8_t> frame;
  uint64_t ticket;
  const Tables& tables;
  uint64_t now_us;
  Sink& sink;
  Packet packet{};
  Outcome outcome{};
};

SlowPath::SlowPath(uint32_t rate, IcmpLimits& limits)
    : rate_(rate),
      limits_(limits),
      scratch_(new uint8_t[headroom + largest_reply]),
      piece_(new uint8_t[largest_reply]) {}

void SlowPath::settle(Job& job, Reason reason) {
  job.outcome.reason = reason;
  Outcome counted = job.outcome;
  if (core::verdict_of(reason) != core::Verdict::forward) counted.backend = 0;
  core::count(job.tables, job.packet, counted);
  job.sink.settle(job.ticket, job.outcome);
}

void SlowPath::handle(std::span<const uint8_t> bytes, uint64_t ticket, const Tables& tables,
                      uint64_t now_us, Sink& sink) {
  Job job{bytes, ticket, tables, now_us, sink};
  engine::HeldFrame held{.data = const_cast<uint8_t*>(bytes.data()),
                         .length = static_cast<uint32_t>(bytes.size())};
  const Frame frame(&held);  // only read: there is no room to grow
  job.packet.shape = core::admit(frame, job.packet);
  const core::Classified classified = core::classify(tables, job.packet);
  if (!classified.row) return settle(job, classified.reason);
  if (classified.is_service) {
    job.outcome = core::path_detail::follow_flow(frame, tables, *classified.row, job.packet);
  } else {
    const core::Adopted adopted = core::adopt(frame, tables, job.packet, *classified.row);
    job.outcome = adopted.outcome;
    if (adopted.slow && job.packet.shape == Shape::icmp) return answer_ping(job);
    if (adopted.slow) {
      const uint64_t datagram = core::fragment_hash(tables.settings(), job.packet);
      if (held_.add(datagram, ticket, now_us, bytes)) return;
      return settle(job, Reason::fragment_no_mapping);
    }
  }
  if (core::verdict_of(job.outcome.reason) != core::Verdict::forward) {
    return settle(job, job.outcome.reason);
  }
  forward(job);
}

void SlowPath::poll(const Tables& tables, uint64_t now_us, Sink& sink) {
  held_.sweep([&](const HeldFragments::Fragment& fragment, std::span<const uint8_t> bytes) {
    const bool late = now_us - fragment.since_us > HeldFragments::longest_us;
    if (core::find_fragment(tables, fragment.datagram) == 0 && !late) return false;
    Job job{bytes, fragment.ticket, tables, now_us, sink};
    engine::HeldFrame held{.data = const_cast<uint8_t*>(bytes.data()),
                           .length = static_cast<uint32_t>(bytes.size())};
    const Frame frame(&held);
    job.packet.shape = core::admit(frame, job.packet);
    const core::Classified classified = core::classify(tables, job.packet);
    if (!classified.row) {  // the VIP went in the meantime
      settle(job, classified.reason);
      return true;
    }
    job.outcome = core::adopt(frame, tables, job.packet, *classified.row).outcome;
    if (job.outcome.backend == 0 || late) {
      job.outcome.backend = 0;
      settle(job, Reason::fragment_no_mapping);
    } else {
      forward(job);
    }
    return true;
  });
}

void SlowPath::answer_ping(Job& job) {
  // A rate of 0 forbids errors, not answers.
  if (rate_ != 0 && !limits_.echoes(job.outcome.vip).allow(job.now_us, rate_)) {
    return settle(job, Reason::echo_limited);
  }
  uint8_t* out = scratch_.get() + headroom;
  const size_t length = write_echo_reply(job.frame, job.packet, {out, largest_reply});
  job.sink.send(job.ticket, {out, length});
  settle(job, Reason::echo);
}

void SlowPath::forward(Job& job) {
  const uint16_t mtu = mtu_for(job.tables.backend(job.outcome.backend), job.packet.family);
  const auto packet = job.frame.subspan(job.packet.l3, job.packet.ip_length);
  if (job.packet.ip_length > mtu) {
    if (job.packet.dont_fragment) return refuse(job, mtu);
    return send_pieces(job, mtu);
  }
  const bool sent = send_one(job, packet);
  settle(job, sent ? job.outcome.reason : Reason::overload);
}

// Too big, and not to be cut: the sender learns the size that fits, unless it must not be told.
void SlowPath::refuse(Job& job, uint16_t mtu) {
  const bool may = rate_ != 0 && job.packet.shape == Shape::flow && is_single_host(job.packet);
  const auto vip = job.outcome.vip;
  if (!may) return settle(job, Reason::oversize);
  if (!limits_.errors(vip).allow(job.now_us, rate_)) return settle(job, Reason::oversize_limited);
  uint8_t* out = scratch_.get() + headroom;
  const size_t length = write_too_big(job.frame, job.packet, mtu, {out, largest_reply});
  job.sink.send(job.ticket, {out, length});
  settle(job,
         job.packet.family == Family::v6 ? Reason::packet_too_big : Reason::fragmentation_needed);
}

void SlowPath::send_pieces(Job& job, uint16_t mtu) {
  Pieces pieces(job.frame.subspan(job.packet.l3, job.packet.ip_length), mtu);
  for (auto piece = pieces.next({piece_.get(), largest_reply}); !piece.empty();
       piece = pieces.next({piece_.get(), largest_reply})) {
    if (!send_one(job, piece)) return settle(job, Reason::overload);
    job.packet.tcp_flags = 0;  // only the first piece has an L4 header
    job.packet.shape = Shape::later_fragment;
  }
  settle(job, job.outcome.reason);
}

// Gives one packet, whole or a piece, to the backend, behind the link header of the frame.
bool SlowPath::send_one(Job& job, std::span<const uint8_t> ip_packet) {
  Packet packet = job.packet;
  packet.ip_length = static_cast<uint32_t>(ip_packet.size());
  engine::HeldFrame held{.data = scratch_.get() + headroom,
                         .length = static_cast<uint32_t>(packet.l3 + ip_packet.size()),
                         .room = headroom};
  std::memcpy(held.data, job.frame.data(), packet.l3);
  std::memcpy(held.data + packet.l3, ip_packet.data(), ip_packet.size());
  Frame frame(&held);
  if (!core::forward(frame, job.tables, packet, job.outcome)) return false;
  if (core::path_detail::is_slow(job.tables.backend(job.outcome.backend))) {
    finish_gue(held.data, packet);
  }
  job.sink.send(job.ticket, {held.data, held.length});
  return true;
}

}  // namespace fairlead::host
