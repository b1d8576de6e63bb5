// SPDX-License-Identifier: MIT
// The words of the configuration files for the enumerations of config/model.h: what the parsers
// accept and what status, JSON and messages print.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "control/config/model.h"

namespace fairlead::config {

template <class E>
struct Named {
  std::string_view name;
  E value;
};

inline constexpr auto engine_names =
    std::to_array<Named<EngineKind>>({{"xdp", EngineKind::xdp}, {"user", EngineKind::user}});
inline constexpr auto xdp_mode_names = std::to_array<Named<XdpMode>>(
    {{"auto", XdpMode::automatic}, {"native", XdpMode::native}, {"generic", XdpMode::generic}});
inline constexpr auto layout_names = std::to_array<Named<Layout>>(
    {{"run_to_completion", Layout::run_to_completion}, {"pipeline", Layout::pipeline}});
inline constexpr auto check_names = std::to_array<Named<CheckType>>({{"tcp", CheckType::tcp},
                                                                     {"http", CheckType::http},
                                                                     {"https", CheckType::https},
                                                                     {"icmp", CheckType::icmp},
                                                                     {"none", CheckType::none}});
inline constexpr auto scheduler_names =
    std::to_array<Named<Scheduler>>({{"maglev", Scheduler::maglev},
                                     {"round_robin", Scheduler::round_robin},
                                     {"least_connections", Scheduler::least_connections}});
inline constexpr auto affinity_names =
    std::to_array<Named<Affinity>>({{"flow", Affinity::flow}, {"client_ip", Affinity::client_ip}});
inline constexpr auto tracking_names =
    std::to_array<Named<Tracking>>({{"all", Tracking::all}, {"exceptions", Tracking::exceptions}});
inline constexpr auto on_down_names =
    std::to_array<Named<OnDown>>({{"rebuild", OnDown::rebuild}, {"skip", OnDown::skip}});
inline constexpr auto fail_names =
    std::to_array<Named<Fail>>({{"closed", Fail::closed}, {"open", Fail::open}});
inline constexpr auto state_names =
    std::to_array<Named<BackendState>>({{"active", BackendState::active},
                                        {"draining", BackendState::draining},
                                        {"disabled", BackendState::disabled}});
inline constexpr auto ping_names =
    std::to_array<Named<Ping>>({{"reply", Ping::reply}, {"drop", Ping::drop}});
inline constexpr auto fill_names =
    std::to_array<Named<FillKind>>({{"lines", FillKind::lines}, {"paper", FillKind::paper}});
inline constexpr auto method_names =
    std::to_array<Named<core::Method>>({{"gre", core::Method::gre},
                                        {"ipip", core::Method::ipip},
                                        {"gue", core::Method::gue},
                                        {"l2", core::Method::l2},
                                        {"nat", core::Method::nat}});
inline constexpr auto protocol_names =
    std::to_array<Named<uint8_t>>({{"tcp", 6}, {"udp", 17}, {"any", 0}});

// name_of(method_names, core::Method::gre) is "gre".
template <class Names, class E>
constexpr std::string_view name_of(const Names& names, E value) {
  for (const auto& entry : names) {
    if (entry.value == value) return entry.name;
  }
  return "unknown";
}

}  // namespace fairlead::config
