# SPDX-License-Identifier: MIT
# The libraries that Fairlead links, all from Debian. Why each is here: docs/decisions/0001-dependencies.md.
# The names to link: PkgConfig::libbpf, PkgConfig::libxdp, PkgConfig::libmnl,
# tomlplusplus::tomlplusplus, nlohmann_json::nlohmann_json, CLI11::CLI11,
# fmt::fmt, Boost::headers, prometheus-cpp::pull, Threads::Threads.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(libbpf REQUIRED IMPORTED_TARGET libbpf)
pkg_check_modules(libxdp REQUIRED IMPORTED_TARGET libxdp)
pkg_check_modules(libmnl REQUIRED IMPORTED_TARGET libmnl)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(prometheus-cpp REQUIRED)
if(FAIRLEAD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(FAIRLEAD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()

# The BPF programs have a compiler of their own, whichever compiles the rest.
find_program(FAIRLEAD_BPF_CLANG NAMES clang++-19 REQUIRED)
