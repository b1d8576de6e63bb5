// SPDX-License-Identifier: MIT
#include "control/controller/path_mtu_told.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/config/address.h"

namespace fairlead::controller {
namespace {

using testing::HasSubstr;

config::IpAddress ip(const char* text) { return *config::parse_address(text); }

// A GRE pool of one backend for a service on a VIP of this family.
tables::Snapshot snapshot_of(core::Family family) {
  tables::Member member;
  member.identity = {ip("10.0.0.1").bytes, core::Family::v4};
  tables::Snapshot snapshot;
  snapshot.vips = {{.id = "v", .family = family}};
  snapshot.services = {{.vip = 0, .pool = 0}};
  snapshot.pools = {{"web", core::Method::gre, {member}, {}}};
  return snapshot;
}

TEST(PathMtuTold, NamesBackendMtuAndRouter) {
  const Tell tell =
      tell_of({ip("10.0.0.1"), 1500, 1400, ip("10.2.0.1")}, snapshot_of(core::Family::v6));
  EXPECT_EQ(tell.message, "path MTU to 10.0.0.1 is 1400 (told by 10.2.0.1)");
  EXPECT_EQ(tell.level, log::Level::info);
}

TEST(PathMtuTold, SaysWhenItIsForgotten) {
  const Tell tell = tell_of({ip("10.0.0.1"), 1400, 1500, {}}, snapshot_of(core::Family::v4));
  EXPECT_EQ(tell.message, "path MTU to 10.0.0.1 is 1500 again (nothing less was told for 10m)");
}

TEST(PathMtuTold, WarnsWhereIpv6ServicesDoNotFitAnyMore) {
  const path_mtu::Change change{ip("10.0.0.1"), 1500, 1303, ip("10.2.0.1")};  // 1280 + 24 = 1304
  const Tell tell = tell_of(change, snapshot_of(core::Family::v6));
  EXPECT_EQ(tell.level, log::Level::warning);
  EXPECT_THAT(tell.message, HasSubstr("IPv6 services of pool web need 1304"));
  EXPECT_EQ(tell_of(change, snapshot_of(core::Family::v4)).level, log::Level::info);
}

}  // namespace
}  // namespace fairlead::controller
