#include "daemons/master/system/port_owner.h"
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

constexpr std::string_view tcp =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:0019 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1111 1 0 100 0 0 10 0\n"
    "   1: 0100007F:0019 0200007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 2222 1 0 100 0 0 10 0\n"
    "   2: 00000000:01BB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 3333 1 0 100 0 0 10 0\n"
    "   3: nonsense\n"
    "   4: 0100007:0019 00000000:0000 0A 0:0 0:0 0 0 0 4444\n";
constexpr std::string_view tcp6 =
    "  sl  local_address rem_address st ...\n"
    "   0: 00000000000000000000000001000000:0019 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 5555 1 0 100\n"
    "   1: 00000000000000000000000000000000:0019 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 6666 1 0 100\n";

common::Endpoint at(std::string_view text) { return *common::Endpoint::parse(text); }
using Inodes = std::vector<std::string>;

} // namespace

TEST_CASE("who collides with an address, out of the kernel's table") {
    CHECK(master::inodes_listening(tcp, at("127.0.0.1:25")) == Inodes{"1111"});
    CHECK(master::inodes_listening(tcp, at("127.0.0.2:25")).empty());
    CHECK(master::inodes_listening(tcp, at("[::]:25")) == Inodes{"1111"});
    CHECK(master::inodes_listening(tcp, at("127.0.0.1:443")) == Inodes{"3333"});
    CHECK(master::inodes_listening(tcp, at("127.0.0.1:26")).empty());
    CHECK(master::inodes_listening(tcp6, at("[::1]:25")) == Inodes{"5555", "6666"});
    CHECK(master::inodes_listening(tcp6, at("[::2]:25")) == Inodes{"6666"});
    CHECK(master::inodes_listening("", at("127.0.0.1:25")).empty());
}

TEST_CASE("who listens is named, with its process") {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    const common::Endpoint here{*common::IpAddress::parse("127.0.0.1"), ntohs(address.sin_port)};
    CHECK(master::listening_processes(here).empty());
    REQUIRE(listen(fd, 1) == 0);
    CHECK(master::listening_processes(here) == fmt::format("master_test (pid {})", getpid()));
    close(fd);
    CHECK(master::listening_processes(here).empty());
}
