# Finds standalone Asio, for which Debian ships neither a package config nor a pkg-config file.
#
#   Asio::asio     the headers, in standalone mode, with the threads library
#   Asio_VERSION   as asio/version.hpp has it
find_path(Asio_INCLUDE_DIR NAMES asio/version.hpp DOC "Where asio.hpp is")
mark_as_advanced(Asio_INCLUDE_DIR)

unset(Asio_VERSION)
if(Asio_INCLUDE_DIR)
  # One number: 1.22.1 is written 102201.
  file(STRINGS "${Asio_INCLUDE_DIR}/asio/version.hpp" _asio_version REGEX "^#define ASIO_VERSION [0-9]+")
  if(_asio_version MATCHES "([0-9]+)")
    math(EXPR _asio_major "${CMAKE_MATCH_1} / 100000")
    math(EXPR _asio_minor "${CMAKE_MATCH_1} / 100 % 1000")
    math(EXPR _asio_patch "${CMAKE_MATCH_1} % 100")
    set(Asio_VERSION "${_asio_major}.${_asio_minor}.${_asio_patch}")
  endif()
  unset(_asio_version)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Asio REQUIRED_VARS Asio_INCLUDE_DIR VERSION_VAR Asio_VERSION)

if(Asio_FOUND AND NOT TARGET Asio::asio)
  find_package(Threads REQUIRED)
  add_library(Asio::asio INTERFACE IMPORTED)
  set_target_properties(Asio::asio PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${Asio_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS ASIO_STANDALONE
    INTERFACE_LINK_LIBRARIES Threads::Threads)
  if(Asio_VERSION VERSION_LESS 1.26)
    # Else Asio allocates in one of two ways, by whether a standard header came before its own: sources that differ in
    # that free each other's memory in the wrong way.
    set_property(TARGET Asio::asio APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS ASIO_DISABLE_STD_ALIGNED_ALLOC)
  endif()
  # Asio before 1.26 does not see by itself that clang has coroutines.
  if(Asio_VERSION VERSION_LESS 1.26)
    set_property(TARGET Asio::asio APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS
      $<$<COMPILE_LANG_AND_ID:CXX,Clang>:ASIO_HAS_CO_AWAIT>
      $<$<COMPILE_LANG_AND_ID:CXX,Clang>:ASIO_HAS_STD_COROUTINE>)
  endif()
endif()
