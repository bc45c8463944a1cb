# One library per layer of the house, and what every target of sluice's own is compiled with.

# sluice_options(<target>)
#
# Warnings and sanitizers. They are private to the target: a user's code is compiled as the user likes.
function(sluice_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
    -Woverloaded-virtual -Wcast-qual
    # GCC 12 inlines one of operator new and delete of a coroutine frame, and takes them for a mismatched pair.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>
    # Optimised, it takes a literal that is put before a string for a copy that overlaps itself (GCC bug 105651).
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict>
    $<$<BOOL:${SLUICE_WARNINGS_AS_ERRORS}>:-Werror>)
  if(SLUICE_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    # GCC takes what a sanitizer adds for reads of what was never written.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    # clang 14 puts what this check needs beside each function, where it cannot stand for a coroutine.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
    target_link_options(${target} PRIVATE -fsanitize=${SLUICE_SANITIZE})
    if(SLUICE_SANITIZE MATCHES "thread")
      # ThreadSanitizer does not understand fences.
      target_compile_definitions(${target} PRIVATE ASIO_DISABLE_FENCED_BLOCK)
    endif()
  endif()
  if(SLUICE_BUILD_FUZZERS)
    # What the fuzzers steer by.
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# sluice_layer(<name> SOURCES <file>... [PUBLIC <target>...] [PRIVATE <target>...])
#
# Defines the library sluice_<name>, known to users as sluice::<name>. Its public headers are all of include/sluice/<name>;
# its sources may include private headers as "<layer>/file.hpp". PUBLIC are the targets that its headers need, PRIVATE
# those that its sources alone need.
function(sluice_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  set(target sluice_${name})

  add_library(${target} ${arg_SOURCES})
  add_library(sluice::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    OUTPUT_NAME sluice-${name}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    POSITION_INDEPENDENT_CODE ON
    INSTALL_RPATH "$ORIGIN"
    DEFINE_SYMBOL "")

  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/sluice/${name}/*.hpp")
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${headers})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/lib")

  target_link_libraries(${target} PUBLIC ${arg_PUBLIC})
  foreach(needed IN LISTS arg_PRIVATE)
    # Headers that only the sources include are of no concern to whoever links the library later.
    get_target_property(type ${needed} TYPE)
    get_target_property(links ${needed} INTERFACE_LINK_LIBRARIES)
    if(type STREQUAL "INTERFACE_LIBRARY" AND NOT links)
      target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${needed}>)
    else()
      target_link_libraries(${target} PRIVATE ${needed})
    endif()
  endforeach()

  # Nobody replaces one of our functions with one of their own, so one may be inlined into another though the code can
  # also become a shared library: the way through a gate with room is a third shorter.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  sluice_options(${target})
  set_property(GLOBAL APPEND PROPERTY SLUICE_LAYERS ${name})
endfunction()
