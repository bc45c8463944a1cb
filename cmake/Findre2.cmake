# Finds RE2: by its own package config where there is one, and else, as on Debian 12, by its header and its library.
#
#   re2::re2   the library, with its headers
find_package(re2 QUIET CONFIG)
if(NOT re2_FOUND)
  find_path(re2_INCLUDE_DIR NAMES re2/re2.h DOC "Where re2/re2.h is")
  find_library(re2_LIBRARY NAMES re2 DOC "The library of RE2")
  mark_as_advanced(re2_INCLUDE_DIR re2_LIBRARY)

  include(FindPackageHandleStandardArgs)
  find_package_handle_standard_args(re2 REQUIRED_VARS re2_LIBRARY re2_INCLUDE_DIR)

  if(re2_FOUND AND NOT TARGET re2::re2)
    find_package(Threads REQUIRED)
    add_library(re2::re2 UNKNOWN IMPORTED)
    set_target_properties(re2::re2 PROPERTIES
      IMPORTED_LOCATION "${re2_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${re2_INCLUDE_DIR}"
      INTERFACE_LINK_LIBRARIES Threads::Threads)
  endif()
endif()
