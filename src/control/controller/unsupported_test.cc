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
  EXPECT_THAT(unsupported({}, one_service()), IsEmpty());
}

TEST(Unsupported, NamesTheKeyAndSaysEachThingOnce) {
  config::NodeConfig node;
  node.bgp.emplace();
  node.forwarder.layout = config::Layout::pipeline;
  config::Services services = one_service();
  services.vips[0].services[0].tracking = config::Tracking::exceptions;
  services.vips.push_back(services.vips[0]);
  EXPECT_THAT(unsupported(node, services),
              ElementsAre(HasSubstr("forwarder.layout: \"pipeline\""), HasSubstr("bgp"),
                          HasSubstr("vips[0].services[0].tracking: \"exceptions\"")));
}

}  // namespace
}  // namespace fairlead::controller
