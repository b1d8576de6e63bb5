// SPDX-License-Identifier: MIT
#include "tables/holders.h"

#include <algorithm>

namespace fairlead::tables {
namespace {

bool has_snat(const Member& member) { return (member.line.flags & core::backend_flag::snat) != 0; }

bool is_of_a_kind(const Line& a, const Line& b) { return a.method == b.method && a.snat == b.snat; }

// The lines of a backend as they were, of nobody yet.
std::vector<Line>& lines_of(const Identity& backend, const Lines& before, Lines& lines) {
  const auto [at, fresh] = lines.try_emplace(backend);
  if (!fresh) return at->second;
  if (const auto old = before.find(backend); old != before.end()) {
    at->second = old->second;
    for (Line& line : at->second) line.member = Line::nobody;
  }
  return at->second;
}

uint32_t unused_turn(const std::vector<Line>& lines) {
  uint32_t turn = 0;
  while (std::ranges::find(lines, turn, &Line::turn) != lines.end()) turn++;
  return turn;
}

// Gives `wanted` its turn: that of a line of its kind without a pool, else a new one.
void place(std::vector<Line>& lines, Line wanted) {
  const auto orphan = std::ranges::find_if(lines, [&](const Line& line) {
    return line.member == Line::nobody && is_of_a_kind(line, wanted);
  });
  wanted.turn = orphan == lines.end() ? unused_turn(lines) : orphan->turn;
  if (orphan == lines.end()) {
    lines.push_back(std::move(wanted));
  } else {
    *orphan = std::move(wanted);
  }
}

// The members whose lines `orphan` follows; none: it is gone.
std::vector<uint32_t> leaders_of(const Line& orphan, const std::vector<Line>& lines) {
  std::vector<uint32_t> members;
  for (const Line& line : lines) {
    if (line.member != Line::nobody && is_of_a_kind(line, orphan)) members.push_back(line.member);
  }
  return members;
}

void name_lines(const Identity& backend, std::vector<Line>& lines, Holding& out) {
  std::vector<uint32_t> gone;
  for (const Line& line : lines) {
    if (line.member != Line::nobody) {
      out.keys[line.member] = {backend, line.turn};
      continue;
    }
    std::vector<uint32_t> leaders = leaders_of(line, lines);
    if (leaders.empty()) {
      gone.push_back(line.turn);
      continue;
    }
    out.followers.push_back({static_cast<uint32_t>(out.keys.size()), std::move(leaders)});
    out.keys.push_back({backend, line.turn});
  }
  std::erase_if(lines,
                [&](const Line& line) { return std::ranges::find(gone, line.turn) != gone.end(); });
}

}  // namespace

Holding hold(const Lines& before, std::span<const Pool> pools) {
  struct Newcomer {
    const Identity* backend;
    Line line;
  };
  Holding out;
  std::vector<Newcomer> newcomers;
  uint32_t position = 0;
  for (const Pool& pool : pools) {
    for (const Member& member : pool.members) {
      std::vector<Line>& lines = lines_of(member.identity, before, out.lines);
      Line wanted{0, pool.id, member.line.method, has_snat(member), position++};
      const auto known = std::ranges::find_if(lines, [&](const Line& line) {
        return line.pool == pool.id && line.member == Line::nobody;
      });
      if (known == lines.end()) {
        newcomers.push_back({&member.identity, std::move(wanted)});
        continue;
      }
      wanted.turn = known->turn;
      *known = std::move(wanted);
    }
  }
  // All others have theirs now, so what is left over has lost its pool.
  for (Newcomer& one : newcomers) place(out.lines.at(*one.backend), std::move(one.line));
  out.keys.resize(position);
  for (auto& [backend, lines] : out.lines) name_lines(backend, lines, out);
  return out;
}

}  // namespace fairlead::tables
