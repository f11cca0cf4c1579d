#include "daemons/common/ipc/connector.h"
#include "daemons/common/ipc/listener.h"
#include "daemons/common/net/local_socket.h"
#include "daemons/common/proto/submission.h"
#include "daemons/common/runtime/timer.h"
#include "tests/temporary_directory.h"
#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/socket.h>

using namespace ipc;
using namespace common;
using namespace std::chrono_literals;
namespace submission = proto::submission;
using SubmissionChannel = Channel<submission::Message>;

namespace {

std::pair<Fd, Fd> socket_pair() {
    int fds[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    return {Fd(fds[0]), Fd(fds[1])};
}

std::unique_ptr<Connection> connection(Loop& loop, Fd fd) {
    return std::make_unique<Connection>(loop, std::move(fd), nullptr);
}

// A directory whose socket paths do not fit a socket address.
struct LongDirectory {
    TemporaryDirectory root;
    const std::string path = root.path() / std::string(120, 'd');
    LongDirectory() { std::filesystem::create_directory(path); }
};

const ExpectedTokens expected = {"the queue-manager's key", {proto::Role::smtpd, proto::Role::pickup}};
const std::string token = token_of(expected.key, proto::Role::smtpd, 16);

} // namespace

TEST_CASE("a hundred thousand messages arrive in order, congestion is seen and ends") {
    Loop loop;
    auto [a, b] = socket_pair();
    std::uint64_t received = 0, sent = 0;
    bool was_congested = false;
    std::unique_ptr<SubmissionChannel> from, to;
    const std::uint64_t all = 100'000;
    auto pour = [&] {
        while (sent < all && !from->congested())
            static_cast<void>(from->send(submission::Submitted{{++sent}, sent, std::string(sent % 100, 'e')}));
        was_congested = was_congested || from->congested();
    };
    from =
        std::make_unique<SubmissionChannel>(connection(loop, std::move(a)), SubmissionChannel::Callbacks{{}, {}, pour});
    to = std::make_unique<SubmissionChannel>(
        connection(loop, std::move(b)),
        SubmissionChannel::Callbacks{[&](submission::Message&& m) {
                                         auto& one = std::get<submission::Submitted>(m);
                                         REQUIRE(one.queue_id.value == ++received);
                                         REQUIRE(one.envelope.size() == received % 100);
                                         if (received == all) {
                                             loop.stop();
                                             to.reset(); // within its own callback, as its last act
                                         }
                                     },
                                     {},
                                     {}});
    pour();
    loop.run();
    CHECK(received == all);
    CHECK(was_congested);
}

TEST_CASE("a malformed message or frame closes that connection, with the reason, once") {
    using namespace std::string_literals;
    const std::pair<std::string, std::string> rows[] = {
        {"\x01\x00\x00\x00\x0a"s, "malformed message: unknown message"},
        {"\x02\x00\x00\x00\x01\x00"s, "malformed message: queue_id: not a queue id"},
        {"\x03\x00\x00\x00\x01\x07z"s, "malformed message: trailing bytes"},
        {"\x00\x00\x00\x00"s, "malformed frame"},
        {"GET / HTTP/1.0\r\n"s, "malformed frame"},
        {""s, "closed by the peer"},
        {"\x05\x00\x00\x00\x01"s, "closed by the peer within a message"},
    };
    for (const auto& [wire, reason] : rows) {
        Loop loop;
        auto [a, b] = socket_pair();
        std::vector<std::string> told;
        SubmissionChannel channel(connection(loop, std::move(b)),
                                  {[](submission::Message&&) { FAIL("nothing was said"); },
                                   [&](const std::string& why) { told.push_back(why); },
                                   {}});
        REQUIRE(write(a.number(), wire.data(), wire.size()) == static_cast<ssize_t>(wire.size()));
        a.reset();
        loop.run();
        CHECK(told == std::vector{reason});
        CHECK_FALSE(channel.open());
        channel.send(submission::Taken{{1}}); // into the void
    }
}

TEST_CASE("what is sent before the end still goes out, and sending to the dead is told later") {
    Loop loop;
    auto [a, b] = socket_pair();
    {
        SubmissionChannel dying(connection(loop, std::move(a)));
        dying.send(submission::Taken{{77}});
    }
    std::string order;
    SubmissionChannel channel(connection(loop, std::move(b)),
                              {[&](submission::Message&& m) {
                                   order += std::to_string(std::get<submission::Taken>(m).queue_id.value);
                                   channel.send(submission::Taken{{1}});
                                   order += " sent";
                               },
                               [&](const std::string&) { order += " closed"; },
                               {}});
    loop.run();
    CHECK(order == "77 sent closed");
}

TEST_CASE("secrets are compared whole") {
    CHECK(equal_secrets("abc", "abc"));
    CHECK_FALSE(equal_secrets("abc", "abd"));
    CHECK_FALSE(equal_secrets("abc", "ab"));
    CHECK_FALSE(equal_secrets("", "a"));
}

TEST_CASE("only who proves its role, in this version, for its own conversations, is let in") {
    using proto::Role;
    const std::vector<Role> roles = {Role::smtpd, Role::pickup};
    proto::hello::Hello hello{"submission", proto::version, Role::smtpd, 16, token};
    CHECK(rejection_reason(hello, roles, expected) == "");
    auto wrong = hello;
    wrong.version = 99;
    CHECK(rejection_reason(wrong, roles, expected) ==
          "it uses version 99, this is version " + std::to_string(proto::version));
    wrong = hello;
    wrong.role = Role::smtp_client;
    CHECK(rejection_reason(wrong, roles, expected) == "smtp-client does not take part in \"submission\"");
    wrong = hello;
    wrong.role = Role::pickup;
    CHECK(rejection_reason(wrong, roles, expected) == "it did not prove to be pickup/16");
    wrong.token = token_of(expected.key, Role::pickup, 16);
    CHECK(rejection_reason(wrong, roles, expected) == "");
    wrong = hello; // another worker of the same role: its slot, its messages
    wrong.instance = 17;
    CHECK(rejection_reason(wrong, roles, expected) == "it did not prove to be smtpd/17");
    wrong = hello; // what it shows another server
    wrong.token = token_of("the categorizer's key", Role::smtpd, 16);
    CHECK(rejection_reason(wrong, roles, expected) == "it did not prove to be smtpd/16");
    wrong = hello;
    wrong.token = "";
    CHECK(rejection_reason(wrong, roles, expected) == "it did not prove to be smtpd/16");
    wrong.token = token_of("", Role::smtpd, 16);
    CHECK(rejection_reason(wrong, roles, {"", {Role::smtpd}}) == "it did not prove to be smtpd/16");
    CHECK(rejection_reason(hello, roles, {expected.key, {Role::pickup}}) == "it did not prove to be smtpd/16");
}

TEST_CASE("a process shows each server the token meant for it") {
    const Identity identity{proto::Role::smtpd, 16, {{"queue-manager", "one"}, {"categorizer", "two"}}};
    CHECK(identity.token_for("/spool/run/private/queue-manager") == "one");
    CHECK(identity.token_for("categorizer") == "two");
    CHECK(identity.token_for("/spool/run/private/router") == "");
}

TEST_CASE("a connector comes up, goes down with its server and comes up again; strangers are refused") {
    LongDirectory directory;
    const std::string path = directory.path + "/queue-manager";
    Loop loop;
    Log log(loop, "test");
    std::string seen;
    std::unique_ptr<SubmissionChannel> serving;
    std::unique_ptr<Listener> listener;
    std::unique_ptr<Connector<submission::Message>> client, stranger;
    auto serve = [&] {
        auto fd = listen_local(path, 0600);
        REQUIRE(fd);
        listener = std::make_unique<Listener>(loop, log, *std::move(fd), expected);
        listener->serve<submission::Message>(
            submission::conversation, {proto::Role::smtpd, proto::Role::pickup},
            [&](Peer peer, std::unique_ptr<SubmissionChannel> channel) {
                seen += fmt::format("{}{} ", proto::name_of(peer.role), peer.instance);
                serving = std::move(channel);
                serving->set_callbacks({[&](submission::Message&& m) {
                                            serving->send(
                                                submission::Taken{std::get<submission::Submitted>(m).queue_id});
                                        },
                                        [](const std::string&) {},
                                        {}});
            });
    };
    Timer restart(loop, [&] { serve(); });
    int round = 0;
    client = std::make_unique<Connector<submission::Message>>(
        loop, log, path, submission::conversation, Identity{proto::Role::smtpd, 16, {{"queue-manager", token}}},
        Connector<submission::Message>::Callbacks{
            [&](submission::Message&& m) {
                seen += fmt::format("taken{} ", std::get<submission::Taken>(m).queue_id.value);
                if (++round == 2) return loop.stop();
                listener.reset();
                serving.reset(); // the server dies
                restart.start(60ms);
            },
            [&] {
                seen += "up ";
                CHECK(client->send(submission::Submitted{{static_cast<std::uint64_t>(5 + round)}}) == SendResult::yes);
            },
            [&](const std::string&) {
                seen += "down ";
                CHECK_FALSE(client->up());
                CHECK(client->send(submission::Submitted{{9}}) == SendResult::not_open);
            },
            {}});
    stranger = std::make_unique<Connector<submission::Message>>(
        loop, log, path, submission::conversation, Identity{proto::Role::smtpd, 16, {{"queue-manager", "a guess"}}},
        Connector<submission::Message>::Callbacks{{}, [] { FAIL("it was let in"); }, {}, {}});
    restart.start(10ms); // the server comes later
    loop.run();
    CHECK(seen == "smtpd16 up taken5 down smtpd16 up taken6 ");
}
