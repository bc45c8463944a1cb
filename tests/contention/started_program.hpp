// Starts the example as a person would, and gives back what it said.
#pragma once

#include <sys/wait.h>

#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace contention::test {

// A directory that is gone with the test.
class scratch_directory {
 public:
  scratch_directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "contention-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch directory");
    path_ = pattern;
  }
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  ~scratch_directory() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return file(name);
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path_ / name).rdbuf();
    return text.str();
  }

 private:
  std::filesystem::path path_;
};

struct ended_program {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// `arguments` as in a shell; `environment` stands before the program's name (`KEY=value`).
inline ended_program start(const std::string& arguments, const std::string& environment = "env -u SLUICE_API_KEY") {
  const scratch_directory scratch;
  const auto line =
      environment + " " PROGRAM " " + arguments + " >" + scratch.file("out") + " 2>" + scratch.file("err");
  const int status = std::system(line.c_str());
  ended_program ended;
  ended.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ended.out = scratch.read("out");
  ended.err = scratch.read("err");
  return ended;
}

}  // namespace contention::test
