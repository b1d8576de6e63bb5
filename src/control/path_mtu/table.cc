// SPDX-License-Identifier: MIT
#include "control/path_mtu/table.h"

#include <algorithm>
#include <utility>

#include "control/config/limits.h"
#include "control/config/mtu.h"
#include "control/limits.h"

namespace fairlead::path_mtu {
namespace {

// RFC 1191 section 7, as far as our packets and the least MTU let it matter.
constexpr std::array<uint32_t, 8> plateaus{32'000, 17'914, 8'166, 4'352, 2'002, 1'492, 1'006, 576};

uint32_t plateau_below(uint32_t length) {
  const auto found = std::ranges::find_if(plateaus, [&](uint32_t mtu) { return mtu < length; });
  return found == plateaus.end() ? 0 : *found;
}

}  // namespace

Targets targets_of(const tables::Snapshot& snapshot) {
  Targets targets;
  for (const tables::Pool& pool : snapshot.pools) {
    if (!config::is_tunnel(pool.method)) continue;
    for (const tables::Member& member : pool.members) {
      targets[{member.identity.family, member.identity.address}] |= bit_of(pool.method);
    }
  }
  return targets;
}

const char* name_of(Table::Result result) {
  switch (result) {
    case Table::Result::lowered: return "lowered";
    case Table::Result::known: return "known";
    case Table::Result::ignored: break;
  }
  return "ignored";
}

Table::Table(std::vector<IpAddress> own, uint32_t network_mtu)
    : own_(std::move(own)), network_mtu_(network_mtu) {}

void Table::want(Targets targets) {
  targets_ = std::move(targets);
  const auto gone = [&](const IpAddress& backend) { return !targets_.contains(backend); };
  std::erase_if(entries_, [&](const auto& entry) { return gone(entry.first); });
  std::erase_if(waiting_, gone);
}

Changes Table::step(Time now, const std::optional<TooBig>& message) {
  Changes changes;
  expire(now, changes);
  if (message) counts_[static_cast<size_t>(hear(now, *message))]++;
  if (waiting_.empty() || now < next_batch_) return changes;
  next_batch_ = now + limits::pace;
  for (const IpAddress& backend : std::exchange(waiting_, {})) {
    Entry& entry = entries_.at(backend);
    const uint32_t before = entry.in_force.mtu == 0 ? network_mtu_ : entry.in_force.mtu;
    entry.in_force = entry.heard;
    changes.push_back({backend, before, entry.heard.mtu, entry.heard.told_by});
  }
  return changes;
}

std::optional<Time> Table::deadline() const {
  if (waiting_.empty()) return sweep_;
  return sweep_ ? std::min(*sweep_, next_batch_) : next_batch_;
}

const Table::Known* Table::find(const IpAddress& backend) const {
  const auto found = entries_.find(backend);
  if (found == entries_.end() || found->second.in_force.mtu == 0) return nullptr;
  return &found->second.in_force;
}

Table::Result Table::hear(Time now, const TooBig& message) {
  const auto mtu = believable(message);
  if (!mtu) return Result::ignored;
  const auto found = entries_.find(message.destination);
  const uint32_t known = found == entries_.end() ? network_mtu_ : found->second.heard.mtu;
  if (*mtu > known || (*mtu == known && found == entries_.end())) return Result::ignored;
  const Time until = now + limits::lifetime;
  if (!sweep_) sweep_ = until;
  if (*mtu == known) {
    found->second.heard.until = until;
    return Result::known;
  }
  entries_[message.destination].heard = {*mtu, message.told_by, until};
  waiting_.insert(message.destination);
  return Result::lowered;
}

// The MTU that it tells, if all of it can be true.
std::optional<uint32_t> Table::believable(const TooBig& message) const {
  const auto target = targets_.find(message.destination);
  if (target == targets_.end() || !(target->second & bit_of(message.method)) ||
      std::ranges::find(own_, message.source) == own_.end() || message.length > network_mtu_) {
    return std::nullopt;
  }
  const bool v6 = message.destination.family == core::Family::v6;
  const uint32_t mtu = v6 || message.mtu != 0 ? message.mtu : plateau_below(message.length);
  const uint32_t least = v6 ? config::limits::ipv6_mtu : config::limits::smallest_mtu;
  return mtu >= least && mtu < message.length ? std::optional(mtu) : std::nullopt;
}

void Table::expire(Time now, Changes& changes) {
  if (!sweep_ || now < *sweep_) return;
  sweep_.reset();
  std::erase_if(entries_, [&](const auto& item) {
    const auto& [backend, entry] = item;
    if (entry.heard.until > now) {
      // Those of one second go together, however many there are.
      const Time next = std::max(entry.heard.until, now + limits::sweep);
      sweep_ = sweep_ ? std::min(*sweep_, next) : next;
      return false;
    }
    waiting_.erase(backend);
    if (entry.in_force.mtu != 0) {
      changes.push_back({backend, entry.in_force.mtu, network_mtu_, {}});
    }
    return true;
  });
}

}  // namespace fairlead::path_mtu
