// SPDX-License-Identifier: MIT
// What libbpf and libxdp print, caught: both write to stderr unless told otherwise, and the reason
// of a refusal (the verifier's log, the kernel's words about an interface) is only to be had there.
//
//   LibbpfLog log;                        // from here on, this thread's messages are kept in it
//   if (bpf_object__load(object) != 0) { ... log.text() ... }
//
// Messages of threads without a LibbpfLog are dropped. The newest LibbpfLog of a thread gets them.
#pragma once

#include <string>

namespace fairlead::engine {

class LibbpfLog {
 public:
  LibbpfLog();
  ~LibbpfLog();
  LibbpfLog(const LibbpfLog&) = delete;
  LibbpfLog& operator=(const LibbpfLog&) = delete;

  // All messages so far; of more than 1 MB the last part, which is where the verifier gives
  // reasons.
  const std::string& text() const { return text_; }

  // The last lines of the verifier's log, joined by " | "; empty if the verifier said nothing.
  std::string verdict() const;
  // What the kernel said about a netlink request (its extended acknowledgement); empty if nothing.
  std::string kernel_message() const;

 private:
  friend struct LibbpfSink;
  void add(std::string message);

  std::string text_;
  LibbpfLog* before_;
};

}  // namespace fairlead::engine
