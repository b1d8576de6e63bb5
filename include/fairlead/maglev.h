// SPDX-License-Identifier: MIT
// Maglev hashing (Eisenbud et al., NSDI '16) for other programs: which of several backends a key
// belongs to, so that shares follow the weights, few keys move when a backend comes or goes, and
// everybody who knows the same names, weights and seed finds the same, without talking.
//
//   fairlead::Maglev maglev({{"cache-1"}, {"cache-2", 3}, {"cache-3"}});
//   if (auto index = maglev.lookup(hash_of_key)) send_to(*index);
//
// Threads: lookup() and the other const functions may run in any number of threads; set_usable(),
// set_weight() and rebuild() while nobody else uses the object. C++17.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead {

class Maglev {
 public:
  struct Backend {
    Backend(std::string its_name, std::uint32_t its_weight = 1, bool is_usable = true)
        : name(std::move(its_name)), weight(its_weight), usable(is_usable) {}

    std::string name;      // who it is; decides which keys it gets, together with the seed
    std::uint32_t weight;  // its part of all weights is its part of all keys; 0: none
    bool usable;
  };

  // How slots are handed out. Both are exact in their shares; `lines` is built several times
  // faster.
  enum class Fill { paper, lines };

  struct Options {
    std::uint32_t size =
        65'537;              // slots: a prime, 2 to 1,048,573, best 100 times the backends or more
    std::uint64_t seed = 0;  // other seeds give other tables
    Fill fill = Fill::lines;
  };

  // Throws std::invalid_argument if `size` is none, a name is there twice, or there are more than
  // 65,535 backends. The table is built over those that are usable.
  explicit Maglev(std::vector<Backend> backends);
  Maglev(std::vector<Backend> backends, Options options);

  // The backend of a key, as its index; nothing if no backend can be had. `hash` is to be spread
  // evenly over all its 64 bits, and its upper half decides: see hash().
  //
  // A slot whose owner is not usable any more is skipped, forward to the first owner that is, so no
  // key of a usable backend moves. Rebuild soon after: skipping is uneven.
  std::optional<std::size_t> lookup(std::uint64_t hash) const {
    const std::size_t owner = owners_.empty() ? none : owners_[slot_of(hash)];
    if (owner != none && backends_[owner].usable) return owner;
    return skip_from(slot_of(hash));
  }

  // Seen by the next lookup(); the table stays until rebuild().
  void set_usable(std::size_t backend, bool usable) { backends_.at(backend).usable = usable; }
  // Seen after rebuild().
  void set_weight(std::size_t backend, std::uint32_t weight) {
    backends_.at(backend).weight = weight;
  }

  // Hands out the slots anew to the backends that are usable now.
  void rebuild();

  const std::vector<Backend>& backends() const { return backends_; }
  // The owner of every slot as an index into backends(); empty if nobody could own one.
  const std::vector<std::uint16_t>& table() const { return owners_; }
  std::uint32_t size() const { return options_.size; }

  // A hash for keys that have none, the same everywhere and for ever. Not for keys that an enemy
  // chooses.
  static std::uint64_t hash(std::string_view key, std::uint64_t seed = 0);

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  std::size_t slot_of(std::uint64_t hash) const {
    return static_cast<std::size_t>((hash >> 32) * owners_.size() >> 32);
  }
  std::optional<std::size_t> skip_from(std::size_t slot) const;

  std::vector<Backend> backends_;
  Options options_;
  std::vector<std::uint64_t> identities_;  // by backend
  std::vector<std::uint16_t> owners_;
};

}  // namespace fairlead
