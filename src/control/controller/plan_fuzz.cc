// SPDX-License-Identifier: MIT
// Any services that the parser accepts can be planned: tables that name only usable members, none
// larger than was said, and the same again from the same input.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "control/config/address.h"
#include "control/config/parse.h"
#include "control/controller/plan.h"

namespace {

namespace config = fairlead::config;
namespace controller = fairlead::controller;

// As arbitrary as the input, and the same for the same backend.
controller::Health health_of(const config::Pool& pool, const config::Backend& backend) {
  return static_cast<controller::Health>(
      (backend.ip.bytes.word[0] + backend.port + pool.id.size()) % 3);
}

controller::NextHop next_hop_of(const config::IpAddress& address) {
  return {{2}, {2}, address.bytes.word[0] % 5 == 0 ? "no route" : ""};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  config::NodeConfig node;
  node.node.address = config::parse_address("192.0.2.11");
  node.node.address6 = config::parse_address("2001:db8:f::11");
  const auto services = config::parse_services(std::string(data, data + size), "f", node);
  if (!services) return 0;
  uint64_t slots = 0;
  for (const config::Pool& pool : services->pools) slots += pool.table_size;
  if (slots > 1'000'000) return 0;  // right, but slow

  const controller::Input input{node, *services, health_of, next_hop_of, {}, 1};
  const controller::Plan plan = controller::plan(input);
  for (size_t i = 0; i < plan.snapshot->pools.size(); i++) {
    const auto& pool = plan.snapshot->pools[i];
    fairlead::check(pool.table->empty() || pool.table->size() == services->pools[i].table_size,
                    "{} slots", pool.table->size());
    for (const uint16_t owner : *pool.table) {
      fairlead::check(owner < pool.members.size(), "owner {} of {}", owner, pool.members.size());
      const bool usable = pool.members[owner].line.flags & fairlead::core::backend_flag::takes_new;
      fairlead::check(usable || services->pools[i].on_down == config::OnDown::skip,
                      "member {} is not usable", owner);
    }
  }
  const controller::Plan again = controller::plan(input, plan.tables);
  fairlead::check(again.tables == plan.tables, "another plan from the same input");
  return 0;
}
