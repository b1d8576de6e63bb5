// SPDX-License-Identifier: MIT
// Method nat, towards the backend and back: addresses and ports are exchanged in place, and every
// checksum over them with them, also in the packet that an ICMP error quotes. CONTRACT section 4;
// RFC 3022, RFC 5508 (ICMP), RFC 1624 (checksums: what was wrong stays exactly as wrong).
#pragma once

#include "core/path/follow.h"
#include "core/path/quote.h"
#include "core/translations.h"

namespace fairlead::core {

namespace translate_detail {

struct FAIRLEAD_WIRE Ports {
  be16 source;
  be16 destination;
};
struct FAIRLEAD_WIRE_HALF Word {
  be16 value;
};
struct FAIRLEAD_WIRE Link {
  u8 destination[6];
  u8 source[6];
};
static_assert(sizeof(Ports) == 4 && sizeof(Word) == 2 && sizeof(Link) == 12);

constexpr u32 tcp_checksum = 16;  // offsets in their headers
constexpr u32 udp_checksum = 6;

// A packet within a frame: the one that it carries, or the one that an ICMP error in it quotes.
struct Spot {
  u32 ip;   // offset of its IP header
  u32 l4;   // of its ports; 0: it shows none
  u32 end;  // of what the frame has of it
  Family family;
  u8 protocol;
  u16 zero;
};

FAIRLEAD_INLINE constexpr u64 change(u32 from, u32 to) { return static_cast<u64>(~from) + to; }
FAIRLEAD_INLINE constexpr u64 change16(be16 from, be16 to) {
  return (~static_cast<u32>(from) & 0xffff) + to;
}

FAIRLEAD_INLINE constexpr u32 fold(u64 sum) {
  sum = (sum & 0xffff'ffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<u32>(sum);
}

FAIRLEAD_INLINE constexpr be16 updated(be16 checksum, u64 changed) {
  return static_cast<be16>(~fold((~static_cast<u32>(checksum) & 0xffff) + fold(changed)));
}

template <class Ip>
FAIRLEAD_INLINE u64 exchange_address(Ip& ip, bool source, const Address& to);
template <>
FAIRLEAD_INLINE u64 exchange_address(wire::Ipv4& ip, bool source, const Address& to) {
  const u64 changed = change(source ? ip.source : ip.destination, to.word[0]);
  if (source)
    ip.source = to.word[0];
  else
    ip.destination = to.word[0];
  return changed;
}
template <>
FAIRLEAD_INLINE u64 exchange_address(wire::Ipv6& ip, bool source, const Address& to) {
  u64 changed = 0;
  for (u32 i = 0; i < 4; i++) {
    changed += change(source ? ip.source[i] : ip.destination[i], to.word[i]);
    if (source)
      ip.source[i] = to.word[i];
    else
      ip.destination[i] = to.word[i];
  }
  return changed;
}

// Gives one end of a packet another address and, where it shows ports, another port. What that
// changes in the sum of its bytes, folded: an ICMP message that quotes it has to add it.
template <Frame F>
FAIRLEAD_INLINE u32 exchange_end(const F& frame, const Spot& spot, bool source,
                                 const Address& address, be16 port) {
  u64 changed = 0;  // what the L4 checksum is about
  u64 all = 0;
  if (spot.family == Family::v6) {
    wire::Ipv6* ip = frame.template at<wire::Ipv6>(spot.ip);
    if (!ip) return 0;
    all = changed = exchange_address(*ip, source, address);
  } else {
    wire::Ipv4* ip = frame.template at<wire::Ipv4>(spot.ip);
    if (!ip) return 0;
    changed = exchange_address(*ip, source, address);
    const be16 before = ip->checksum;
    ip->checksum = updated(before, changed);
    all = changed + change16(before, ip->checksum);
  }
  if (spot.l4 == 0) return fold(all);
  Ports* ports = frame.template at<Ports>(spot.l4);
  if (!ports) return fold(all);
  const u64 of_port = change16(source ? ports->source : ports->destination, port);
  if (source)
    ports->source = port;
  else
    ports->destination = port;
  changed += of_port;
  all += of_port;
  const bool udp = spot.protocol == wire::protocol_udp;
  const u32 at = spot.l4 + (udp ? udp_checksum : tcp_checksum);
  Word* checksum = frame.template at<Word>(at);
  if (!checksum || at + sizeof(Word) > spot.end) return fold(all);
  const be16 before = checksum->value;
  if (udp && before == 0) return fold(all);  // it has none
  be16 after = updated(before, changed);
  if (udp && after == 0) after = 0xffff;
  checksum->value = after;
  return fold(all + change16(before, after));
}

template <class Handle>
[[gnu::noinline]] u32 exchange_end_apart(const Handle* handle, const Spot* spot, u32 source,
                                         const Address* address, u32 port) {
  return exchange_end(*handle, *spot, source != 0, *address, static_cast<be16>(port));
}

// Both ends of a packet as they shall be.
struct Ends {
  Address source;
  Address destination;
  be16 source_port;
  be16 destination_port;
};

template <Frame F>
FAIRLEAD_INLINE u32 exchange(const F& frame, const Spot& spot, const Ends& ends, bool source,
                             bool destination) {
  u32 changed = 0;
  if (source) {
    changed = exchange_end_apart(frame.handle(), &spot, 1, &ends.source, ends.source_port);
  }
  if (destination) {
    changed +=
        exchange_end_apart(frame.handle(), &spot, 0, &ends.destination, ends.destination_port);
  }
  return changed;
}

FAIRLEAD_INLINE Spot spot_of(const Packet& packet) {
  const bool shows_ports = packet.shape == Shape::flow && has_ports(packet.protocol);
  return {packet.l3,
          shows_ports ? packet.l4 : 0,
          packet.l3 + packet.ip_length,
          packet.family,
          packet.protocol,
          0};
}

// An ICMP error and the packet it quotes: `quote` is what read_quote() made of it.
template <Frame F>
FAIRLEAD_INLINE bool exchange_error(const F& frame, const Packet& packet, const Flow& quote,
                                    const Ends& outer, bool outer_source, bool outer_destination,
                                    const Ends& inner, bool inner_source, bool inner_destination) {
  const u32 end = packet.l3 + packet.ip_length;
  const Spot around{packet.l3, 0, end, packet.family, packet.protocol, 0};
  const Spot within{
      quote.l3, has_ports(quote.protocol) ? quote.l4 : 0, end, quote.family, quote.protocol, 0};
  const u32 addresses = exchange(frame, around, outer, outer_source, outer_destination);
  u32 changed = exchange(frame, within, inner, inner_source, inner_destination);
  if (packet.family == Family::v6) changed += addresses;  // they are in the pseudo-header
  wire::Icmp* icmp = frame.template at<wire::Icmp>(packet.l4);
  if (!icmp) return false;
  icmp->checksum = updated(icmp->checksum, changed);
  return true;
}

FAIRLEAD_INLINE const NatEnds& nat_ends(const Backend& backend) {
  const void* outer = backend.outer;
  return *static_cast<const NatEnds*>(outer);
}

template <class PacketOrFlow>
FAIRLEAD_INLINE constexpr bool is_of(const Translation& entry, const PacketOrFlow& packet) {
  return entry.client == packet.source && entry.facts.client_port == packet.source_port &&
         entry.vip == packet.destination && entry.facts.vip_port == packet.destination_port;
}

// The n-th port that a flow of this worker may get.
FAIRLEAD_INLINE be16 port_of(const Settings& settings, u32 worker, u64 hash, u32 n) {
  const u32 workers = settings.workers == 0 ? 1 : settings.workers;
  const u32 own = limits::snat_ports / workers;
  if (own == 0) return 0;
  const u32 which = (static_cast<u32>(hash) + n * (static_cast<u32>(hash >> 32) | 1)) % own;
  return to_be16(static_cast<u16>(limits::first_snat_port + which * workers + worker % workers));
}

// The node's port for a flow that a backend knows under one; 0: none is remembered.
template <Tables T, class PacketOrFlow>
FAIRLEAD_INLINE be16 node_port_of(const T& tables, const PacketOrFlow& packet, u32 backend) {
  const u32 line = find_translation_apart(&tables, request_key(tables.settings(), packet));
  if (line == no_translation) return 0;
  const Translation& entry = tables.translation(line);
  return is_of(entry, packet) && backend_of(entry.meta) == backend ? entry.facts.node_port
                                                                   : be16{0};
}

// Finds the line of a flow's replies, or a key that it could have: sets reply_key (0: there is no
// room for another flow), translation and node_port of the packet.
template <Tables T>
FAIRLEAD_INLINE u32 find_own(const T& tables, Packet& packet, u32 backend) {
  const Backend& line = tables.backend(backend);
  const Settings& settings = tables.settings();
  const NatEnds& ends = nat_ends(line);
  const bool snat = line.flags & backend_flag::snat;
  const u64 addresses =
      hash_addresses(settings, packet.family, ends.backend, snat ? ends.node : packet.source);
  const be16 port = has_ports(packet.protocol) ? ends.port : be16{0};
  const bool chooses = snat && has_ports(packet.protocol);
  const bool opens = packet.protocol == wire::protocol_tcp && (packet.tcp_flags & wire::tcp_syn);
  const be16 known = chooses ? node_port_of(tables, packet, backend) : be16{0};
  const u32 tries = chooses && known == 0 ? limits::snat_tries : 1;
  be16 peer_port = snat ? be16{0} : packet.source_port;
  packet.reply_key = 0;
  packet.translation = no_translation;
  for (u32 n = 0; n < limits::snat_tries && n < tries; n++) {
    if (chooses) {
      peer_port = known != 0 ? known : port_of(settings, tables.worker(), packet.hash, n);
    }
    const u64 key =
        hash_ports(settings, addresses, packet.family, port, peer_port, packet.protocol) | 1;
    const u32 at = find_translation_apart(&tables, key);
    if (at != no_translation && is_of(tables.translation(at), packet)) {
      packet.reply_key = key;
      packet.translation = at;
      packet.node_port = chooses ? peer_port : be16{0};
      return 1;
    }
    if (at != no_translation || packet.reply_key != 0) continue;
    packet.reply_key = key;
    packet.node_port = chooses ? peer_port : be16{0};
    if (opens) break;  // a flow that goes on might have a port farther on
  }
  return 0;
}

template <Tables T>
[[gnu::noinline]] u32 find_own_apart(const T* tables, Packet* packet, u32 backend) {
  return find_own(*tables, *packet, backend);
}

// Remembers what find_own() has found, or found room for. 0: there is none after all.
template <Frame F, Tables T>
FAIRLEAD_INLINE u32 remember_own(const F& frame, const T& tables, const Packet& packet, u64 known,
                                 bool wide) {
  const Link* link = frame.template at<Link>(0);
  if (packet.reply_key == 0 || !link) return 0;
  const u32 tag = (tables.worker() & 0x3f) | (wide ? translations_detail::wide_bit : 0);
  Translation entry{};
  entry.meta = meta_of(tables.now(), tag, static_cast<State>(known >> 16 & 0xf),
                       static_cast<u32>(known & 0xffff));
  __builtin_memcpy(entry.facts.next_hop, link->source, sizeof entry.facts.next_hop);
  if (packet.translation != no_translation) {
    Translation& line = tables.translation(packet.translation);
    __builtin_memcpy(line.facts.next_hop, entry.facts.next_hop, sizeof line.facts.next_hop);
    if (line.meta.word == entry.meta.word) return 1;
    line.meta = entry.meta;
  }
  entry.client = packet.source;
  entry.vip = packet.destination;
  entry.facts.client_port = packet.source_port;
  entry.facts.vip_port = packet.destination_port;
  entry.facts.node_port = packet.node_port;
  entry.facts.service = static_cast<u16>(known >> 32);
  entry.facts.vip_id = static_cast<u16>(known >> 48);
  if (packet.translation == no_translation &&
      add_translation_apart(&tables, packet.reply_key, &entry) == no_translation) {
    return 0;
  }
  if (packet.node_port == 0) return 1;
  const u64 key = request_key(tables.settings(), packet);
  const u32 at = find_translation_apart(&tables, key);
  if (at == no_translation)
    add_translation_apart(&tables, key, &entry);
  else
    tables.translation(at).meta = entry.meta;
  return 1;
}

template <class Handle, Tables T>
[[gnu::noinline]] u32 remember_own_apart(const Handle* handle, const T* tables,
                                         const Packet* packet, u64 known, u32 wide) {
  return remember_own(*handle, *tables, *packet, known, wide != 0);
}

}  // namespace translate_detail

// Remembers how the replies of a flow find back, as long as a connection of this state lives.
// `known`: backend | state << 16 | service << 32 | VIP << 48. False: there is no room, or the
// client speaks to the same backend through another VIP from the same port, which nobody could tell
// apart.
template <Frame F, Tables T>
FAIRLEAD_INLINE bool translate(const F& frame, const T& tables, Packet& packet, u64 known,
                               bool wide) {
  using namespace translate_detail;
  find_own_apart(&tables, &packet, static_cast<u32>(known & 0xffff));
  return remember_own_apart(frame.handle(), &tables, &packet, known, wide) != 0;
}

namespace translate_detail {

// A reply keeps the connection alive that it belongs to, whichever worker has it.
template <Tables T>
FAIRLEAD_INLINE u32 refresh_connection(const T& tables, u32 line, Family family, u8 protocol) {
  const Translation& entry = tables.translation(line);
  const u32 tag = tag_of(entry.meta);
  const u64 hash = flow_hash(tables.settings(), family, entry.client, entry.vip,
                             entry.facts.client_port, entry.facts.vip_port, protocol);
  const auto& owner = tables.of_worker(tag & 0x3f);
  const bool wide = tag & translations_detail::wide_bit;
  Meta* meta = nullptr;
  if (family == Family::v4 && !wide) {
    meta = find_connection<NarrowBucket>(
        owner, narrow_key(entry.client.word[0], entry.facts.client_port, entry.facts.service),
        hash);
  } else {
    meta = find_connection<WideBucket>(
        owner,
        wide_key(entry.client, entry.facts.client_port, wide ? hash >> 16 : entry.facts.service),
        hash);
  }
  if (!meta || !is_live(*meta, tables.now(), tables.settings())) return 0;
  const Meta before = *meta;
  const Meta after = meta_of(tables.now(), tag_of(before), state_of(before), backend_of(before));
  if (before.word != after.word) __sync_bool_compare_and_swap(&meta->word, before.word, after.word);
  return 1;
}

template <Tables T>
[[gnu::noinline]] u32 refresh_connection_apart(const T* tables, u32 line, u32 family,
                                               u32 protocol) {
  return refresh_connection(*tables, line, static_cast<Family>(family), static_cast<u8>(protocol));
}

// Later fragments of a reply find back by what they share with the first. With snat that is the
// same for all clients but for the identification, so the last datagram that has a number keeps it.
template <Tables T>
FAIRLEAD_INLINE void remember_reply_fragment(const T& tables, const Packet& packet, u32 line) {
  const u64 key = reply_fragment_key(tables.settings(), packet);
  const Translation& flow = tables.translation(line);
  const u32 known = find_translation_apart(&tables, key);
  if (known != no_translation) {
    Translation& before = tables.translation(known);
    const u64 word = before.meta.word;
    const bool same = before.client == flow.client && before.vip == flow.vip &&
                      before.facts.client_port == flow.facts.client_port &&
                      before.facts.vip_port == flow.facts.vip_port;
    if (same) return;
    __sync_bool_compare_and_swap(&before.meta.word, word, u64{0});  // nobody's from now on
  }
  Translation entry = flow;
  entry.meta = meta_of(tables.now(), tag_of(entry.meta), State::other, backend_of(entry.meta));
  add_translation_apart(&tables, key, &entry);
}

// The key that a packet to no VIP would have as a reply; 0: it can be none.
template <Frame F, Tables T>
FAIRLEAD_INLINE u64 key_of_reply(const F& frame, const T& tables, const Packet& packet) {
  const Settings& settings = tables.settings();
  if (packet.shape == Shape::later_fragment) return reply_fragment_key(settings, packet);
  if (packet.shape == Shape::flow) {
    return reply_key(settings, packet.family, packet.protocol, packet.source, packet.source_port,
                     packet.destination, packet.destination_port);
  }
  if (packet.shape != Shape::icmp) return 0;
  const wire::Icmp* icmp = frame.template at<wire::Icmp>(packet.l4);
  if (!icmp || !is_icmp_error(packet.family, icmp->type)) return 0;
  Flow quote;
  if (!read_quote(frame, packet, quote)) return 0;
  return reply_key(settings, quote.family, quote.protocol, quote.source, quote.source_port,
                   quote.destination, quote.destination_port);
}

}  // namespace translate_detail

// The line of the connection that a packet to no VIP answers, or that an ICMP error on its way back
// is about; no_translation: it is none of ours. Changes nothing.
template <Frame F, Tables T>
FAIRLEAD_INLINE u32 find_reply(const F& frame, const T& tables, const Packet& packet) {
  const u64 key = translate_detail::key_of_reply(frame, tables, packet);
  return key == 0 ? no_translation : find_translation_apart(&tables, key);
}

// The same, and keeps the connection alive.
template <Frame F, Tables T>
FAIRLEAD_INLINE u32 follow_reply(const F& frame, const T& tables, const Packet& packet) {
  using namespace translate_detail;
  const u32 line = find_reply(frame, tables, packet);
  if (line == no_translation || packet.shape != Shape::flow) return line;
  Translation& entry = tables.translation(line);
  const Meta before = entry.meta;
  const Meta after = meta_of(tables.now(), tag_of(before), state_of(before), backend_of(before));
  if (before.word != after.word) {
    entry.meta = after;
    refresh_connection_apart(&tables, line, static_cast<u32>(packet.family), packet.protocol);
  }
  if (packet.first_fragment) remember_reply_fragment(tables, packet, line);
  return line;
}

template <class Handle, Tables T>
[[gnu::noinline]] u32 follow_reply_apart(const Handle* handle, const T* tables,
                                         const Packet* packet) {
  return follow_reply(*handle, *tables, *packet);
}

// A packet of a client on its way to the backend.
template <Frame F>
FAIRLEAD_INLINE bool rewrite_nat(const F& frame, const Backend& backend, const Packet& packet) {
  using namespace translate_detail;
  const NatEnds& nat = nat_ends(backend);
  const bool snat = backend.flags & backend_flag::snat;
  Link* link = frame.template at<Link>(0);
  if (!link) return false;
  __builtin_memcpy(link, backend.macs, sizeof *link);
  if (packet.shape != Shape::icmp) {
    exchange(frame, spot_of(packet), {nat.node, nat.backend, packet.node_port, nat.port}, snat,
             true);
    return true;
  }
  // An error about a reply: it quotes what the backend had sent.
  Flow quote;
  if (!read_quote(frame, packet, quote)) return false;
  const Ends outer{nat.node, nat.backend, 0, 0};
  const Ends inner{nat.backend, nat.node, nat.port, packet.node_port};
  return exchange_error(frame, packet, quote, outer, false, true, inner, true, snat);
}

template <class Handle>
[[gnu::noinline]] bool rewrite_nat_apart(const Handle* handle, const Backend* backend,
                                         const Packet* packet) {
  return rewrite_nat(*handle, *backend, *packet);
}

// A reply, or an error about what the client had sent, on its way to the client.
template <Frame F, Tables T>
FAIRLEAD_INLINE bool rewrite_reply(const F& frame, const T& tables, const Packet& packet) {
  using namespace translate_detail;
  const Translation& entry = tables.translation(packet.translation);
  const Settings& settings = tables.settings();
  Link* link = frame.template at<Link>(0);
  if (!link) return false;
  __builtin_memcpy(link->source, link->destination, sizeof link->source);
  __builtin_memcpy(link->destination,
                   settings.has_gateway ? settings.gateway : entry.facts.next_hop,
                   sizeof link->destination);
  const Ends ends{entry.vip, entry.client, entry.facts.vip_port, entry.facts.client_port};
  const bool snat = tables.backend(backend_of(entry.meta)).flags & backend_flag::snat;
  if (packet.shape != Shape::icmp) {
    exchange(frame, spot_of(packet), ends, true, snat);
    return true;
  }
  Flow quote;
  if (!read_quote(frame, packet, quote)) return false;
  const bool from_backend = packet.source == quote.source;
  const Ends inner{entry.client, entry.vip, entry.facts.client_port, entry.facts.vip_port};
  return exchange_error(frame, packet, quote, ends, from_backend, snat, inner, snat, true);
}

template <class Handle, Tables T>
[[gnu::noinline]] bool rewrite_reply_apart(const Handle* handle, const T* tables,
                                           const Packet* packet) {
  return rewrite_reply(*handle, *tables, *packet);
}

}  // namespace fairlead::core
