// SPDX-License-Identifier: MIT
// The members of a pool, before anything is known of their health.
#pragma once

#include <cstdint>
#include <vector>

#include "control/config/includes.h"
#include "control/config/model.h"
#include "tables/snapshot.h"

namespace fairlead::controller {

// An entry of the file and the pool where it stands.
struct Entry {
  const config::Pool* pool;
  const config::Backend* backend;
};

struct MergedMember {
  tables::Identity identity;
  std::vector<Entry> entries;  // at least one; disabled ones are not among them
};

// Who a backend of the file is in a pool of this method (CONTRACT section 3).
tables::Identity identity_of(core::Method method, const config::Backend& backend);

// Of `pool` and all it includes, in the order of identities: family, address, port.
std::vector<MergedMember> members_of(const config::PoolIndex& index,
                                     const config::Services& services, uint32_t pool);

uint32_t weight_of(const MergedMember& member);   // the largest
bool is_draining(const MergedMember& member);     // all entries are
std::string name_of(const MergedMember& member);  // with the port if the entries agree on it

}  // namespace fairlead::controller
