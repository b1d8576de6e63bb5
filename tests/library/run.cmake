# SPDX-License-Identifier: MIT
# cmake -DBUILD=… -DCONSUMER=… -DCOMPILER=… -DFLAGS=… -DGENERATOR=… -P run.cmake
set(work "${BUILD}/installed_library")
file(REMOVE_RECURSE "${work}")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --component maglev --prefix "${work}/prefix")
run("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${CONSUMER}" -B "${work}/build"
    "-DCMAKE_PREFIX_PATH=${work}/prefix" "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_CXX_FLAGS=${FLAGS}")
run("${CMAKE_COMMAND}" --build "${work}/build")
run("${work}/build/consumer")
