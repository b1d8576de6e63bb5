// SPDX-License-Identifier: MIT
// Capture files. The reader takes classic pcap (draft-ietf-opsawg-pcap; either byte order, micro-
// and nanoseconds) and pcapng (draft-ietf-opsawg-pcapng: sections, interfaces with if_tsresol and
// if_tsoffset, enhanced, simple and obsolete packet blocks; every other block is skipped), one
// frame at a time. Only Ethernet: another link type anywhere is an error.
//
// Captures are untrusted and often damaged. Frames that are whole are always given out. A capture
// that just ends too early then ends with a warning(); one whose lengths contradict each other ends
// with an Error that names the offset. Memory is bounded: a frame longer than `largest_frame` (the
// bound of libpcap, too) is damage. One thread a reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "engine/io/input.h"

namespace fairlead::engine {

enum class Precision { micro, nano };

struct CapturedFrame {
  uint64_t time_ns = 0;          // since 1970
  uint32_t original_length = 0;  // on the wire; `bytes` may have been cut by the snap length
  std::span<const std::byte> bytes;
};

class CaptureReader {
 public:
  static constexpr uint32_t largest_frame = 262'144;

  // Reads on to the first frame, so that a file that is no Ethernet capture is refused here.
  static Result<CaptureReader> open(const std::string& path);
  // The same from memory, which must outlive the reader. `name` is for messages.
  static Result<CaptureReader> from_memory(std::string name, std::span<const std::byte> memory);

  CaptureReader(CaptureReader&&) noexcept;
  CaptureReader& operator=(CaptureReader&&) noexcept;
  ~CaptureReader();

  // The next frame, whose bytes stay valid until the next call; nothing at the end. After an error
  // there is nothing more.
  Result<std::optional<CapturedFrame>> next();

  // What was wrong with a capture that ended too early; empty if it was whole. Known at the end.
  const std::string& warning() const;
  // Nanoseconds if the file, or its first interface, has a finer clock than microseconds.
  Precision precision() const;

  class Format;

 private:
  explicit CaptureReader(std::unique_ptr<Format> format);
  static Result<CaptureReader> start(Input input, std::string name);

  std::unique_ptr<Format> format_;
  std::optional<CapturedFrame> first_;  // read by open()
};

// Writes a classic pcap file, Ethernet, little endian. Without close() the file may lack its end.
class CaptureWriter {
 public:
  static Result<CaptureWriter> create(const std::string& path, Precision precision);
  CaptureWriter(CaptureWriter&&) noexcept = default;
  CaptureWriter& operator=(CaptureWriter&&) noexcept = default;

  // Times that the file cannot hold (beyond 2106) are written as the last one that it can.
  Result<void> write(uint64_t time_ns, std::span<const std::byte> frame);
  Result<void> close();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  CaptureWriter(std::string path, Precision precision, std::FILE* file);

  std::string path_;
  Precision precision_;
  std::unique_ptr<std::FILE, Closer> file_;
};

}  // namespace fairlead::engine
