# SPDX-License-Identifier: MIT
# Warnings, sanitizers and the compiler cache: what every translation unit is compiled with.

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
endif()

add_compile_options(
  -Wall -Wextra -Wpedantic -Werror
  -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wcast-align -Wnon-virtual-dtor
  -Woverloaded-virtual -Wimplicit-fallthrough -Wundef -Wformat=2
  -Wno-missing-field-initializers  # designated initialisers leave the rest at its default on purpose
  -fno-strict-overflow -fdiagnostics-color=auto)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives of g++ 12 inside inlined library code (GCC bugs 105329, 105562, 107852).
  add_compile_options(-Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow
                      -Wno-stringop-overread -Wno-array-bounds -Wno-dangling-pointer)
else()
  # libstdc++ 12's own std::stable_sort uses what it deprecates, and clang reports it at the caller.
  # LIBBPF_OPTS expands to a statement expression around a compound literal.
  add_compile_options(-Wno-unused-command-line-argument -Wno-deprecated-declarations
                      -Wno-gnu-statement-expression-from-macro-expansion -Wno-c99-extensions)
endif()

if(CMAKE_BUILD_TYPE STREQUAL "Debug" OR FAIRLEAD_SANITIZE)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()

if(FAIRLEAD_SANITIZE)
  add_compile_options(-fsanitize=${FAIRLEAD_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${FAIRLEAD_SANITIZE})
endif()
