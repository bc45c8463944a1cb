# The install tree: headers, libraries, and a package that find_package(sluice) understands. sluice::testing is a set of
# its own, since only it needs RESTinio.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(SLUICE_INSTALL_CMAKEDIR "${CMAKE_INSTALL_LIBDIR}/cmake/sluice" CACHE STRING "Where the CMake package is installed")

get_property(layers GLOBAL PROPERTY SLUICE_LAYERS)
foreach(layer IN LISTS layers)
  set(export sluiceTargets)
  if(layer STREQUAL "testing")
    set(export sluiceTestingTargets)
  endif()
  install(TARGETS sluice_${layer} EXPORT ${export} FILE_SET HEADERS)
endforeach()
install(TARGETS sluice EXPORT sluiceTargets FILE_SET HEADERS)

install(EXPORT sluiceTargets NAMESPACE sluice:: DESTINATION "${SLUICE_INSTALL_CMAKEDIR}")
if("testing" IN_LIST layers)
  install(EXPORT sluiceTestingTargets NAMESPACE sluice:: DESTINATION "${SLUICE_INSTALL_CMAKEDIR}")
endif()

set(SLUICE_SHARED OFF)
if(BUILD_SHARED_LIBS)
  set(SLUICE_SHARED ON)
endif()
configure_package_config_file(cmake/sluiceConfig.cmake.in sluiceConfig.cmake
  INSTALL_DESTINATION "${SLUICE_INSTALL_CMAKEDIR}" NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change what users see.
write_basic_package_version_file(sluiceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/sluiceConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/sluiceConfigVersion.cmake"
  cmake/FindAsio.cmake
  cmake/Findre2.cmake
  cmake/Findrestinio.cmake
  DESTINATION "${SLUICE_INSTALL_CMAKEDIR}")
