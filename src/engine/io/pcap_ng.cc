// SPDX-License-Identifier: MIT
// pcapng: blocks of (type, total length, body, total length again). A section header sets the byte
// order and forgets the interfaces; an interface description sets the unit of its times; packet
// blocks name their interface. Blocks of other types are skipped, however long they claim to be.
//
// The rules of lengths: a block is at least 12 bytes long, a multiple of 4, and says its length the
// same way at both ends. A block that breaks them is damage: behind it no block can be found.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/io/pcap_format.h"

namespace fairlead::engine {
namespace {

__extension__ typedef __int128 Wide;  // seconds * 1e9 * 2^64 would not fit otherwise

constexpr size_t block_head = 8;
constexpr size_t block_frame = 12;  // head and the length at the end
constexpr size_t most_interfaces = 65'536;
constexpr uint64_t second_ns = 1'000'000'000;

namespace block {
constexpr uint32_t interface = 1;
constexpr uint32_t obsolete_packet = 2;
constexpr uint32_t simple_packet = 3;
constexpr uint32_t enhanced_packet = 6;
}  // namespace block

namespace option {
constexpr uint16_t end = 0;
constexpr uint16_t resolution = 9;
constexpr uint16_t offset = 14;
}  // namespace option

// How an interface counts time.
struct Unit {
  uint32_t snap_length = 0;  // 0: none
  uint8_t resolution = 6;    // units a second: 10^n, or with the top bit 2^n
  int64_t offset_s = 0;

  uint64_t to_ns(uint64_t ticks) const {
    const uint32_t exponent = resolution & 0x7fu;
    Wide ns = static_cast<Wide>(ticks) * static_cast<Wide>(second_ns);  // < 2^94
    if ((resolution & 0x80) != 0) {
      ns >>= exponent;
    } else {
      for (uint32_t i = 0; i < exponent && ns != 0; i++) {
        ns /= 10;
      }
    }
    ns += static_cast<Wide>(offset_s) * static_cast<Wide>(second_ns);
    constexpr Wide latest = std::numeric_limits<uint64_t>::max();
    return ns < 0        ? 0
           : ns > latest ? std::numeric_limits<uint64_t>::max()
                         : static_cast<uint64_t>(ns);
  }

  bool finer_than_micro() const {
    return (resolution & 0x80) != 0 ? (resolution & 0x7f) > 19 : resolution > 6;
  }
};

class Pcapng final : public CaptureReader::Format {
 public:
  using Format::Format;

  Result<std::optional<CapturedFrame>> next() override {
    while (!ended_) {
      if (given_out_ != 0) {
        if (auto passed = pass_over(std::exchange(given_out_, 0)); !passed || ended_) {
          return passed;
        }
      }
      input_.skip(std::exchange(behind_, 0));
      const Bytes head = input_.look(block_head);
      if (head.empty() && input_.error() == 0) {
        ended_ = true;
        break;
      }
      if (head.size() < block_head) {
        return cut(input_.offset(), block_frame, head.size());
      }
      const uint32_t type = u32(head, 0);
      auto frame = type == pcap_magic::pcapng       ? section()
                   : type == block::interface       ? interface(u32(head, 4))
                   : type == block::enhanced_packet ? packet(u32(head, 4), 28, &Pcapng::enhanced)
                   : type == block::obsolete_packet ? packet(u32(head, 4), 28, &Pcapng::obsolete)
                   : type == block::simple_packet   ? packet(u32(head, 4), 12, &Pcapng::simple)
                                                    : pass_over(u32(head, 4));
      if (!frame || *frame) {
        return frame;
      }
    }
    return std::nullopt;
  }

 private:
  using Frame = Result<std::optional<CapturedFrame>>;

  // The fields of a packet block, whatever its kind.
  struct Fields {
    uint32_t interface = 0;
    uint32_t length = 0;
    uint32_t original = 0;
    std::optional<uint64_t> ticks;
  };

  static bool possible(uint32_t total, size_t least) { return total >= least && total % 4 == 0; }

  std::unexpected<Error> impossible(const char* what, uint32_t total) {
    return corrupt(fmt::format("{} of {} bytes, which cannot be", what, total));
  }

  Frame section() {
    constexpr size_t least = 28;
    const Bytes head = input_.look(12);
    if (head.size() < 12) {
      return cut(input_.offset(), least, head.size());
    }
    uint32_t order = u32(head, 8);
    if (order != pcap_magic::pcapng_order) {
      swapped_ = !swapped_;
      order = u32(head, 8);
    }
    if (order != pcap_magic::pcapng_order) {
      return corrupt("a section header without a byte order");
    }
    const uint32_t total = u32(head, 4);
    if (!possible(total, least)) {
      return impossible("a section header", total);
    }
    const Bytes version = input_.look(16);
    if (version.size() < 16) {
      return cut(input_.offset(), total, version.size());
    }
    if (u16(version, 12) != 1) {
      return corrupt(fmt::format("a section of version {}.{}; 1.0 can be read", u16(version, 12),
                                 u16(version, 14)));
    }
    interfaces_.clear();
    return pass_over(total);
  }

