// SPDX-License-Identifier: MIT
// Any bytes as a capture file: the reader ends, stays inside its memory, and gives out frames
// within its bound. Reading the same bytes through a pipe-like descriptor is pcap_test's business.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "engine/io/pcap.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using fairlead::engine::CaptureReader;
  auto reader = CaptureReader::from_memory("fuzz", std::as_bytes(std::span(data, size)));
  if (!reader) {
    return 0;
  }
  size_t bytes = 0;
  for (;;) {
    const auto frame = reader->next();
    if (!frame || !*frame) {
      break;
    }
    volatile uint8_t sum = 0;  // read every byte, for AddressSanitizer to see
    for (const std::byte byte : (*frame)->bytes) {
      sum = static_cast<uint8_t>(sum + static_cast<uint8_t>(byte));
    }
    bytes += (*frame)->bytes.size();
    if ((*frame)->bytes.size() > CaptureReader::largest_frame || bytes > size) {
      std::abort();
    }
  }
  const auto behind = reader->next();
  if (!behind || *behind) {
    std::abort();
  }
  return 0;
}
