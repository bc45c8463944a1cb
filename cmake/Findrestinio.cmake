# Finds RESTinio through its own package config, and mends what is wrong with it: it names fmt without finding it, and it
# switches off parts of Asio, so that one program would hold two different Asios. fmt is used as headers alone, so that
# http_parser is all that remains to be linked.
find_package(fmt QUIET)
find_package(Asio QUIET)
find_library(restinio_HTTP_PARSER NAMES http_parser DOC "The library http_parser, which RESTinio reads requests with")
mark_as_advanced(restinio_HTTP_PARSER)
if(fmt_FOUND AND Asio_FOUND)
  find_package(restinio ${restinio_FIND_VERSION} QUIET CONFIG)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(restinio
  REQUIRED_VARS restinio_CONFIG restinio_HTTP_PARSER fmt_FOUND Asio_FOUND VERSION_VAR restinio_VERSION)

if(restinio_FOUND)
  set_target_properties(restinio::restinio PROPERTIES
    INTERFACE_COMPILE_DEFINITIONS ""
    INTERFACE_LINK_LIBRARIES "Asio::asio;fmt::fmt-header-only;${restinio_HTTP_PARSER}")
endif()
