// SPDX-License-Identifier: MIT
// Writes lines to a descriptor and never waits: what cannot be written now is left out. Whoever
// reads a log, a pipe to a collector or a terminal that is stopped, must not stop the daemon.
//
// A pipe or terminal is opened a second time, for itself: O_NONBLOCK on the descriptor that was
// handed over would concern all who share it. A pipe without a reader raises SIGPIPE, which a
// daemon ignores. One thread at a time.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"

namespace fairlead {

class LineWriter {
 public:
  explicit LineWriter(int fd);  // not owned

  // False if the line was left out. One of which a part was written is finished before the next.
  bool write(std::string_view line);

 private:
  ssize_t write_some(std::string_view bytes);
  bool finish();

  int fd_;
  bool socket_ = false;
  Fd own_;
  std::string rest_;  // of a line that was begun
};

}  // namespace fairlead
