# What the layers stand on. Each is found where Debian puts it; FindAsio, Findre2 and Findrestinio are shipped with the
# package.
find_package(Threads REQUIRED)
find_package(Asio 1.22 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(CURL 7.88 REQUIRED) # 7.87 broke curl_multi_socket_action
find_package(simdjson 3.0 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(valijson REQUIRED CONFIG)
find_package(re2 REQUIRED)
if(SLUICE_BUILD_TESTING)
  find_package(restinio 0.6.16 REQUIRED)
endif()
