// SPDX-License-Identifier: MIT
// Small integers for things that come and go. A thing keeps its id while it exists. After it has
// gone the id rests for the quarantine, since connections may still name it; a thing that returns
// before somebody else got its id has it again.
//
// Changes come in two steps, so that a snapshot that does not fit leaves no trace: propose() names
// all things there are, then commit() lets the others go, or abort() forgets the proposal. One
// thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace fairlead::tables {

struct AssignedIds {
  std::vector<uint32_t> ids;       // by position in `keys`
  std::vector<uint32_t> fresh;     // those among them that are given out anew
  std::optional<size_t> repeated;  // position of a key that was there before it: then it is invalid
  uint32_t missing = 0;            // keys that got no id: then it is invalid
  bool valid() const { return !repeated && missing == 0; }
};

template <class Key, class Hash = std::hash<Key>>
class StableIds {
 public:
  // Ids are 1 .. capacity - 1; 0 is nobody's.
  explicit StableIds(uint32_t capacity) : capacity_(capacity) {}

  // The ids of these things, all of which exist from now on. Invalid ones are aborted already.
  AssignedIds propose(std::span<const Key> keys, uint64_t now_ms) {
    AssignedIds out;
    out.ids.resize(keys.size());
    proposal_++;
    for (size_t i = 0; i < keys.size(); i++) {
      const auto found = entries_.find(keys[i]);
      if (found == entries_.end()) continue;
      if (found->second.proposal == proposal_) out.repeated = i;
      found->second.proposal = proposal_;
      out.ids[i] = found->second.id;
    }
    for (size_t i = 0; i < keys.size() && !out.repeated; i++) {
      if (out.ids[i] != 0) continue;
      const uint32_t id = free_id(now_ms);
      if (id == 0) {
        out.missing++;
        continue;
      }
      const Entry entry{.id = id, .proposal = proposal_, .free_at_ms = now_ms};
      if (!entries_.emplace(keys[i], entry).second) {
        unused_.push_back(id);
        out.repeated = i;
      } else {
        out.ids[i] = id;
        out.fresh.push_back(id);
        created_.push_back(keys[i]);
      }
    }
    if (!out.valid()) abort();
    return out;
  }

  // The proposal holds. Ids of things that were not in it are free after the quarantine.
  void commit(uint64_t now_ms, uint64_t quarantine_ms) {
    for (auto& [key, entry] : entries_) {
      if (entry.proposal == proposal_) {
        entry.free_at_ms = never;
      } else if (entry.free_at_ms == never) {
        entry.free_at_ms = now_ms + quarantine_ms;
        resting_.push_back({key, entry.free_at_ms});
      }
    }
    created_.clear();
    passed_over_.clear();
    if (resting_.size() > 2 * entries_.size()) {
      std::erase_if(resting_, [this](const Resting& resting) { return is_stale(resting); });
    }
  }

  void abort() {
    for (; !created_.empty(); created_.pop_back()) {  // so that the least id is next again
      const auto found = entries_.find(created_.back());
      unused_.push_back(found->second.id);
      entries_.erase(found);
    }
    resting_.insert(resting_.begin(), passed_over_.begin(), passed_over_.end());
    passed_over_.clear();
  }

  // Ids that nobody can get at the moment: in use, or resting.
  size_t held() const { return entries_.size(); }
  // How many there are.
  uint32_t count() const { return capacity_ - 1; }

 private:
  static constexpr uint64_t never = ~uint64_t{0};

  struct Entry {
    uint32_t id;
    uint64_t proposal;    // the last one that named it
    uint64_t free_at_ms;  // never: it exists
  };
  struct Resting {
    Key key;
    uint64_t free_at_ms;  // differs from the entry's if it returned meanwhile
  };

  // It returned after it was put there.
  bool is_stale(const Resting& resting) const {
    const auto found = entries_.find(resting.key);
    return found == entries_.end() || found->second.free_at_ms != resting.free_at_ms;
  }

  // Ids that nobody had yet go first: the others rest as long as possible.
  uint32_t free_id(uint64_t now_ms) {
    if (!unused_.empty()) {
      const uint32_t id = unused_.back();
      unused_.pop_back();
      return id;
    }
    if (next_ < capacity_) return next_++;
    while (!resting_.empty() && resting_.front().free_at_ms <= now_ms) {
      const Resting resting = std::move(resting_.front());
      resting_.pop_front();
      const auto found = entries_.find(resting.key);
      if (found == entries_.end() || found->second.free_at_ms != resting.free_at_ms) continue;
      if (found->second.proposal == proposal_) {  // it returns, unless the proposal is aborted
        passed_over_.push_back(resting);
        continue;
      }
      const uint32_t id = found->second.id;
      entries_.erase(found);
      return id;
    }
    return 0;
  }

  uint32_t capacity_;
  uint32_t next_ = 1;
  uint64_t proposal_ = 0;
  std::unordered_map<Key, Entry, Hash> entries_;
  std::deque<Resting> resting_;  // in order of release
  std::vector<uint32_t> unused_;
  std::vector<Key> created_;          // by the proposal
  std::vector<Resting> passed_over_;  // while looking for ids for the proposal
};

}  // namespace fairlead::tables
