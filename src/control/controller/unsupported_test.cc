// SPDX-License-Identifier: MIT
#include "control/controller/unsupported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::controller {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

config::Services one_service() {
  config::Services services;
  services.pools.push_back({.id = "web"});
  services.vips.push_back({.id = "v", .services = {{.port = 80, .backend_pool = "web"}}});
  return services;
}

TEST(Unsupported, IsNothingOfAPlainConfiguration) {
  const Unsupported found = unsupported({}, one_service());
  EXPECT_THAT(found.errors, IsEmpty());
  EXPECT_THAT(found.warnings, IsEmpty());
}

TEST(Unsupported, IsAnErrorWherePacketsWouldGoWrong) {
  config::Services services = one_service();
  services.pools.push_back({.id = "n", .method = core::Method::nat});
  config::Service& service = services.vips[0].services[0];
  service.scheduler = config::Scheduler::least_connections;
  service.routes.push_back({{}, "n"});
  service.split.push_back({"n", 1});
  EXPECT_THAT(
      unsupported({}, services).errors,
      ElementsAre(HasSubstr("vips[0].services[0].scheduler: \"least_connections\": this version"),
                  HasSubstr("vips[0].services[0].routes: "),
                  HasSubstr("vips[0].services[0].split: ")));
  EXPECT_THAT(unsupported({}, services).warnings, IsEmpty());
}

TEST(Unsupported, IsAWarningWhereItWorksWithout) {
  config::NodeConfig node;
  node.bgp.emplace();
  node.forwarder.layout = config::Layout::pipeline;
  config::Services services = one_service();
  services.vips[0].services[0].tracking = config::Tracking::exceptions;
  services.vips.push_back(services.vips[0]);
  const Unsupported found = unsupported(node, services);
  EXPECT_THAT(found.errors, IsEmpty());
  EXPECT_THAT(found.warnings,
              ElementsAre(HasSubstr("forwarder.layout: \"pipeline\""), HasSubstr("bgp"),
                          HasSubstr("vips[0].services[0].tracking: \"exceptions\"")));
}

TEST(Unsupported, OfManyServicesIsNotSaidWithoutEnd) {
  config::Services services = one_service();
  services.vips[0].services[0].scheduler = config::Scheduler::round_robin;
  services.vips[0].services.resize(60'000, services.vips[0].services[0]);
  EXPECT_EQ(unsupported({}, services).errors.size(), 1'000u);
}

}  // namespace
}  // namespace fairlead::controller
