// SPDX-License-Identifier: MIT
#include "control/controller/view.h"

#include <utility>

#include "control/config/address.h"
#include "control/config/mtu.h"
#include "control/config/names.h"
#include "control/controller/controller.h"

namespace fairlead::controller {

const char* name_of(Health health) {
  switch (health) {
    case Health::up: return "up";
    case Health::down: return "down";
    case Health::unknown: break;
  }
  return "unknown";
}

void Histogram::add(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  count++;
  sum += seconds;
  for (size_t i = 0; i < bounds.size(); i++) {
    if (seconds <= bounds[i]) {
      counts[i]++;
      break;
    }
  }
}

namespace {

void tell(const HealthSource& source, Time now, const Controller::KnownOf& known,
          BackendView& view) {
  if (source.kind == HealthSource::Kind::always_up) view.reason = "not checked";
  if (source.kind == HealthSource::Kind::never_known) {  // counts as up, is shown as what it is
    view.health = Health::unknown;
    view.reason = "not checked: " + source.why;
  }
  if (source.kind != HealthSource::Kind::check) return;
  const health::Known* seen = known ? known(source.check) : nullptr;
  view.reason = seen ? seen->last.reason : "not checked yet";
  if (seen) view.since = now - seen->since;
}

}  // namespace

// Of two entries that are one member, the one that decides its health speaks, best one that knows.
BackendView Controller::view_of(Time now, MemberId id, const KnownOf& known) const {
  const tables::Member& member = active_->plan.snapshot->pools[id.pool].members[id.member];
  const Plan::Pool& pool = active_->plan.pools[id.pool];
  const MemberState& state = pool.states[id.member];
  BackendView view{.name = member.name,
                   .weight = member.weight,
                   .draining = state.draining,
                   .health = state.health};
  const HealthSource* speaker = nullptr;
  for (const Entry& entry : pool.members[id.member].entries) {
    const HealthSource& source = active_->intent->checks.source_of(*entry.backend);
    if (health_of(source) != state.health) continue;
    if (!speaker || speaker->kind == HealthSource::Kind::never_known) speaker = &source;
  }
  if (speaker) tell(*speaker, now, known, view);
  const NextHop hop = hop_of({member.identity.family, member.identity.address});
  view.missing = hop.missing;
  if (hop.missing.empty()) view.next_hop = config::to_text(hop.destination);
  view.path_mtu = node_.forwarder.network_mtu;
  const auto* path_mtu = path_mtus_.find({member.identity.family, member.identity.address});
  if (path_mtu && config::is_tunnel(member.line.method)) {
    view.path_mtu = path_mtu->mtu;
    view.path_mtu_told_by = config::to_text(path_mtu->told_by);
  }
  const uint8_t flags = active_->flags[id.pool][id.member];
  view.takes_new = (flags & core::backend_flag::takes_new) != 0;
  view.keeps_known = (flags & core::backend_flag::keeps_known) != 0;
  view.slots = active_->slots[id.pool][id.member];
  return view;
}

// A table has many more slots than a scrape has time for; they change with the table only.
void Controller::count_slots(Active& active) {
  if (!active.slots.empty()) return;
  for (const tables::Pool& pool : active.plan.snapshot->pools) {
    std::vector<uint64_t>& slots = active.slots.emplace_back(pool.members.size());
    if (!pool.table) continue;
    for (const uint16_t owner : *pool.table) slots[owner]++;
  }
}

View Controller::view(Time now, const KnownOf& known) const {
  View view;
  view.node = node_.node.id;
  view.forwarding = published();
  view.config_generation = config_generation_;
  view.table_generation = table_generation_;
  view.path_mtu_messages = path_mtus_.counts();
  if (!active_) return view;
  count_slots(*active_);
  const tables::Snapshot& snapshot = *active_->plan.snapshot;
  for (const config::Vip& vip : active_->intent->services.vips) {
    view.vips.push_back({vip.id, config::to_text(vip.address), vip.owner, vip.description, {}});
  }
  for (const tables::Service& service : snapshot.services) {
    view.vips[service.vip].services.push_back({service.name(), snapshot.pools[service.pool].id});
  }
  for (uint32_t p = 0; p < snapshot.pools.size(); p++) {
    const tables::Pool& pool = snapshot.pools[p];
    PoolView& shown = view.pools.emplace_back();
    shown.id = pool.id;
    shown.method = config::name_of(config::method_names, pool.method);
    for (uint32_t m = 0; m < pool.members.size(); m++) {
      shown.backends.push_back(view_of(now, {p, m}, known));
    }
    if (pool.table) shown.slots = pool.table->size();
  }
  return view;
}

}  // namespace fairlead::controller
