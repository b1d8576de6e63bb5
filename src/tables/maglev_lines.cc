// SPDX-License-Identifier: MIT
// A Maglev table filled in lines: the same quotas as the paper's fill, as few slots that move, in a
// tenth of the time.
//
// Lines instead of slots. 64 slots are one word of a bitmap of free slots, and a word falls into 4
// lines of 16 slots. How it falls depends on the backend's family: slot s, as a vector over GF(2),
// belongs to line f0(s) + 2 * f1(s), with two independent linear functionals of the family, so that
// lines of different families meet in few slots. A backend's list names lines, and a visit takes
// all free slots of one, as far as the quota goes: one AND instead of a walk over taken slots.
//
// A clock instead of turns. A backend walks its list whether or not it wins anything, so where it
// is does not depend on the others, and if one of them goes the rest meet in the order they met
// before. Visit n of P of a backend with weight w is due at
//     (1/P + 1/(P-1) + ... + 1/(P-n+1)) / w,
// the mean of the n-th smallest of P exponential times of rate w: of competing exponential times
// each is the first with a probability that is proportional to its rate, so that the weights come
// out nearly by themselves and few are stopped by their quota. With evenly spaced visits the heavy
// ones would be, and 2.5 times as many slots would move. Equal times: the greater weight, then the
// lesser identity. Equal weights thus simply go round.
//
// The last 0.5 % of the slots, for which most visits would find nothing, each go to that backend
// with room whose hash with the slot is least.
#include <algorithm>
#include <array>
#include <bit>
#include <queue>

#include "tables/maglev.h"
#include "tables/maglev_fill.h"

namespace fairlead::tables {
namespace {

constexpr uint32_t lines_per_word = 4;
constexpr uint32_t families = 64;

// The functionals are b^i and b^(i+1) for family i, b a primitive element of GF(64) (x^6 + x + 1):
// neighbours are always independent.
constexpr auto line_masks = [] {
  std::array<std::array<uint64_t, lines_per_word>, families> masks{};
  auto times_b = [](uint32_t v) { return (v << 1 ^ (v & 0x20 ? 0x43 : 0)) & 0x3f; };
  uint32_t f0 = 1;
  for (auto& family : masks) {
    const uint32_t f1 = times_b(f0);
    for (uint32_t s = 0; s < 64; s++) {
      const uint32_t line =
          static_cast<uint32_t>(std::popcount(s & f0) % 2 + 2 * (std::popcount(s & f1) % 2));
      family[line] |= uint64_t{1} << s;
    }
    f0 = f1;
  }
  return masks;
}();

struct Walker {
  uint64_t identity;
  uint32_t position;  // the next line of its list: word and line in the word
  uint32_t skip;
  uint32_t left;  // of its quota
  uint16_t owner;
  uint16_t family;
};

// Backends of one weight, which are always due together.
struct Group {
  uint32_t weight;
  uint32_t visits;       // made so far, the next one included
  uint32_t time;         // when that is due, times weight
  uint32_t first, last;  // its walkers that have room: [first, last)
};

struct DueLater {
  bool operator()(const Group& a, const Group& b) const {
    const uint64_t left = uint64_t{a.time} * b.weight;
    const uint64_t right = uint64_t{b.time} * a.weight;
    return left != right ? left > right : a.weight < b.weight;
  }
};

class Filling {
 public:
  Filling(std::span<const Claim> claims, uint32_t size)
      : size_(size), words_((size + 63) / 64), prime_(lines_per_word * words_), free_slots_(size) {
    while (!is_prime(prime_)) prime_++;
    // Positions behind the last word name lines without a slot.
    free_.resize(prime_ / lines_per_word + 1);
    std::fill_n(free_.begin(), words_, ~uint64_t{0});
    free_[words_ - 1] >>= words_ * 64 - size;
    table_.resize(size);
    join(claims);
  }

