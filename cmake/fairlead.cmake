# SPDX-License-Identifier: MIT
# The functions with which each folder declares what it holds:
#   fairlead_library(name SOURCES a.cc ... DEPENDS lib ...)   no SOURCES: headers only
#   fairlead_test(name SOURCES a_test.cc ... DEPENDS lib ... [TIMEOUT seconds])
#   fairlead_bench(name SOURCES a_bench.cc ... DEPENDS lib ...)
#   fairlead_fuzz(name SOURCES a_fuzz.cc ... DEPENDS lib ...)
#   fairlead_bpf(name SOURCE x.bpf.cc DEPENDS target-or-file ...)   links as <name>_bpf
# Includes are relative to src/. A library may depend only on folders below its own;
# fairlead_check_layers() holds that when everything is declared, tests/house the includes themselves.

set(FAIRLEAD_GENERATED "${PROJECT_BINARY_DIR}/generated")
configure_file("${CMAKE_CURRENT_LIST_DIR}/version.h.in" "${FAIRLEAD_GENERATED}/base/version.h" @ONLY)

function(fairlead_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  fairlead_refuse_unknown(${name} "${arg_UNPARSED_ARGUMENTS}")
  if(arg_SOURCES)
    add_library(${name} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${name} ${scope} "${PROJECT_SOURCE_DIR}/src" "${FAIRLEAD_GENERATED}")
  target_link_libraries(${name} ${scope} ${arg_DEPENDS})
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}/src" "${CMAKE_CURRENT_SOURCE_DIR}")
  set_property(GLOBAL APPEND PROPERTY fairlead_libraries ${name})
  set_property(GLOBAL PROPERTY fairlead_${name}_folder "${folder}")
  set_property(GLOBAL PROPERTY fairlead_${name}_depends "${arg_DEPENDS}")
endfunction()

# A GoogleTest program, run whole by ctest; its XML report is where tests/run counts the cases.
function(fairlead_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;DEPENDS")
  fairlead_refuse_unknown(${name} "${arg_UNPARSED_ARGUMENTS}")
  if(NOT FAIRLEAD_TESTS)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${FAIRLEAD_GENERATED}")
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/unit"
                        CXX_CLANG_TIDY "")
  add_test(NAME ${name} COMMAND ${name}
           "--gtest_output=xml:${PROJECT_BINARY_DIR}/unit/reports/${name}.xml")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT}
                       WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
endfunction()

# A Google Benchmark program; `make bench` runs every one in build/release/bench.
function(fairlead_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  fairlead_refuse_unknown(${name} "${arg_UNPARSED_ARGUMENTS}")
  if(NOT FAIRLEAD_BENCHMARKS)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${FAIRLEAD_GENERATED}")
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} benchmark::benchmark_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench"
                        CXX_CLANG_TIDY "")
endfunction()

# A libFuzzer program (LLVMFuzzerTestOneInput) in the fuzz preset, where `make fuzz` runs each one. In other
# presets it is compiled and not linked, so that it does not rot.
function(fairlead_fuzz name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  fairlead_refuse_unknown(${name} "${arg_UNPARSED_ARGUMENTS}")
  if(NOT FAIRLEAD_FUZZ)
    add_library(${name} OBJECT ${arg_SOURCES})
  else()
    add_executable(${name} ${arg_SOURCES})
  endif()
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${FAIRLEAD_GENERATED}")
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS})
  if(NOT FAIRLEAD_FUZZ)
    return()
  endif()
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
endfunction()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(FAIRLEAD_BPF_TARGET x86)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(FAIRLEAD_BPF_TARGET arm64)
else()
  message(FATAL_ERROR "No BPF target name is known for ${CMAKE_SYSTEM_PROCESSOR}: add it here")
endif()
# Debian keeps asm/types.h in a folder of the architecture, which -target bpf does not search.
set(FAIRLEAD_BPF_INCLUDES "-I${PROJECT_SOURCE_DIR}/src" "-I${FAIRLEAD_GENERATED}")
if(CMAKE_LIBRARY_ARCHITECTURE)
  list(APPEND FAIRLEAD_BPF_INCLUDES -isystem "/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}")
