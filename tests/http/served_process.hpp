/// \file
/// Real programs for tests: a server of the system's, started on a free port of loopback with files in a folder of its
/// own, and gone with the object that stands for it.
#pragma once

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sluice::http::test {

/// The path of the program `name`, or nothing when it is not installed.
[[nodiscard]] inline std::string program(std::string_view name) {
  for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/", "/usr/local/bin/"}) {
    std::string path = folder + std::string(name);
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

/// Ends the test, and says so where ctest looks for it, when one of the programs named is not installed.
#define SLUICE_SKIP_WITHOUT(...)                                     \
  do {                                                               \
    for (const char* const needed : {__VA_ARGS__}) {                 \
      if (!::sluice::http::test::program(needed).empty()) continue;  \
      MESSAGE("SKIPPED: the program ", needed, " is not installed"); \
      return;                                                        \
    }                                                                \
  } while (false)

/// A folder that is gone, with all in it, when this is.
class temporary_folder {
 public:
  temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), "mkdtemp");
    path_ = name;
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  [[nodiscard]] std::string path(std::string_view name) const { return (path_ / name).string(); }
  /// Writes a file and gives its path.
  std::string write(std::string_view name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  [[nodiscard]] std::string read(std::string_view name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path path_;
};

/// Claims `port` among all processes that do so, as long as this one lives; false when another one has it.
[[nodiscard]] inline bool claim_port(unsigned short port) {
  const int claim = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  // A name that begins with NUL is in no folder, and goes with the socket.
  const std::string text = "sluice-test-port-" + std::to_string(port);
  text.copy(name.sun_path + 1, sizeof name.sun_path - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  if (::bind(claim, reinterpret_cast<const sockaddr*>(&name), size) == 0) return true;
  ::close(claim);
  return false;
}

/// A port of loopback that nobody listens on, and no other test will. None of those that the system gives to clients:
/// an attempt to connect to such a one may meet itself.
[[nodiscard]] inline unsigned short free_port() {
  static unsigned next = static_cast<unsigned>(::getpid()) * 53;
  for (int attempts = 0; attempts < 10'000; ++attempts) {
    const auto port = static_cast<unsigned short>(18'000 + next++ % 14'000);
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const bool free = ::bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(probe);
    if (free && claim_port(port)) return port;
  }
  throw std::runtime_error("no free port on loopback");
}

/// A child process; what it writes is kept in a file. Killed with this object, and with the test's process.
class served_process {
 public:
  served_process(const std::string& path, std::vector<std::string> arguments, std::string output)
      : name_(path), output_(std::move(output)) {
    std::vector<char*> argv{name_.data()};
    for (std::string& one : arguments) argv.push_back(one.data());
    argv.push_back(nullptr);
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    const int sink = ::open(output_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
    ::dup2(sink, 1);
    ::dup2(sink, 2);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ~served_process() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  served_process(const served_process&) = delete;
  served_process& operator=(const served_process&) = delete;

  /// Waits until somebody listens on `port`; false when the process ended instead. Throws after 20 s.
  [[nodiscard]] bool listens(unsigned short port) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!connects(port)) {
      if (::waitpid(process_, nullptr, WNOHANG) == process_) {
        process_ = 0;
        return false;
      }
      if (std::chrono::steady_clock::now() > give_up) throw std::runtime_error(name_ + " does not listen\n" + said());
      ::sched_yield();
    }
    return true;
  }
  /// Waits for its end; its status.
  int ended() {
    int status = -1;
    ::waitpid(std::exchange(process_, 0), &status, 0);
    return status;
  }
  /// All that it wrote.
  [[nodiscard]] std::string said() const {
    std::ifstream file(output_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  static bool connects(unsigned short port) {
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const bool connected = ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(probe);
    return connected;
  }

  std::string name_;
  std::string output_;
  pid_t process_ = -1;
};

/// Starts `make()`, which gives a process and the port that it is to listen on, and waits for it. A port that was free
/// may be taken by the time the process comes to it: then again, on another one.
template <typename Make>
[[nodiscard]] std::unique_ptr<served_process> start_server(Make make) {
  std::string said;
  for (int attempts = 0; attempts < 5; ++attempts) {
    std::pair<std::unique_ptr<served_process>, unsigned short> begun = make();
    if (begun.first->listens(begun.second)) return std::move(begun.first);
    said = begun.first->said();
  }
  throw std::runtime_error("a server does not start:\n" + said);
}

}  // namespace sluice::http::test
