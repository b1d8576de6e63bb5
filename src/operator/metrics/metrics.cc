// SPDX-License-Identifier: MIT
#include "operator/metrics/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/version.h"
#include "core/verdict.h"

namespace fairlead::metrics {
namespace {

using controller::View;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

class Families {
 public:
  // Samples that follow belong to it.
  Families& counter(std::string name, std::string help) {
    return family(std::move(name), std::move(help), MetricType::Counter);
  }
  Families& gauge(std::string name, std::string help) {
    return family(std::move(name), std::move(help), MetricType::Gauge);
  }
  Families& histogram(std::string name, std::string help, const controller::Histogram& from) {
    family(std::move(name), std::move(help), MetricType::Histogram);
    ClientMetric::Histogram& to = all_.back().metric.emplace_back().histogram;
    to.sample_count = from.count;
    to.sample_sum = from.sum;
    uint64_t cumulative = 0;
    for (size_t i = 0; i < from.bounds.size(); i++) {
      cumulative += from.counts[i];
      to.bucket.push_back({cumulative, from.bounds[i]});
    }
    return *this;
  }

  Families& add(Labels labels, double value) {
    MetricFamily& last = all_.back();
    ClientMetric& metric = last.metric.emplace_back();
    metric.label = std::move(labels);
    (last.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    return *this;
  }
  Families& add(Labels labels, uint64_t value) {
    return add(std::move(labels), static_cast<double>(value));
  }

  std::string text() const { return prometheus::TextSerializer().Serialize(all_); }

 private:
  Families& family(std::string name, std::string help, MetricType type) {
    all_.push_back({std::move(name), std::move(help), type, {}});
    return *this;
  }

  std::vector<MetricFamily> all_;
};

void packets(const View& view, Families& out) {
  const core::WorkerCounters& total = view.counters.total;
  out.counter("fairlead_packets_total", "Packets by what happened to them.");
  for (uint32_t i = 0; i < core::reason_count; i++) {
    const auto reason = static_cast<core::Reason>(i);
    out.add(
        {{"verdict", core::name_of(core::verdict_of(reason))}, {"reason", core::name_of(reason)}},
        uint64_t{total.reason[i]});
  }
  out.counter("fairlead_worker_packets_total", "Packets that a worker has dealt with.");
  for (size_t i = 0; i < view.counters.worker_packets.size(); i++) {
    out.add({{"worker", std::to_string(i)}}, view.counters.worker_packets[i]);
  }
  out.counter(
         "fairlead_connection_evictions_total",
         "Connections that gave way (handshake) or were not remembered for want of room (full).")
      .add({{"reason", "handshake"}}, uint64_t{total.evicted_handshake})
      .add({{"reason", "full"}}, uint64_t{total.evicted_full});
}

template <class Count>
void of_services(const View& view, Families& out, Count count) {
  for (const auto& service : view.counters.services) {
    out.add({{"vip", service.vip}, {"service", service.name}}, uint64_t{count(service.count)});
  }
}

void services(const View& view, Families& out) {
  out.counter("fairlead_service_packets_total", "Packets forwarded for a service.");
  of_services(view, out, [](const core::ServiceCounters& count) { return count.packets; });
  out.counter("fairlead_service_bytes_total", "Bytes forwarded for a service.");
  of_services(view, out, [](const core::ServiceCounters& count) { return count.bytes; });
  out.counter("fairlead_service_new_connections_total", "Connections that began to be remembered.");
  of_services(view, out, [](const core::ServiceCounters& count) { return count.new_connections; });
}

bool counts_as_up(const controller::BackendView& backend) {
  using controller::Health;
  if (!backend.missing.empty()) return false;
  return backend.health == Health::up || (backend.health == Health::unknown && backend.keeps_known);
}

template <class Value>
void of_backends(const View& view, Families& out, Value value) {
  for (const auto& pool : view.pools) {
    for (const auto& backend : pool.backends) {
      out.add({{"pool", pool.id}, {"backend", backend.name}}, uint64_t{value(backend)});
    }
  }
}

void backends(const View& view, Families& out) {
  out.counter("fairlead_backend_packets_total", "Packets forwarded to a backend of a pool.");
  for (const auto& backend : view.counters.backends) {
    out.add({{"pool", backend.pool}, {"backend", backend.name}}, uint64_t{backend.count.packets});
  }
  out.gauge("fairlead_backend_up", "1: its checks say up, or it is not known and counts as up.");
  of_backends(view, out, [](const auto& backend) {
    return counts_as_up(backend) ? uint32_t{1} : uint32_t{0};
  });
  out.gauge("fairlead_backend_weight", "Configured weight of a backend.");
  of_backends(view, out, [](const auto& backend) { return backend.weight; });
  out.gauge("fairlead_backend_path_mtu_bytes",
            "Largest packet that the way to a backend takes: network_mtu, or what a router said.");
  of_backends(view, out, [](const auto& backend) { return backend.path_mtu; });
}

void control(const View& view, Families& out) {
  out.counter("fairlead_health_checks_total", "Answers to health checks.");
  for (const auto& [pool, results] : view.checks) {
    for (size_t i = 0; i < results.size(); i++) {
      if (results[i] == 0) continue;
      out.add({{"pool", pool}, {"result", health::name_of(static_cast<health::ProbeResult>(i))}},
              results[i]);
    }
  }
  out.histogram("fairlead_health_check_seconds", "Time from the begin of a check to its answer.",
                view.check_latency);
  out.gauge("fairlead_health_checks_in_flight", "Health checks that wait for their answer.")
      .add({}, view.probes.now);
  out.gauge("fairlead_health_checks_in_flight_limit", "More wait for their turn.")
      .add({}, view.probes.most);
  out.counter("fairlead_path_mtu_messages_total",
              "What routers said about packets that were too big, by how it was taken.");
  for (size_t i = 0; i < view.path_mtu_messages.size(); i++) {
    out.add({{"result", path_mtu::name_of(static_cast<path_mtu::Table::Result>(i))}},
            view.path_mtu_messages[i]);
  }
  out.gauge("fairlead_http_connections", "Clients of this port.").add({}, view.connections.now);
  out.gauge("fairlead_http_connections_limit", "More are closed at once.")
      .add({}, view.connections.most);
  out.gauge("fairlead_config_generation", "Rises with each configuration that is applied.")
      .add({}, view.config_generation);
  out.counter("fairlead_config_reloads_total", "Configurations that came while running.")
      .add({{"result", "applied"}}, view.reloads_applied)
      .add({{"result", "refused"}}, view.reloads_refused);
  out.gauge("fairlead_config_last_reload_timestamp_seconds", "When the configuration was applied.")
      .add({}, view.last_reload);
  out.histogram("fairlead_table_rebuild_seconds", "Time to plan and publish new tables.",
                view.rebuild);
  out.counter("fairlead_log_lines_left_out_total", "Lines of the log that nobody took.")
      .add({}, view.log_left_out);
  out.gauge("fairlead_engine_info", "How packets are received and sent.")
      .add({{"engine", view.engine.engine},
            {"interface", view.engine.interface},
            {"mode", name_of(view.engine.mode)},
            {"zero_copy", view.engine.zero_copy ? "true" : "false"}},
           uint64_t{1});
  out.gauge("fairlead_build_info", "The program.")
      .add({{"version", std::string(version)}}, uint64_t{1});
}

}  // namespace

std::string text_of(const View& view) {
  Families out;
  packets(view, out);
  services(view, out);
  backends(view, out);
  control(view, out);
  return out.text();
}

}  // namespace fairlead::metrics
