// SPDX-License-Identifier: MIT
#include "engine/replay/outputs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace fairlead::replay {
namespace {

constexpr size_t chunk = 64 * 1024;
constexpr const char* stdout_path = "/dev/stdout";
constexpr size_t longest = engine::CaptureReader::largest_frame;

std::unexpected<Error> not_writable(const std::string& path) {
  return failure(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
}

// Devices such as /dev/null may be named as often as one likes.
bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  if (std::filesystem::exists(a, none) && !std::filesystem::is_regular_file(a, none)) return false;
  return a == b || std::filesystem::equivalent(a, b, none);
}

Result<void> check_distinct(const Options& options) {
  std::vector<const std::string*> before = {&options.in};
  for (const std::string* path : {&options.out, &options.passed, &options.json}) {
    if (path->empty()) continue;
    for (const std::string* other : before) {
      if (is_same_file(*path, *other)) {
        return failure(fmt::format("{}: would be overwritten, since it is {}; name another file",
                                   *path,
                                   other == &options.in ? "the input" : "an output already"));
      }
    }
    before.push_back(path);
  }
  return {};
}

// Standard output as it is: opened by its name it would be cut where it goes to a file.
std::FILE* open_text(const std::string& path) {
  if (path != stdout_path) return std::fopen(path.c_str(), "we");
  Fd copy(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  std::FILE* file = copy ? ::fdopen(copy.get(), "w") : nullptr;
  if (file) std::ignore = copy.release();
  return file;
}

}  // namespace

Outputs::Outputs(const Options& options, engine::CaptureWriter out)
    : out_(std::move(out)),
      json_path_(options.json == "-" ? stdout_path : options.json),
      text_(std::make_unique<fmt::memory_buffer>()) {}

Result<Outputs> Outputs::create(const Options& options, engine::Precision precision) {
  if (auto distinct = check_distinct(options); !distinct) return std::unexpected(distinct.error());
  auto out = engine::CaptureWriter::create(options.out, precision);
  if (!out) return std::unexpected(out.error());
  Outputs outputs(options, std::move(*out));
  if (!options.passed.empty()) {
    auto passed = engine::CaptureWriter::create(options.passed, precision);
    if (!passed) return std::unexpected(passed.error());
    outputs.passed_ = std::move(*passed);
  }
  if (!options.json.empty()) {
    outputs.json_.reset(open_text(outputs.json_path_));
    if (!outputs.json_) return not_writable(outputs.json_path_);
  }
  return outputs;
}

Result<void> Outputs::left(uint64_t time_ns, std::span<const std::byte> frame) {
  // A frame as long as a capture can hold, and a tunnel: what does not fit is padding.
  return out_.write(time_ns, frame.first(std::min<size_t>(frame.size(), longest)));
}

Result<void> Outputs::passed(uint64_t time_ns, std::span<const std::byte> frame) {
  return passed_ ? passed_->write(time_ns, frame) : Result<void>();
}

Result<void> Outputs::line(const VerdictLines& lines, const VerdictLines::Frame& frame) {
  if (!json_) return {};
  lines.write(frame, *text_);
  return text_->size() < chunk ? Result<void>() : flush();
}

Result<void> Outputs::flush() {
  if (std::fwrite(text_->data(), 1, text_->size(), json_.get()) != text_->size()) {
    return not_writable(json_path_);
  }
  text_->clear();
  return {};
}

Result<void> Outputs::close() {
  if (auto closed = out_.close(); !closed) return closed;
  if (passed_) {
    if (auto closed = passed_->close(); !closed) return closed;
  }
  if (json_) {
    if (auto flushed = flush(); !flushed) return flushed;
    if (std::fclose(json_.release()) != 0) return not_writable(json_path_);
  }
  return {};
}

}  // namespace fairlead::replay
