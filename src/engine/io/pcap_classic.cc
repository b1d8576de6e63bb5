// SPDX-License-Identifier: MIT
// Classic pcap: a header of 24 bytes, then records of 16 bytes and a frame each. The magic number
// tells byte order and precision.
#include <fmt/format.h>

#include "engine/io/pcap_format.h"

namespace fairlead::engine {
namespace {

constexpr size_t file_header = 24;
constexpr size_t record_header = 16;
constexpr uint64_t second_ns = 1'000'000'000;

class Classic final : public CaptureReader::Format {
 public:
  using Format::Format;

  Result<std::optional<CapturedFrame>> next() override {
    if (!started_) {
      started_ = true;
      if (auto started = start(); !started) {
        return std::unexpected(started.error());
      }
    }
    if (ended_) {
      return std::nullopt;
    }
    input_.skip(std::exchange(behind_, 0));
    Bytes header = input_.look(record_header);
    if (header.empty() && input_.error() == 0) {
      ended_ = true;
      return std::nullopt;
    }
    if (header.size() < record_header) {
      return cut(input_.offset(), record_header, header.size());
    }
    uint32_t length = u32(header, 8);
    uint32_t original = u32(header, 12);
    if (lengths_swapped_ && length > original) {
      std::swap(length, original);
    }
    if (length > CaptureReader::largest_frame) {
      return corrupt(fmt::format("a frame of {} bytes, more than the {} that any capture may have",
                                 length, CaptureReader::largest_frame));
    }
    const Bytes record = input_.look(record_header + length);
    if (record.size() < record_header + length) {
      return cut(input_.offset(), record_header + length, record.size());
    }
    behind_ = record_header + length;
    frames_++;
    const uint64_t part = u32(record, 4);
    return CapturedFrame{
        .time_ns =
            u32(record, 0) * second_ns + (precision_ == Precision::nano ? part : part * 1000),
        .original_length = original,
        .bytes = record.subspan(record_header, length),
    };
  }

 private:
  Result<void> start() {
    const Bytes header = input_.look(file_header);
    if (header.size() < file_header) {
      return corrupt(fmt::format("the file ends inside the header of {} bytes", file_header));
    }
    uint32_t magic = u32(header, 0);
    swapped_ = magic != pcap_magic::micro && magic != pcap_magic::nano;
    magic = u32(header, 0);
    precision_ = magic == pcap_magic::nano ? Precision::nano : Precision::micro;
    // Before 2.4 some writers had the two lengths of a record the other way round.
    lengths_swapped_ = u16(header, 4) == 2 && u16(header, 6) < 4;
    // The upper bits say whether frames end in a checksum, which then is a trailer like any other.
    const uint32_t link_type = u32(header, 20) & 0x03ff'ffff;
    if (link_type != link_type_ethernet) {
      return not_ethernet(link_type);
    }
    behind_ = file_header;
    return {};
  }

  bool started_ = false;
  bool lengths_swapped_ = false;
  size_t behind_ = 0;  // bytes of the Input that were given out
};

}  // namespace

std::unique_ptr<CaptureReader::Format> open_classic(Input input, std::string name) {
  return std::make_unique<Classic>(std::move(input), std::move(name));
}

}  // namespace fairlead::engine
