// SPDX-License-Identifier: MIT
#include "engine/replay/verdict_lines.h"

#include <string_view>

#include "core/verdict.h"
#include "tables/snapshot.h"

namespace fairlead::replay {
namespace {

// A JSON string. Names are UTF-8, checked when the configuration was read.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string field(std::string_view key, std::string_view text) {
  return fmt::format(",\"{}\":{}", key, quoted(text));
}

std::string& at(std::vector<std::string>& names, uint32_t id) {
  if (id >= names.size()) names.resize(id + 1);
  return names[id];
}

std::string_view find(const std::vector<std::string>& names, uint32_t id) {
  return id < names.size() ? std::string_view(names[id]) : std::string_view();
}

void append(fmt::memory_buffer& to, std::string_view text) {
  to.append(text.data(), text.data() + text.size());
}

// Seconds with as many decimals as it takes, at least one.
void append_seconds(fmt::memory_buffer& to, int64_t time_ns) {
  const uint64_t ns =
      time_ns < 0 ? uint64_t{0} - static_cast<uint64_t>(time_ns) : static_cast<uint64_t>(time_ns);
  uint64_t part = ns % 1'000'000'000;
  int decimals = 9;
  while (decimals > 1 && part % 10 == 0) {
    part /= 10;
    decimals--;
  }
  fmt::format_to(fmt::appender(to), "{}{}.{:0{}}", time_ns < 0 ? "-" : "", ns / 1'000'000'000, part,
                 decimals);
}

}  // namespace

void VerdictLines::learn(const tables::Publisher& publisher) {
  const tables::Snapshot& snapshot = *publisher.snapshot();
  // Ids are dense and at most 65,535, the price of one sweep a change.
  for (uint32_t id = 1; id <= core::limits::backends; id++) {
    if (const auto name = publisher.backend(id); name.pool >= 0) {
      const tables::Pool& pool = snapshot.pools[static_cast<size_t>(name.pool)];
      const tables::Member& member = pool.members[static_cast<size_t>(name.member)];
      at(backends_, id) = field("pool", pool.id) + field("backend", member.name);
    }
    if (const int32_t index = publisher.vip(id); index >= 0) {
      at(vips_, id) = field("vip", snapshot.vips[static_cast<size_t>(index)].id);
    }
    if (const int32_t index = publisher.service(id); index >= 0) {
      const tables::Service& service = snapshot.services[static_cast<size_t>(index)];
      at(services_, id) = field("service", service.name());
      at(service_pools_, id) = field("pool", snapshot.pools[service.pool].id);
    }
  }
}

void VerdictLines::write(const Frame& frame, fmt::memory_buffer& to) const {
  const core::Outcome& outcome = frame.outcome;
  fmt::format_to(fmt::appender(to), "{{\"frame\":{},\"time\":", frame.number);
  append_seconds(to, frame.time_ns);
  append(to, ",\"verdict\":\"");
  append(to, core::name_of(core::verdict_of(outcome.reason)));
  append(to, "\",\"reason\":\"");
  append(to, core::name_of(outcome.reason));
  append(to, "\"");
  append(to, find(vips_, outcome.vip));
  append(to, find(services_, outcome.service));
  append(to, outcome.backend != 0 ? find(backends_, outcome.backend)
                                  : find(service_pools_, outcome.service));
  if (outcome.state != core::State::none) {
    append(to, ",\"state\":\"");
    append(to, core::name_of(outcome.state));
    append(to, "\"");
  }
  fmt::format_to(fmt::appender(to), ",\"worker\":{}", frame.worker);
  if (!frame.left.empty()) {
    fmt::format_to(fmt::appender(to), ",\"out\":[{}]", fmt::join(frame.left, ","));
  }
  append(to, "}\n");
}

}  // namespace fairlead::replay
