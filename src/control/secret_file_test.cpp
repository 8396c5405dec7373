#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/fd.hpp"
#include "control/secret.hpp"

namespace rondo::control {
namespace {

base::Fd memory_with(const std::string& text) {
  base::Fd fd(memfd_create("secret", 0));
  EXPECT_EQ(write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  return fd;
}

std::string refusal_of(const Config& config) {
  try {
    (void)read_secret(config);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return "accepted";
}

TEST(Secret, is_empty_when_nothing_is_set) { EXPECT_EQ(read_secret({}), ""); }

TEST(Secret, is_read_from_a_descriptor_again_and_again_and_is_not_inherited_further) {
  const base::Fd fd = memory_with("alpha beta\n");
  Config config;
  config.secret_fd = fd.get();
  EXPECT_EQ(read_secret(config), "alpha beta");
  EXPECT_EQ(read_secret(config), "alpha beta");
  EXPECT_EQ(fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
}

TEST(Secret, of_a_bad_descriptor_is_refused_by_name) {
  Config config;
  config.secret_fd = 1'000'000;
  EXPECT_EQ(refusal_of(config),
            "RONDO_SECRET_FD=1000000: the secret cannot be read from it: Bad file descriptor");
  const base::Fd nothing = memory_with("\n");
  config.secret_fd = nothing.get();
  EXPECT_NE(refusal_of(config).find("the secret is empty"), std::string::npos);
  const base::Fd much = memory_with(std::string(5000, 'x'));
  config.secret_fd = much.get();
  EXPECT_NE(refusal_of(config).find("more than 4096 bytes"), std::string::npos);
}

TEST(Secret, of_a_file_needs_a_file_of_its_owner_alone) {
  std::string name = "/tmp/rondo-secret-XXXXXX";
  const base::Fd file(mkstemp(name.data()));
  ASSERT_EQ(write(file.get(), "gamma", 5), 5);
  Config config;
  config.secret_file = name;
  EXPECT_EQ(read_secret(config), "gamma");
  ASSERT_EQ(chmod(name.c_str(), 0640), 0);
  EXPECT_NE(refusal_of(config).find("(mode 640)"), std::string::npos) << refusal_of(config);
  unlink(name.c_str());
  EXPECT_NE(refusal_of(config).find("cannot be opened: No such file"), std::string::npos)
      << refusal_of(config);
}

TEST(Secret, jobs_are_told_apart_by_where_they_meet) {
  EXPECT_EQ(job_of("127.0.0.1:4000"), job_of("127.0.0.1:4000"));
  EXPECT_NE(job_of("127.0.0.1:4000"), job_of("127.0.0.1:4001"));
}

}  // namespace
}  // namespace rondo::control
