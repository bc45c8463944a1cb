# Runs PROGRAM, which must end well, say nothing on stderr, and print exactly what is in the file EXPECTED.
execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE status OUTPUT_VARIABLE printed ERROR_VARIABLE complaints)
file(READ "${EXPECTED}" expected)
if(NOT status EQUAL 0 OR NOT complaints STREQUAL "" OR NOT printed STREQUAL expected)
  message(FATAL_ERROR "${PROGRAM} ended with ${status}\nstderr: ${complaints}\nprinted:\n${printed}\nexpected:\n${expected}")
endif()
