// SPDX-License-Identifier: MIT
// The files that a replay writes. One thread.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "engine/io/pcap.h"
#include "engine/replay/replay.h"
#include "engine/replay/verdict_lines.h"

namespace fairlead::replay {

class Outputs {
 public:
  // Error: one of them cannot be written, or is the input or another output as well.
  static Result<Outputs> create(const Options& options, engine::Precision precision);

  Result<void> left(uint64_t time_ns, std::span<const std::byte> frame);
  Result<void> passed(uint64_t time_ns, std::span<const std::byte> frame);
  Result<void> line(const VerdictLines& lines, const VerdictLines::Frame& frame);
  Result<void> close();  // without it a file may lack its end

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  Outputs(const Options& options, engine::CaptureWriter out);
  Result<void> flush();

  engine::CaptureWriter out_;
  std::optional<engine::CaptureWriter> passed_;
  std::string json_path_;
  std::unique_ptr<std::FILE, Closer> json_;
  std::unique_ptr<fmt::memory_buffer> text_;
};

}  // namespace fairlead::replay