  std::vector<uint16_t> run() {
    const uint32_t rest = size_ / 200;
    while (free_slots_ > rest) {
      Group group = queue_.top();
      queue_.pop();
      go_round(group);
      if (group.first == group.last) continue;
      // Who has room after all P visits would have taken every free slot, so P - visits > 0. The
      // sum, in units of 2^-28, stays below 2^32 for every size, and grows with each visit.
      group.time += (1u << 28) / (prime_ - group.visits);
      group.visits++;
      queue_.push(group);
    }
    give_the_rest();
    return std::move(table_);
  }

 private:
  void join(std::span<const Claim> claims) {
    std::vector<Claim> order(claims.begin(), claims.end());
    std::ranges::stable_sort(order, std::ranges::greater{}, &Claim::weight);
    walkers_.reserve(order.size());
    for (uint32_t begin = 0, end; begin < order.size(); begin = end) {
      for (end = begin; end < order.size() && order[end].weight == order[begin].weight; end++) {
        const Claim& claim = order[end];
        const uint64_t hash = mix(claim.identity);
        walkers_.push_back({.identity = claim.identity,
                            .position = below(prime_, static_cast<uint32_t>(hash)),
                            .skip = 1 + below(prime_ - 1, static_cast<uint32_t>(hash >> 32)),
                            .left = claim.quota,
                            .owner = claim.owner,
                            .family = static_cast<uint16_t>(hash % families)});
      }
      queue_.push({order[begin].weight, 1, (1u << 28) / prime_, begin, end});
    }
  }

  // One visit of each; those whose quota is reached drop out.
  void go_round(Group& group) {
    uint32_t kept = group.first;
    for (uint32_t i = group.first; i < group.last; i++) {
      visit(walkers_[i]);
      if (walkers_[i].left == 0) continue;
      if (kept != i) walkers_[kept] = walkers_[i];
      kept++;
    }
    group.last = kept;
  }

  void visit(Walker& walker) {
    const uint32_t word = walker.position / lines_per_word;
    const uint64_t line = line_masks[walker.family][walker.position % lines_per_word];
    walker.position += walker.skip;
    if (walker.position >= prime_) walker.position -= prime_;
    const uint64_t open = free_[word] & line;
    if (open != 0) take(word, open, walker);
  }

  // The first slots of these, as many as the quota allows.
  void take(uint32_t word, uint64_t slots, Walker& walker) {
    uint32_t count = static_cast<uint32_t>(std::popcount(slots));
    for (; count > walker.left; count--) slots ^= std::bit_floor(slots);
    free_[word] ^= slots;
    free_slots_ -= count;
    walker.left -= count;
    uint16_t* const owners = &table_[word * 64];
    for (; slots != 0; slots &= slots - 1) owners[std::countr_zero(slots)] = walker.owner;
  }

  void give_the_rest() {
    std::vector<Walker*> live;
    for (; !queue_.empty(); queue_.pop()) {
      const Group& group = queue_.top();
      for (uint32_t i = group.first; i < group.last; i++) live.push_back(&walkers_[i]);
    }
    for (uint32_t word = 0; word < words_; word++) {
      for (uint64_t open = free_[word]; open != 0; open &= open - 1) {
        const uint32_t slot = word * 64 + static_cast<uint32_t>(std::countr_zero(open));
        const uint64_t salt = mix(slot + 1);
        // Different identities have different hashes, so nothing depends on the order of `live`.
        const auto least = std::ranges::min_element(
            live, {}, [salt](const Walker* walker) { return mix(walker->identity ^ salt); });
        take(word, open & -open, **least);
        if ((*least)->left == 0) live.erase(least);
      }
    }
  }

  uint32_t size_, words_;
  uint32_t prime_;  // length of every list
  uint32_t free_slots_;
  std::vector<uint64_t> free_;  // by word
  std::vector<uint16_t> table_;
  std::vector<Walker> walkers_;
  std::priority_queue<Group, std::vector<Group>, DueLater> queue_;
};

}  // namespace

std::vector<uint16_t> fill_lines(std::span<const Claim> claims, uint32_t size) {
  return Filling(claims, size).run();
}

}  // namespace fairlead::tables