endif()
set(FAIRLEAD_BPF_FLAGS
    -std=c++20 -O2 -g -mcpu=v3 -target bpf -D__TARGET_ARCH_${FAIRLEAD_BPF_TARGET}
    ${FAIRLEAD_BPF_INCLUDES} -fno-exceptions -fno-rtti -fno-stack-protector -ffreestanding
    -nostdinc++ -DFAIRLEAD_WIRE_ALIGNMENT=4 -Wall -Wextra -Werror)

# Compiles a BPF program and embeds the object. <name>.bpf.h declares
#   namespace fairlead::bpf { std::span<const std::byte> <name>(); }
# The object itself stays at <build>/bpf/<name>.bpf.o for bpftool and the verifier's log.
function(fairlead_bpf name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE" "DEPENDS")
  fairlead_refuse_unknown(${name} "${arg_UNPARSED_ARGUMENTS}")
  get_filename_component(source "${arg_SOURCE}" ABSOLUTE)
  set(object "${PROJECT_BINARY_DIR}/bpf/${name}.bpf.o")
  set(header "${FAIRLEAD_GENERATED}/${name}.bpf.h")
  set(embedded "${FAIRLEAD_GENERATED}/${name}.bpf.embed.cc")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/bpf")
  add_custom_command(
    OUTPUT "${object}"
    COMMAND "${FAIRLEAD_BPF_CLANG}" ${FAIRLEAD_BPF_FLAGS} -MD -MF "${object}.d" -MT "${object}"
            -c "${source}" -o "${object}"
    DEPENDS "${source}" ${arg_DEPENDS}
    DEPFILE "${object}.d"
    COMMENT "Compiling BPF program ${name}"
    COMMAND_EXPAND_LISTS VERBATIM)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/bpf.h.in" "${header}" @ONLY)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/bpf.embed.cc.in" "${embedded}" @ONLY)
  set_property(SOURCE "${embedded}" PROPERTY OBJECT_DEPENDS "${object}")
  add_library(${name}_bpf STATIC "${embedded}" "${object}" "${header}")
  set_property(SOURCE "${object}" PROPERTY EXTERNAL_OBJECT FALSE)
  target_include_directories(${name}_bpf PUBLIC "${FAIRLEAD_GENERATED}")
endfunction()

function(fairlead_refuse_unknown name words)
  if(words)
    message(FATAL_ERROR "${name}: what is \"${words}\"? See cmake/fairlead.cmake")
  endif()
endfunction()

# Sets layers_of_FOLDER to what that folder may know, and `strangers` to "a>b" for those that must not know each
# other: cmake/layers.txt.
macro(fairlead_read_layers)
  set(file "${PROJECT_SOURCE_DIR}/cmake/layers.txt")
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(STRINGS "${file}" lines)
  set(strangers)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE " *#.*" "" line "${line}")
    if(line MATCHES "^([a-z]+):(.*)$")
      set(folder "${CMAKE_MATCH_1}")
      separate_arguments(known UNIX_COMMAND "${CMAKE_MATCH_2}")
      set(layers_of_${folder} ${folder} ${known})
    elseif(line MATCHES "^([^ ]+) x ([^ ]+)$")
      list(APPEND strangers "${CMAKE_MATCH_1}>${CMAKE_MATCH_2}" "${CMAKE_MATCH_2}>${CMAKE_MATCH_1}")
    elseif(line)
      message(FATAL_ERROR "${file}: what is \"${line}\"?")
    endif()
  endforeach()
endmacro()

function(fairlead_check_layers)
  fairlead_read_layers()
  get_property(libraries GLOBAL PROPERTY fairlead_libraries)
  foreach(name IN LISTS libraries)
    get_property(folder GLOBAL PROPERTY fairlead_${name}_folder)
    get_property(depends GLOBAL PROPERTY fairlead_${name}_depends)
    string(REGEX MATCH "^[^/]+" top "${folder}")
    if(NOT layers_of_${top})
      message(FATAL_ERROR "src/${folder} (${name}) has no place in cmake/layers.txt")
    endif()
    foreach(dependency IN LISTS depends)
      get_property(below GLOBAL PROPERTY fairlead_${dependency}_folder)
      string(REGEX MATCH "^[^/]+" top_below "${below}")
      if(below AND (NOT top_below IN_LIST layers_of_${top} OR "${folder}>${below}" IN_LIST strangers))
        message(FATAL_ERROR "src/${folder} (${name}) must not depend on src/${below} (${dependency}): "
                            "cmake/layers.txt")
      endif()
    endforeach()
  endforeach()
endfunction()
