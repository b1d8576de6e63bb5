// SPDX-License-Identifier: MIT
// LibbpfLog: see libbpf_log.h.
#include "engine/bpf/libbpf_log.h"

#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <xdp/libxdp.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <vector>

namespace fairlead::engine {
namespace {

constexpr size_t most_text = 1 << 20;
constexpr size_t verdict_lines = 3;

thread_local LibbpfLog* current = nullptr;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (const std::string_view line = text.substr(0, end); !line.empty()) {
      lines.push_back(line);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

struct LibbpfSink {
  [[gnu::format(printf, 1, 0)]] static void write(const char* format, va_list arguments) {
    if (current == nullptr) {
      return;
    }
    va_list again;
    va_copy(again, arguments);
    const int size = std::vsnprintf(nullptr, 0, format, arguments);
    if (size > 0) {
      std::string message(static_cast<size_t>(size), '\0');
      std::vsnprintf(message.data(), message.size() + 1, format, again);
      current->add(std::move(message));
    }
    va_end(again);
  }

  [[gnu::format(printf, 2, 0)]] static int from_libbpf(libbpf_print_level level, const char* format,
                                                       va_list arguments) {
    if (level != LIBBPF_DEBUG) {
      write(format, arguments);
    }
    return 0;
  }
  [[gnu::format(printf, 2, 0)]] static int from_libxdp(libxdp_print_level level, const char* format,
                                                       va_list arguments) {
    if (level != LIBXDP_DEBUG) {
      write(format, arguments);
    }
    return 0;
  }
};

LibbpfLog::LibbpfLog() : before_(current) {
  static std::once_flag once;
  std::call_once(once, [] {
    libbpf_set_print(&LibbpfSink::from_libbpf);
    libxdp_set_print(&LibbpfSink::from_libxdp);
  });
  current = this;
}

LibbpfLog::~LibbpfLog() { current = before_; }

void LibbpfLog::add(std::string message) {
  text_ += message;
  if (text_.size() > most_text) {
    text_.erase(0, text_.size() - most_text);
  }
}

std::string LibbpfLog::verdict() const {
  constexpr std::string_view end_mark = "-- END PROG LOAD LOG --";
  constexpr std::string_view begin_mark = "-- BEGIN PROG LOAD LOG --";
  const size_t end = text_.rfind(end_mark);
  if (end == std::string::npos) {
    return {};
  }
  const size_t begin = text_.rfind(begin_mark, end);
  const size_t from = begin == std::string::npos ? 0 : begin + begin_mark.size();
  auto lines = lines_of(std::string_view(text_).substr(from, end - from));
  // The reason stands in front of the statistics.
  std::erase_if(lines, [](std::string_view line) {
    return line.starts_with("processed ") || line.starts_with("verification time") ||
           line.starts_with("stack depth") || line.starts_with("; ");
  });
  const size_t skipped = lines.size() > verdict_lines ? lines.size() - verdict_lines : 0;
  return fmt::format(
      "{}", fmt::join(lines.begin() + static_cast<ptrdiff_t>(skipped), lines.end(), " | "));
}

std::string LibbpfLog::kernel_message() const {
  constexpr std::string_view mark = "Kernel error message: ";
  const size_t at = text_.rfind(mark);
  if (at == std::string::npos) {
    return {};
  }
  const size_t from = at + mark.size();
  return text_.substr(from, std::min(text_.find('\n', from), text_.size()) - from);
}

}  // namespace fairlead::engine
