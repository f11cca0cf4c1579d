#include "daemons/smtp-client/probe/socket_permissions.h"
#include "tests/temporary_directory.h"
#include <cstring>
#include <doctest/doctest.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using smtp_client::describe_socket;

TEST_CASE("what stands where a socket was to be") {
    const TemporaryDirectory here;
    const std::string folder = here.path(), path = folder + "/lmtp";
    const auto we = fmt::format("this process runs as user {}, group {}", geteuid(), getegid());
    CHECK(describe_socket(path) == fmt::format("{}: No such file or directory; {}", path, we));
    CHECK(describe_socket(folder + "/dovecot/lmtp") ==
          fmt::format("{}/dovecot: No such file or directory; {}", folder, we));

    std::ofstream(path) << "no socket";
    REQUIRE(chmod(path.c_str(), 0640) == 0);
    CHECK(describe_socket(path) ==
          fmt::format("{} is not a socket (mode 0640, user {}, group {}); {}", path, geteuid(), getegid(), we));
    CHECK(describe_socket(path + "/x").starts_with(path + " is not a directory; "));

    std::filesystem::remove(path);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(chmod(path.c_str(), 0600) == 0);
    CHECK(describe_socket(path).starts_with(path + " is a socket (mode 0600, user "));
    close(fd);
}
