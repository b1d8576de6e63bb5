// SPDX-License-Identifier: MIT
// The installed library: the same table as the packet path's, with names in the place of addresses.
// Depends on nothing but the standard library.
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "core/limits.h"
#include "fairlead/maglev.h"
#include "tables/maglev_fill.h"

namespace fairlead {
namespace {

namespace limits = core::limits;

void examine(const std::vector<Maglev::Backend>& backends, const Maglev::Options& options) {
  const std::uint32_t size = options.size;
  if (size < limits::smallest_table || size > limits::largest_table || !tables::is_prime(size)) {
    throw std::invalid_argument("fairlead::Maglev: size " + std::to_string(size) +
                                " is not a prime from 2 to 1048573");
  }
  if (backends.size() > limits::backends) {
    throw std::invalid_argument("fairlead::Maglev: " + std::to_string(backends.size()) +
                                " backends, at most 65535 are possible");
  }
  std::unordered_set<std::string> names;
  for (const Maglev::Backend& backend : backends) {
    if (!names.insert(backend.name).second) {
      throw std::invalid_argument("fairlead::Maglev: backend \"" + backend.name +
                                  "\" is there twice");
    }
  }
}

}  // namespace

Maglev::Maglev(std::vector<Backend> backends) : Maglev(std::move(backends), Options{}) {}

Maglev::Maglev(std::vector<Backend> backends, Options options)
    : backends_(std::move(backends)), options_(options) {
  examine(backends_, options_);
  for (const Backend& backend : backends_) {
    identities_.push_back(hash(backend.name, options_.seed));
  }
  rebuild();
}

void Maglev::rebuild() {
  std::vector<tables::MaglevBackend> wanted;
  for (std::size_t i = 0; i < backends_.size(); i++) {
    wanted.push_back({identities_[i], backends_[i].usable ? backends_[i].weight : 0});
  }
  const auto claims = tables::make_claims(wanted, options_.size);
  if (claims.empty()) {
    owners_.clear();
  } else {
    owners_ = options_.fill == Fill::paper ? tables::fill_paper(claims, options_.size)
                                           : tables::fill_lines(claims, options_.size);
  }
}

std::optional<std::size_t> Maglev::skip_from(std::size_t slot) const {
  for (std::size_t i = 0; i < owners_.size(); i++) {
    const std::size_t owner = owners_[slot];
    if (backends_[owner].usable) return owner;
    if (++slot == owners_.size()) slot = 0;
  }
  return std::nullopt;
}

// FNV-1a takes in the bytes, the mixer spreads them; the seed stands before and behind.
std::uint64_t Maglev::hash(std::string_view key, std::uint64_t seed) {
  std::uint64_t h = 0xcbf29ce484222325 ^ tables::mix(seed);
  for (const char c : key) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return tables::mix(h ^ seed ^ key.size());
}

}  // namespace fairlead
