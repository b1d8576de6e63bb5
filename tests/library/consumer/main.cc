// SPDX-License-Identifier: MIT
#include <fairlead/maglev.h>

#include <cstdio>
#include <string>
#include <vector>

int main() {
  fairlead::Maglev maglev({{"cache-1"}, {"cache-2", 3}, {"cache-3"}});
  std::vector<int> counts(3);
  for (int i = 0; i < 10'000; i++) {
    counts[maglev.lookup(fairlead::Maglev::hash("key-" + std::to_string(i))).value()]++;
  }
  std::printf("%d %d %d\n", counts[0], counts[1], counts[2]);
  if (counts[1] < 5'500 || counts[1] > 6'500) return 1;
  maglev.set_usable(1, false);
  return maglev.lookup(7) == std::size_t{1} ? 1 : 0;
}
