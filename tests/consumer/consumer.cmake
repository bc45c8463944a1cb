# What both consumers do once sluice's targets are there.

# A user's own flags: sluice's headers are silent under them, and sluice adds none of its own.
add_compile_options(-Wall -Wextra -Wpedantic -Werror)
foreach(target sluice core config sim runtime http llm agent)
  foreach(property INTERFACE_COMPILE_OPTIONS INTERFACE_LINK_OPTIONS INTERFACE_COMPILE_DEFINITIONS)
    get_target_property(leaked sluice::${target} ${property})
    if(leaked)
      message(SEND_ERROR "sluice::${target} makes its users compile with ${property} ${leaked}")
    endif()
  endforeach()
endforeach()

add_executable(consumer "${CMAKE_CURRENT_LIST_DIR}/admit_once.cpp")
target_link_libraries(consumer PRIVATE sluice::sluice)
