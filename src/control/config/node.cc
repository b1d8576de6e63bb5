// SPDX-License-Identifier: MIT
// The schema of node.toml, and what its keys demand of each other.
#include "control/config/node.h"

#include <fmt/format.h>

#include <algorithm>

#include "control/config/schema.h"

namespace fairlead::config {
namespace {

using core::Family;
using AnyAddress = HostAddress<Family::none>;
using Ttl = DurationFrom<limits::shortest_ttl.count(), limits::longest_ttl.count()>;
using Asn = Number<1, UINT32_MAX>;

constexpr auto node_schema = schema<Node>(
    key<&Node::id, Name>("id", required, "names this node in `fairlead status` and /v1/status"),
    key<&Node::address, HostAddress<Family::v4>>("address", optional,
                                                 "source of tunnels to IPv4 backends"),
    key<&Node::address6, HostAddress<Family::v6>>("address6", optional,
                                                  "source of tunnels to IPv6 backends"),
    key<&Node::http, Listen>("http", optional,
                             "where health, metrics and the state as JSON are served"),
    key<&Node::http_token_file, FilePath>("http_token_file", optional,
                                          "not used yet: nothing is changed over HTTP"),
    key<&Node::state_dir, FilePath>("state_dir", optional,
                                    "not used yet: nothing outlives the daemon"));

constexpr auto control_plane_schema = schema<ControlPlane>(
    key<&ControlPlane::services, FilePath>("services", optional,
                                           "the fleet's VIPs and pools; read at the start, and "
                                           "again on SIGHUP; if it is relative, from the "
                                           "folder of node.toml"));

constexpr auto ttl_schema = schema<ConnectionTtls>(
    key<&ConnectionTtls::tcp_handshake, Ttl>("tcp_handshake", optional,
                                             "a TCP connection of which only SYNs were seen"),
    key<&ConnectionTtls::tcp_established, Ttl>("tcp_established", optional, "a TCP connection"),
    key<&ConnectionTtls::tcp_closing, Ttl>("tcp_closing", optional,
                                           "a TCP connection after FIN or RST"),
    key<&ConnectionTtls::udp, Ttl>("udp", optional, "a UDP flow"),
    key<&ConnectionTtls::other, Ttl>("other", optional, "a flow of any other protocol"));

constexpr auto forwarder_schema = schema<Forwarder>(
    key<&Forwarder::interface, InterfaceName>("interface", required,
                                              "receives the traffic for the VIPs"),
    key<&Forwarder::engine, Choice<engine_names>>("engine", optional,
                                                  "in the driver, or in user space over AF_XDP"),
    key<&Forwarder::xdp_mode, Choice<xdp_mode_names>>(
        "xdp_mode", optional, "where the XDP program runs; auto takes the best that works"),
    key<&Forwarder::layout, Choice<layout_names>>("layout", optional, "threads of the user engine"),
    key<&Forwarder::num_threads, Number<0, core::limits::workers>>(
        "num_threads", optional,
        "workers of the user engine; 0: one for each receive queue of the interface"),
    key<&Forwarder::cpu_affinity, ListOf<Number<0, 4'095>, 0, core::limits::workers>>(
        "cpu_affinity", optional,
        "cores of the user engine's workers, in their order; empty: the kernel chooses"),
    key<&Forwarder::connection_table_size, PowerOfTwo<64, 1u << 26>>(
        "connection_table_size", optional, "connections that each worker can remember"),
    key<&Forwarder::fragment_table_size, PowerOfTwo<64, 1u << 20>>(
        "fragment_table_size", optional, "fragmented datagrams that each worker can remember"),
    key<&Forwarder::fragment_ttl, Ttl>("fragment_ttl", optional,
                                       "how long later fragments find their backend"),
    key<&Forwarder::batch_size, Number<1, 256>>("batch_size", optional,
                                                "packets that the user engine takes at once"),
    key<&Forwarder::network_mtu, Number<limits::smallest_mtu, 65'535>>(
        "network_mtu", optional, "largest IP packet between this node and the backends"),
    key<&Forwarder::icmp_rate_limit, Number<0, 1'000'000>>(
        "icmp_rate_limit", optional, "ICMP messages a second for each VIP; 0: no errors at all"),
    key<&Forwarder::hash_seed, Seed>("hash_seed", optional,
                                     "key of the flow hash, equal on all nodes and kept secret"),
    key<&Forwarder::gateway_mac, Mac>("gateway_mac", optional,
                                      "next hop of every packet; else found for each backend"),
    key<&Forwarder::connection_ttls, Object<ttl_schema>>(
        "connection_ttls", optional, "how long a silent connection is remembered"));

constexpr auto health_default_schema = schema<HealthCheck>(
    key<&HealthCheck::interval, CheckInterval>("interval", optional, "from one check to the next"),
    key<&HealthCheck::timeout, CheckInterval>("timeout", optional, "for the answer to one check"),
    key<&HealthCheck::healthy_threshold, CheckThreshold>("healthy_threshold", optional,
                                                         "good answers in a row until up"),
    key<&HealthCheck::unhealthy_threshold, CheckThreshold>("unhealthy_threshold", optional,
                                                           "bad answers in a row until down"));

