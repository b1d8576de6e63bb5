// SPDX-License-Identifier: MIT OR GPL-2.0-only
// What a BPF program written in C++ needs and libbpf's bpf_helpers.h cannot give (it is C only: its
// helpers are `void *` to function pointer conversions). Three things: section and map macros with
// the spelling that libbpf's loader and everybody's documentation use, the kernel's helpers as
// functions, and the licence line.
//
// A helper is a call to the address that equals its number (BPF_FUNC_*, bpf-helpers(7)); the
// verifier patches it. The number must therefore be a constant after inlining: everything here is
// always_inline. Rules for programs: maps are structs WITH a name (BTF has no anonymous C++
// structs), programs and maps are extern "C" or at least have C names:
//
//   extern "C" {
//   struct counters_map {
//     __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
//     __uint(max_entries, 4);
//     __type(key, __u32);
//     __type(value, __u64);
//   } counters SEC(".maps");
//
//   SEC("xdp") int program(struct xdp_md* context) { ... }
//   }
//   BPF_LICENSE("Dual MIT/GPL");
//
// For BPF sources only; the host never includes it.
#pragma once

#include <linux/bpf.h>

#define SEC(name) __attribute__((section(name), used))

// Attributes of a map: libbpf reads numbers from the BTF of pointers to arrays, types from the BTF
// of pointers. `__array`, last in its struct, is for the values of maps of maps and of PROG_ARRAY.
#define __uint(name, val) int(*name)[val]
#define __type(name, val) __typeof__(val)* name
#define __array(name, val)                                                                      \
  _Pragma("clang diagnostic push")                                                              \
      _Pragma("clang diagnostic ignored \"-Wc99-extensions\"") __typeof__(val)* name[] _Pragma( \
          "clang diagnostic pop")

#define BPF_LICENSE(text) extern "C" constexpr char bpf_license[] SEC("license") = text

// Keeps the compiler from moving or merging what it knows about `value`: the verifier must see the
// check and the use on the same register.
#define BPF_BARRIER(value) __asm__ volatile("" : "+r"(value))

namespace fairlead::bpf {

// Kernel constants newer than the UAPI headers of Debian 12 are written out by whoever needs them.

namespace detail {
template <class R, class... Arguments>
[[gnu::always_inline]] inline R call(long id, Arguments... arguments) {
  return reinterpret_cast<R (*)(Arguments...)>(id)(arguments...);
}
}  // namespace detail

// A pointer into the map's value, or null. T is the map's value type.
template <class T, class Map, class Key>
[[gnu::always_inline]] inline T* map_lookup_elem(Map* map, const Key* key) {
  return static_cast<T*>(
      detail::call<void*, void*, const void*>(BPF_FUNC_map_lookup_elem, map, key));
}

// 0 or a negative errno. flags: BPF_ANY, BPF_NOEXIST, BPF_EXIST.
template <class Map, class Key, class Value>
[[gnu::always_inline]] inline long map_update_elem(Map* map, const Key* key, const Value* value,
                                                   __u64 flags) {
  return detail::call<long, void*, const void*, const void*, __u64>(BPF_FUNC_map_update_elem, map,
                                                                    key, value, flags);
}

template <class Map, class Key>
[[gnu::always_inline]] inline long map_delete_elem(Map* map, const Key* key) {
  return detail::call<long, void*, const void*>(BPF_FUNC_map_delete_elem, map, key);
}

// Moves the start of the packet: delta < 0 makes room, > 0 cuts. Every packet pointer is void
// after.
[[gnu::always_inline]] inline long xdp_adjust_head(xdp_md* context, int delta) {
  return detail::call<long, xdp_md*, int>(BPF_FUNC_xdp_adjust_head, context, delta);
}

// Moves the end of the packet. Every packet pointer is void after.
[[gnu::always_inline]] inline long xdp_adjust_tail(xdp_md* context, int delta) {
  return detail::call<long, xdp_md*, int>(BPF_FUNC_xdp_adjust_tail, context, delta);
}

// Copies out of and into the packet, all fragments of a multi-buffer frame included.
[[gnu::always_inline]] inline long xdp_load_bytes(xdp_md* context, __u32 offset, void* to,
                                                  __u32 length) {
  return detail::call<long, xdp_md*, __u32, void*, __u32>(BPF_FUNC_xdp_load_bytes, context, offset,
                                                          to, length);
}
[[gnu::always_inline]] inline long xdp_store_bytes(xdp_md* context, __u32 offset, const void* from,
                                                   __u32 length) {
  return detail::call<long, xdp_md*, __u32, const void*, __u32>(
      BPF_FUNC_xdp_store_bytes, context, offset, const_cast<void*>(from), length);
}
[[gnu::always_inline]] inline __u64 xdp_get_buff_len(xdp_md* context) {
  return detail::call<__u64, xdp_md*>(BPF_FUNC_xdp_get_buff_len, context);
}

// The verdict to return. The low two bits of `flags` are the verdict when `key` has no entry.
template <class Map>
[[gnu::always_inline]] inline long redirect_map(Map* map, __u64 key, __u64 flags) {
  return detail::call<long, void*, __u64, __u64>(BPF_FUNC_redirect_map, map, key, flags);
}
[[gnu::always_inline]] inline long redirect(__u32 ifindex, __u64 flags) {
  return detail::call<long, __u32, __u64>(BPF_FUNC_redirect, ifindex, flags);
}

// Returns only when there is no such program.
template <class Map>
[[gnu::always_inline]] inline long tail_call(void* context, Map* programs, __u32 index) {
  return detail::call<long, void*, void*, __u32>(BPF_FUNC_tail_call, context, programs, index);
}

[[gnu::always_inline]] inline __u64 jiffies64() { return detail::call<__u64>(BPF_FUNC_jiffies64); }

[[gnu::always_inline]] inline __u64 ktime_get_ns() {
  return detail::call<__u64>(BPF_FUNC_ktime_get_ns);
}

[[gnu::always_inline]] inline __u32 get_smp_processor_id() {
  return detail::call<__u32>(BPF_FUNC_get_smp_processor_id);
}

}  // namespace fairlead::bpf
