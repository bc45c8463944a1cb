#include "testing/unix_bridge.hpp"

#include <sluice/core/error.hpp>
#include <sluice/testing/mock_provider.hpp>

#include "testing/mock_fixture.hpp"

#include <sys/stat.h>
#include <asio.hpp>

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <string>

using namespace sluice::testing;
namespace fs = std::filesystem;

namespace {

// A directory of its own for each test.
class directory {
 public:
  directory() {
    std::string name = (fs::temp_directory_path() / "sluice-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~directory() { fs::remove_all(path_); }
  [[nodiscard]] std::string socket() const { return path_ / "s"; }

 private:
  fs::path path_;
};

mock_provider_options at(const std::string& path) {
  mock_provider_options options;
  options.unix_socket = path;
  return options;
}

class local_client {
 public:
  explicit local_client(const std::string& path) : socket_(context_) { socket_.connect({path}); }

  void send(const std::string& body) {
    const auto text = std::string("POST ") + chat_path +
                      " HTTP/1.1\r\nhost: x\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    asio::write(socket_, asio::buffer(text));
  }

  // Until `mark` has come; false when the connection ended before.
  bool wait_for(std::string_view mark) {
    asio::error_code failure;
    asio::read_until(socket_, asio::dynamic_buffer(seen), std::string(mark), failure);
    return !failure;
  }

  void close() { socket_.close(); }

  std::string seen;

 private:
  asio::io_context context_;
  asio::local::stream_protocol::socket socket_;
};

}  // namespace

TEST_CASE("the same provider over both") {
  const directory place;
  mock_provider provider(at(place.socket()));
  provider.reply_with(mock_reply::text("over there"));
  local_client client(place.socket());
  client.send(streamed().dump());
  REQUIRE(client.wait_for("0\r\n\r\n"));
  CHECK(client.seen.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(client.seen.find(R"({"content":" there"})") != std::string::npos);
  client.seen.clear();
  client.send(chat().dump());
  CHECK(client.wait_for("\"usage\""));
  loopback_client other(provider.port());
  CHECK(post(other, chat()).status == 200);
  CHECK(provider.stats().served == 3);
  CHECK(provider.stats().connections_opened == 2);
}

TEST_CASE("the end of either side is the end of the other") {
  const directory place;
  mock_provider provider(at(place.socket()));
  provider.fail_next(mock_fault::stall_after(1));
  provider.fail_next(mock_fault::hang_up_after(2));
  local_client leaver(place.socket());
  leaver.send(streamed().dump());
  REQUIRE(leaver.wait_for("water"));
  leaver.close();
  CHECK(provider.wait_until([](const mock_stats& stats) { return stats.cancelled == 1 && stats.connections == 0; }));
  local_client left(place.socket());
  left.send(streamed().dump());
  CHECK_FALSE(left.wait_for("[DONE]"));
  CHECK(left.seen.find("runs") != std::string::npos);
}

TEST_CASE("its file comes and goes, and replaces one that was left behind") {
  const directory place;
  {
    asio::io_context context;
    asio::local::stream_protocol::acceptor left(context, {place.socket()});
  }
  REQUIRE(fs::exists(place.socket()));
  {
    mock_provider provider(at(place.socket()));
    CHECK(fs::is_socket(place.socket()));
    local_client client(place.socket());
    client.send(chat().dump());
    CHECK(client.wait_for("choices"));
    provider.stop();
    CHECK_FALSE(client.wait_for("more"));
    CHECK_FALSE(fs::exists(place.socket()));
  }
  mock_provider again(at(place.socket()));
  CHECK(fs::is_socket(place.socket()));
}

TEST_CASE("a path that cannot be is one clear error, and what stands there stays") {
  const directory place;
  CHECK_THROWS_AS(mock_provider{at(place.socket() + "/none/s")}, sluice::error_exception);
  CHECK_THROWS_AS(mock_provider{at(place.socket() + std::string(200, 'x'))}, sluice::error_exception);
  std::ofstream(place.socket()) << "mine";
  CHECK_THROWS_AS(mock_provider{at(place.socket())}, sluice::error_exception);
  CHECK(fs::file_size(place.socket()) == 4);
}