constexpr auto peer_schema = schema<BgpPeer>(
    key<&BgpPeer::peer_ip, AnyAddress>("peer_ip", required, "address of the router"),
    key<&BgpPeer::peer_asn, Asn>("peer_asn", required, "AS number of the router"),
    key<&BgpPeer::port, Number<1, 65'535>>("port", optional, "TCP port of the router"),
    key<&BgpPeer::hold_time, DurationFrom<3'000, 65'535'000>>("hold_time", optional,
                                                              "silence that ends the session"),
    key<&BgpPeer::md5_password_file, FilePath>("md5_password_file", optional,
                                               "password of TCP MD5 (RFC 2385)"),
    key<&BgpPeer::communities, ListOf<Community>>("communities", optional,
                                                  "sent to this peer besides those of [bgp]"),
    key<&BgpPeer::med, Number<0, UINT32_MAX>>("med", optional, "MULTI_EXIT_DISC"),
    key<&BgpPeer::passive, Flag>("passive", optional, "waits for the router to connect"),
    key<&BgpPeer::ttl_security, Flag>("ttl_security", optional, "GTSM (RFC 5082)"),
    key<&BgpPeer::bfd, Flag>("bfd", optional, "watches the router with BFD (RFC 5880)"));

constexpr auto bgp_schema = schema<Bgp>(
    key<&Bgp::local_asn, Asn>("local_asn", required, "AS number of this node"),
    key<&Bgp::router_id, HostAddress<Family::v4>>("router_id", required,
                                                  "BGP identifier of this node"),
    key<&Bgp::communities, ListOf<Community>>("communities", optional, "sent with every route"),
    key<&Bgp::peers, ListOfObjects<peer_schema, 0, 256>>("peers", optional,
                                                         "routers that the VIPs are announced to"));

constexpr auto file_schema = schema<NodeConfig>(
    key<&NodeConfig::node, Object<node_schema>>("node", required, "this machine"),
    key<&NodeConfig::control_plane, Object<control_plane_schema>>(
        "control_plane", optional, "where the configuration of the fleet comes from"),
    key<&NodeConfig::forwarder, Object<forwarder_schema>>("forwarder", required, "the data plane"),
    key<&NodeConfig::health_check_defaults, Object<health_default_schema>>(
        "health_check_defaults", optional, "for pools whose health_check does not say"),
    key<&NodeConfig::bgp, Object<bgp_schema>>("bgp", optional, "announces VIPs that work"));

void has_an_address(Reader& reader, const Value& root, const Node& node) {
  if (node.address || node.address6) return;
  const Path path{"node", "address"};
  if (reader.broken(path) || reader.broken({"node", "address6"})) return;
  reader.problem(root, path, "missing, expected address or address6, the source of tunnels");
}

void has_cores_enough(Reader& reader, const Value& root, const Forwarder& forwarder) {
  const std::vector<uint32_t>& cores = forwarder.cpu_affinity;
  const Path path{"forwarder", "cpu_affinity"};
  if (reader.broken(path)) return;
  for (size_t i = 0; i < cores.size(); i++) {
    const auto first = std::ranges::find(cores, cores[i]) - cores.begin();
    const Path place{"forwarder", "cpu_affinity", i};
    if (static_cast<size_t>(first) == i || reader.broken(place)) continue;
    reader.problem(root, place,
                   fmt::format("core {} is listed twice, expected each once", cores[i]));
  }
  if (!cores.empty() && cores.size() < forwarder.num_threads) {
    reader.problem(root, path,
                   fmt::format("lists {} cores, expected one for each of num_threads = {}",
                               cores.size(), forwarder.num_threads));
  }
}

void has_different_peers(Reader& reader, const Value& root, const Bgp& bgp) {
  for (size_t i = 0; i < bgp.peers.size(); i++) {
    const IpAddress& address = bgp.peers[i].peer_ip;
    const auto first = std::ranges::find(bgp.peers, address, &BgpPeer::peer_ip) - bgp.peers.begin();
    const Path path{"bgp", "peers", i, "peer_ip"};
    if (static_cast<size_t>(first) == i || reader.broken(path)) continue;
    reader.problem(root, path,
                   fmt::format("is \"{}\" like bgp.peers[{}], expected one entry for each router",
                               to_text(address), first));
  }
}

}  // namespace

NodeConfig read_node(std::string_view text, Reader& reader) {
  NodeConfig config;
  if (!check_utf8(text, reader)) return config;
  const Value root = read_toml(text, reader);
  if (!reader.clean()) return config;  // a file that cannot be read lacks everything
  Object<file_schema>::read(reader, root, config);
  has_an_address(reader, root, config.node);
  has_cores_enough(reader, root, config.forwarder);
  if (config.bgp) has_different_peers(reader, root, *config.bgp);
  return config;
}

Parsed<NodeConfig> parse_node(std::string_view text, std::string_view file_name) {
  Reader reader(file_name);
  NodeConfig config = read_node(text, reader);
  if (!reader.clean()) return std::unexpected(reader.take());
  return config;
}

std::vector<KeyLine> node_keys() {
  std::vector<KeyLine> lines;
  Object<file_schema>::list("", lines);
  return lines;
}

}  // namespace fairlead::config
