# Finds RESTinio through its own package config, and mends two things in it: it names fmt::fmt without finding it, and
# it switches off parts of Asio, so that one program would hold two different Asios.
find_package(fmt QUIET)
find_package(Asio QUIET)
if(fmt_FOUND AND Asio_FOUND)
  find_package(restinio ${restinio_FIND_VERSION} QUIET CONFIG)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(restinio
  REQUIRED_VARS restinio_CONFIG fmt_FOUND Asio_FOUND VERSION_VAR restinio_VERSION)

if(restinio_FOUND)
  set_target_properties(restinio::restinio PROPERTIES
    INTERFACE_COMPILE_DEFINITIONS ""
    INTERFACE_LINK_LIBRARIES "Asio::asio;fmt::fmt;http_parser")
endif()
