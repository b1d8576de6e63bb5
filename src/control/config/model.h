// SPDX-License-Identifier: MIT
// node.toml and services.json as plain values, defaults filled in. Whoever holds one holds a
// valid configuration: only parse_node() and parse_services() (config/parse.h) make them. The
// defaults stand here and nowhere else; node_keys() and services_keys() show them.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/records.h"
#include "tables/snapshot.h"

namespace fairlead::config {

using Milliseconds = std::chrono::milliseconds;

struct IpAddress {
  core::Family family = core::Family::none;
  core::Address bytes{};  // network byte order
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
  friend std::strong_ordering operator<=>(const IpAddress& a, const IpAddress& b) {
    return tables::Identity{a.bytes, a.family} <=> tables::Identity{b.bytes, b.family};
  }
};

struct Prefix {
  IpAddress address;  // masked
  uint8_t length = 0;
  friend bool operator==(const Prefix&, const Prefix&) = default;
};

using MacAddress = std::array<uint8_t, 6>;

enum class EngineKind { xdp, user };
enum class XdpMode { automatic, native, generic };
enum class Layout { run_to_completion, pipeline };

struct Node {
  std::string id;
  std::optional<IpAddress> address;     // IPv4 tunnel source; one of the two is always there
  std::optional<IpAddress> address6;    // IPv6 tunnel source
  std::string http = "127.0.0.1:9100";  // or the path of a unix socket
  std::string http_token_file;
  std::string state_dir = "/var/lib/fairlead";
};

struct ControlPlane {
  std::string services = "/etc/fairlead/services.json";
};

struct ConnectionTtls {
  Milliseconds tcp_handshake{5'000}, tcp_established{60'000}, tcp_closing{10'000}, udp{30'000},
      other{30'000};
};

struct Forwarder {
  std::string interface;
  EngineKind engine = EngineKind::xdp;
  XdpMode xdp_mode = XdpMode::automatic;
  Layout layout = Layout::run_to_completion;
  uint32_t num_threads = 0;
  std::vector<uint32_t> cpu_affinity;
  uint32_t connection_table_size = 131'072;  // entries per worker, power of two
  uint32_t fragment_table_size = 8'192;
  Milliseconds fragment_ttl{10'000};
  uint32_t batch_size = 64;
  uint32_t network_mtu = 1'500;
  uint32_t icmp_rate_limit = 100;
  uint64_t hash_seed = 0x5eed;            // equal on all nodes
  std::optional<MacAddress> gateway_mac;  // the next hop of everything
  ConnectionTtls connection_ttls;
};

enum class CheckType { tcp, http, https, icmp, none };

struct HealthCheck {
  CheckType type = CheckType::tcp;
  std::string path = "/";
  std::vector<uint16_t> expect_status{200};
  std::string host;
  bool verify_tls = false;
  Milliseconds interval{5'000}, timeout{2'000};
  uint32_t healthy_threshold = 2, unhealthy_threshold = 3;
};

struct BgpPeer {
  IpAddress peer_ip;
  uint32_t peer_asn = 0;
  uint16_t port = 179;
  Milliseconds hold_time{90'000};
  std::string md5_password_file;
  std::vector<std::string> communities;
  std::optional<uint32_t> med;
  bool passive = false, ttl_security = false, bfd = false;
};

struct Bgp {
  uint32_t local_asn = 0;
  IpAddress router_id;
  std::vector<std::string> communities;
  std::vector<BgpPeer> peers;
};

struct NodeConfig {
  Node node;
  ControlPlane control_plane;
  Forwarder forwarder;
  HealthCheck health_check_defaults;  // interval, timeout, thresholds count
  std::optional<Bgp> bgp;
};

using tables::Scheduler;
enum class Affinity { flow, client_ip };
enum class Tracking { all, exceptions };
enum class OnDown { rebuild, skip };
enum class Fail { closed, open };
enum class BackendState { active, draining, disabled };
enum class Ping { reply, drop };
enum class FillKind { paper, lines };

struct Route {
  Prefix source;  // either family: a prefix of the other one matches no packet
  std::string backend_pool;
};

struct Branch {
  std::string backend_pool;
  uint32_t weight = 1;
};

struct Service {
  uint8_t protocol = 6;  // IPPROTO_TCP, IPPROTO_UDP, 0 = any
  uint16_t port = 0;     // 0 = any
  std::string backend_pool;
  Scheduler scheduler = Scheduler::maglev;
  Affinity affinity = Affinity::flow;
  Tracking tracking = Tracking::all;
  std::vector<Route> routes;
  std::vector<Branch> split;
};

struct Vip {
  std::string id;
  Prefix address;
  Ping ping = Ping::reply;
  std::string owner, description;
  std::vector<Service> services;
};

struct Backend {
  IpAddress ip;
  uint16_t port = 0;  // 0 = not given
  uint32_t weight = 1;
  BackendState state = BackendState::active;
};

struct Pool {
  std::string id;
  core::Method method = core::Method::gre;
  uint32_t table_size = 65'537;
  uint64_t table_seed = 0;
  FillKind fill = FillKind::lines;
  OnDown on_down = OnDown::rebuild;
  Fail fail = Fail::closed;
  bool snat = false;
  std::vector<std::string> include;
  std::vector<Backend> backends;
  HealthCheck health_check;
};

struct Services {
  std::vector<Vip> vips;
  std::vector<Pool> pools;
};

}  // namespace fairlead::config
