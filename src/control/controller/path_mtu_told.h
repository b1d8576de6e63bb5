// SPDX-License-Identifier: MIT
// What the log says when the path MTU of a backend changes: "path MTU to 10.0.0.1 is 1400 (told by
// 10.2.0.1)". A warning where it is too small for the IPv6 services that go there: a packet of 1280
// bytes may be sent by anyone (RFC 8200 section 5), so their senders are told no less than that,
// and what then does not fit is lost on the way.
#pragma once

#include "control/controller/controller.h"
#include "control/path_mtu/table.h"
#include "tables/snapshot.h"

namespace fairlead::controller {

Tell tell_of(const path_mtu::Change& change, const tables::Snapshot& snapshot);

}  // namespace fairlead::controller
