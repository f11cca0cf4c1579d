#include "daemons/master/system/activated_sockets.h"
#include <algorithm>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using master::ActivatedSocket;

namespace {

// At a port of the kernel's choice.
common::Fd listening(const char* address, common::Endpoint& at, bool listens = true) {
    at = *common::Endpoint::parse(address, 1);
    sockaddr_in6 six{};
    sockaddr_in four{};
    const bool is_four = address[0] != '[';
    common::Fd fd(socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM, 0));
    four.sin_family = AF_INET;
    std::copy_n(at.address.bytes.begin() + 12, 4, reinterpret_cast<std::uint8_t*>(&four.sin_addr));
    six.sin6_family = AF_INET6;
    std::ranges::copy(at.address.bytes, reinterpret_cast<std::uint8_t*>(&six.sin6_addr));
    auto* name = is_four ? reinterpret_cast<sockaddr*>(&four) : reinterpret_cast<sockaddr*>(&six);
    socklen_t size = is_four ? sizeof four : sizeof six;
    REQUIRE(bind(fd.number(), name, size) == 0);
    REQUIRE(getsockname(fd.number(), name, &size) == 0);
    at.port = ntohs(is_four ? four.sin_port : six.sin6_port);
    if (listens) REQUIRE(listen(fd.number(), 1) == 0);
    return fd;
}

config::Listener section(std::string name, std::vector<common::Endpoint> addresses) {
    config::Listener listener;
    listener.name = std::move(name);
    listener.addresses = std::move(addresses);
    return listener;
}

std::vector<ActivatedSocket> one(std::string name, common::Fd fd) {
    std::vector<ActivatedSocket> handed;
    handed.push_back({std::move(name), std::move(fd)});
    return handed;
}

} // namespace

TEST_CASE("sockets find their sections by name and address") {
    common::Endpoint relay, submission;
    std::vector<ActivatedSocket> handed;
    handed.push_back({"submission", listening("127.0.0.1", submission)});
    handed.push_back({"relay", listening("[::]", relay)});
    const int at_relay = handed[1].fd.number();
    const auto placed =
        master::by_address(std::move(handed), {section("relay", {*common::Endpoint::parse("127.0.0.9:9"), relay}),
                                               section("submission", {submission})});
    REQUIRE(placed);
    REQUIRE(placed->size() == 2);
    CHECK(placed->at(relay.to_string()).number() == at_relay);
    CHECK((fcntl(at_relay, F_GETFL) & O_NONBLOCK) != 0);
    CHECK(placed->contains(submission.to_string()));
}

TEST_CASE("every address of this host may be IPv4's alone") {
    common::Endpoint at;
    auto fd = listening("0.0.0.0", at);
    const common::Endpoint wanted{{}, at.port};
    const auto placed = master::by_address(one("relay", std::move(fd)), {section("relay", {wanted})});
    REQUIRE(placed);
    CHECK(placed->contains(wanted.to_string()));
}

TEST_CASE("what fits nowhere is refused, with what to do") {
    common::Endpoint at, other;
    const auto said = [](std::vector<ActivatedSocket> handed, const std::vector<config::Listener>& listeners) {
        const auto placed = master::by_address(std::move(handed), listeners);
        REQUIRE(!placed);
        return placed.error().what;
    };
    auto text =
        said(one("realy", listening("127.0.0.1", at)), {section("relay", {at}), section("submission", {other})});
    CHECK(text.find("\"realy\", but there is no [listen.realy] (there is: relay, submission)") != text.npos);
    CHECK(text.find("FileDescriptorName=") != text.npos);
    text = said(one("relay", listening("127.0.0.1", at)), {section("relay", {{at.address, 1}})});
    CHECK(text.find(at.to_string() + " for [listen.relay], whose addresses are 127.0.0.1:1") != text.npos);
    CHECK(text.find("ListenStream=") != text.npos);
    text = said(one("relay", listening("127.0.0.1", at, false)), {section("relay", {at})});
    CHECK(text.find("not a listening TCP socket") != text.npos);
    text = said(one("relay", common::Fd(open("/dev/null", O_RDWR))), {section("relay", {at})});
    CHECK(text.find("not a listening TCP socket") != text.npos);
}

TEST_CASE("who was started without systemd has none") {
    unsetenv("LISTEN_FDS");
    CHECK(master::activated_sockets().empty());
    setenv("LISTEN_PID", "1", 1); // another's
    setenv("LISTEN_FDS", "1", 1);
    CHECK(master::activated_sockets().empty());
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
}
