// SPDX-License-Identifier: MIT
// CaptureReader and CaptureWriter: see pcap.h. The formats are in pcap_classic.cc and pcap_ng.cc.
#include "engine/io/pcap.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/io/pcap_format.h"

namespace fairlead::engine {
namespace {

static_assert(std::endian::native == std::endian::little, "files are written as memory has them");

constexpr uint32_t snap_length = CaptureReader::largest_frame;

std::string not_a_capture(const std::string& name, uint32_t magic) {
  if ((magic & 0xffff) == 0x8b1f) {
    return fmt::format("{}: is compressed; unpack it with gunzip first", name);
  }
  return fmt::format("{}: is neither pcap nor pcapng (it begins with {:#010x})", name,
                     std::byteswap(magic));
}

}  // namespace

CaptureReader::CaptureReader(std::unique_ptr<Format> format) : format_(std::move(format)) {}
CaptureReader::CaptureReader(CaptureReader&&) noexcept = default;
CaptureReader& CaptureReader::operator=(CaptureReader&&) noexcept = default;
CaptureReader::~CaptureReader() = default;

Result<CaptureReader> CaptureReader::open(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    return failure(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  }
  return start(Input(std::move(file)), path);
}

Result<CaptureReader> CaptureReader::from_memory(std::string name,
                                                 std::span<const std::byte> memory) {
  return start(Input(memory), std::move(name));
}

Result<CaptureReader> CaptureReader::start(Input input, std::string name) {
  const auto head = input.look(sizeof(uint32_t));
  if (input.error() != 0) {
    return failure(fmt::format("{}: cannot be read: {}", name, std::strerror(input.error())));
  }
  if (head.size() < sizeof(uint32_t)) {
    return failure(fmt::format("{}: is no capture: it has {} bytes", name, head.size()));
  }
  uint32_t magic = 0;
  std::memcpy(&magic, head.data(), sizeof magic);
  const auto is = [magic](uint32_t known) {
    return magic == known || magic == std::byteswap(known);
  };
  std::unique_ptr<Format> format;
  if (is(pcap_magic::micro) || is(pcap_magic::nano)) {
    format = open_classic(std::move(input), std::move(name));
  } else if (magic == pcap_magic::pcapng) {
    format = open_pcapng(std::move(input), std::move(name));
  } else {
    return failure(not_a_capture(name, magic));
  }
  CaptureReader reader(std::move(format));
  auto first = reader.format_->next();
  if (!first) {
    return std::unexpected(first.error());
  }
  reader.first_ = *first;
  return reader;
}

Result<std::optional<CapturedFrame>> CaptureReader::next() {
  if (first_) {
    return std::exchange(first_, std::nullopt);
  }
  return format_->next();
}

const std::string& CaptureReader::warning() const { return format_->warning(); }

Precision CaptureReader::precision() const { return format_->precision(); }

CaptureWriter::CaptureWriter(std::string path, Precision precision, std::FILE* file)
    : path_(std::move(path)), precision_(precision), file_(file) {}

Result<CaptureWriter> CaptureWriter::create(const std::string& path, Precision precision) {
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  if (file == nullptr) {
    return failure(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  }
  CaptureWriter writer(path, precision, file);
  const std::array<uint32_t, 6> header = {
      precision == Precision::nano ? pcap_magic::nano : pcap_magic::micro,
      2 | 4 << 16,  // version 2.4
      0,
      0,
      snap_length,
      link_type_ethernet,
  };
  if (std::fwrite(header.data(), sizeof header, 1, file) != 1) {
    return failure(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  }
  return writer;
}

Result<void> CaptureWriter::write(uint64_t time_ns, std::span<const std::byte> frame) {
  constexpr uint64_t latest_ns =
      std::numeric_limits<uint32_t>::max() * 1'000'000'000ULL + 999'999'999ULL;
  const uint64_t time = std::min(time_ns, latest_ns);
  const uint64_t part = time % 1'000'000'000;
  const auto length = static_cast<uint32_t>(frame.size());
  const std::array<uint32_t, 4> header = {
      static_cast<uint32_t>(time / 1'000'000'000),
      static_cast<uint32_t>(precision_ == Precision::nano ? part : part / 1000),
      length,
      length,
  };
  if (std::fwrite(header.data(), sizeof header, 1, file_.get()) != 1 ||
      std::fwrite(frame.data(), 1, frame.size(), file_.get()) != frame.size()) {
    return failure(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
  }
  return {};
}

Result<void> CaptureWriter::close() {
  if (std::FILE* file = file_.release(); file != nullptr && std::fclose(file) != 0) {
    return failure(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
  }
  return {};
}

}  // namespace fairlead::engine
