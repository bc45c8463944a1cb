# Configures SOURCE in BINARY from nothing with OPTIONS. Then builds TARGET; or, when it is empty, builds all and runs
# the project's tests.
file(REMOVE_RECURSE "${BINARY}")
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BINARY}" -G "${GENERATOR}" ${OPTIONS}
  COMMAND_ERROR_IS_FATAL ANY)
if(TARGET)
  execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BINARY}" --target "${TARGET}" COMMAND_ERROR_IS_FATAL ANY)
else()
  execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BINARY}" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${CMAKE_CTEST_COMMAND}" --test-dir "${BINARY}" --output-on-failure --no-tests=error
    COMMAND_ERROR_IS_FATAL ANY)
endif()