  // Skips a block without holding it; the length at its end has to agree.
  Frame pass_over(uint32_t total) {
    if (!possible(total, block_frame)) {
      return impossible("a block", total);
    }
    const uint64_t start = input_.offset();
    if (!input_.skip(total - 4)) {
      return cut(start, total, input_.offset() - start);
    }
    const Bytes tail = input_.look(4);
    if (tail.size() < 4) {
      return cut(start, total, total - 4 + tail.size());
    }
    if (u32(tail, 0) != total) {
      return corrupt(fmt::format("a block says that it has {} bytes at its start and {} at its end",
                                 total, u32(tail, 0)));
    }
    behind_ = 4;
    return std::nullopt;
  }

  Frame interface(uint32_t total) {
    constexpr size_t least = 20;
    if (!possible(total, least)) {
      return impossible("an interface description", total);
    }
    if (total > Input::largest_look) {
      return corrupt(fmt::format("an interface description of {} bytes", total));
    }
    const Bytes whole = input_.look(total);
    if (whole.size() < total) {
      return cut(input_.offset(), total, whole.size());
    }
    if (interfaces_.size() == most_interfaces) {
      return corrupt(fmt::format("more than {} interfaces", most_interfaces));
    }
    if (const uint32_t link_type = u16(whole, 8); link_type != link_type_ethernet) {
      return not_ethernet(link_type);
    }
    const Unit unit = read_unit(whole.first(total - 4));
    if (interfaces_.empty() && frames_ == 0 && unit.finer_than_micro()) {
      precision_ = Precision::nano;
    }
    interfaces_.push_back(unit);
    return pass_over(total);
  }

  Unit read_unit(Bytes body) const {
    Unit unit{.snap_length = u32(body, 12)};
    for (size_t at = 16; at + 4 <= body.size();) {
      const uint16_t code = u16(body, at);
      const uint16_t length = u16(body, at + 2);
      at += 4;
      if (code == option::end || length > body.size() - at) {
        break;
      }
      if (code == option::resolution && length >= 1) {
        unit.resolution = static_cast<uint8_t>(body[at]);
      } else if (code == option::offset && length >= 8) {
        unit.offset_s = static_cast<int64_t>(u64(body, at));
      }
      at += (length + 3u) & ~3u;
    }
    return unit;
  }

  Fields enhanced(Bytes head) const {
    return {u32(head, 8), u32(head, 20), u32(head, 24),
            static_cast<uint64_t>(u32(head, 12)) << 32 | u32(head, 16)};
  }

  Fields obsolete(Bytes head) const {
    Fields fields = enhanced(head);
    fields.interface = u16(head, 8);  // the other 16 bits count drops
    return fields;
  }

  // Has neither an interface (the first) nor a time (that of the frame before).
  Fields simple(Bytes head) const {
    const uint32_t original = u32(head, 8);
    const uint32_t snap = interfaces_.empty() ? 0 : interfaces_.front().snap_length;
    return {0, snap != 0 ? std::min(original, snap) : original, original, std::nullopt};
  }

  Frame packet(uint32_t total, size_t head_size, Fields (Pcapng::*read)(Bytes) const) {
    if (!possible(total, head_size + 4)) {
      return impossible("a packet block", total);
    }
    const Bytes head = input_.look(head_size);
    if (head.size() < head_size) {
      return cut(input_.offset(), total, head.size());
    }
    const Fields fields = (this->*read)(head);
    if (fields.interface >= interfaces_.size()) {
      return corrupt(fmt::format("a frame of interface {}, and {} are described", fields.interface,
                                 interfaces_.size()));
    }
    if (fields.length > CaptureReader::largest_frame || fields.length > total - head_size - 4) {
      return corrupt(fmt::format("a frame of {} bytes in a block of {}", fields.length, total));
    }
    const Bytes record = input_.look(head_size + fields.length);
    if (record.size() < head_size + fields.length) {
      return cut(input_.offset(), total, record.size());
    }
    if (fields.ticks) {
      time_ns_ = interfaces_[fields.interface].to_ns(*fields.ticks);
    }
    given_out_ = total;
    frames_++;
    return CapturedFrame{.time_ns = time_ns_,
                         .original_length = fields.original,
                         .bytes = record.subspan(head_size, fields.length)};
  }

  std::vector<Unit> interfaces_;
  uint64_t time_ns_ = 0;
  uint32_t given_out_ = 0;  // length of the packet block whose frame the caller holds
  uint32_t behind_ = 0;     // bytes of the Input that are done with
};

}  // namespace

std::unique_ptr<CaptureReader::Format> open_pcapng(Input input, std::string name) {
  return std::make_unique<Pcapng>(std::move(input), std::move(name));
}

}  // namespace fairlead::engine
