// SPDX-License-Identifier: MIT
// What an engine supplies to the path: a Frame, which is bytes with room in front, and Tables,
// which are the records with the engine's clock. Everything else is the core's.
//
// Cold parts of the path are functions of their own, called NAME_apart: the BPF verifier then
// checks them once instead of on every way that leads to them. BPF wants such a function with a
// plain name in .text, which no template can have, so an engine may overload NAME_apart for its own
// types; what the core has under that name serves everyone else. Into them go a Frame as its handle
// and other things as pointers, never null (the verifier wants to see them tested all the same).
#pragma once

#include "core/records.h"
#include "core/wire.h"

namespace fairlead::core {

template <class A, class B>
concept Same = __is_same(A, B);

template <class F>
concept Frame = requires(F frame, const F constant, typename F::Handle handle, u32 n) {
  F(handle);
  { constant.handle() } -> Same<typename F::Handle>;
  // Bytes from the Ethernet header to the end of the frame, padding included.
  { constant.length() } -> Same<u32>;
  // The header at this offset; null if it does not lie within the frame. n < 65,536.
  { constant.template at<wire::Ipv6>(n) } -> Same<wire::Ipv6*>;
  // Puts n bytes of undefined content in front; false if there is no room. Headers found before
  // are to be found anew.
  { frame.grow(n) } -> Same<bool>;
};

// Adds one to what all workers write; returns what it was.
FAIRLEAD_INLINE u64 add_shared(u64& counter) { return __sync_fetch_and_add(&counter, 1); }

template <class T>
concept Tables = requires(const T tables, u32 n) {
  { tables.now() } -> Same<Tick>;
  { tables.settings() } -> Same<const Settings&>;
  { tables.prefixes() } -> Same<const PrefixLengths&>;
  // Any index is allowed: it is taken modulo the array's size. Rows and branches: of the
  // current generation.
  { tables.row(n) } -> Same<const Row&>;
  { tables.branch(n) } -> Same<const Branch&>;
  { tables.table(n) } -> Same<TableRef>;
  // How many turns were taken in the pool whose first TableRef this is, and how many connections of
  // a backend are alive. Of all workers: to be added to with add_shared().
  { tables.turns_taken(n) } -> Same<u64&>;
  { tables.live(n) } -> Same<u64&>;
  { tables.slot(n) } -> Same<Slot>;
  { tables.backend(n) } -> Same<const Backend&>;
  // Connection lines of this worker.
  { tables.template line<NarrowBucket>(n) } -> Same<NarrowBucket&>;
  { tables.template line<WideBucket>(n) } -> Same<WideBucket&>;
  // Fragment mappings of all workers.
  { tables.fragment_line(n) } -> Same<NarrowBucket&>;
  // Connections of method nat, of all workers.
  { tables.translation(n) } -> Same<Translation&>;
  // The same as another worker sees them; and the number of this one.
  tables.of_worker(n);
  { tables.worker() } -> Same<u32>;
  { tables.counters() } -> Same<WorkerCounters&>;
  { tables.backend_counters(n) } -> Same<BackendCounters&>;
  { tables.service_counters(n) } -> Same<ServiceCounters&>;
};

}  // namespace fairlead::core
