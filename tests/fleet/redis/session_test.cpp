// What is said on a connection to the store: dialogues.
#include "daemons/fleet/redis/session.h"
#include <doctest/doctest.h>

using namespace std::chrono_literals;
using namespace fleet::redis;

namespace {

smtp::Monotonic at(std::chrono::milliseconds time) { return smtp::Monotonic(time); }

Login login_of(const std::string& user, const std::string& password, std::uint32_t database = 0) {
    return {.user = user, .password = smtp::Secret(password), .database = database};
}

const std::string info = "$26\r\nredis_version:7\r\nrun_id:ab\r\n";

// Ready, with nothing said that has not been read.
void log_in(Session& session) {
    session.take_output();
    session.receive(info);
    REQUIRE(session.ready());
}

struct Answer {
    int count = 0;
    std::string text;
    Session::Done into() {
        return [this](const Result& result) {
            ++count;
            text = result                                            ? "= " + result->text
                   : result.error().kind == CallError::Kind::refused ? "refused: " + result.error().text
                                                                     : "failed: " + result.error().text;
        };
    }
};

} // namespace

TEST_CASE("login: password, user, database, and which store it is") {
    Session session(login_of("ann", "secret", 3), at(1s));
    CHECK(session.take_output() == "*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$6\r\nsecret\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n"
                                   "*3\r\n$4\r\nINFO\r\n$6\r\nserver\r\n$6\r\nmemory\r\n");
    session.receive("+OK\r\n+OK\r\n");
    CHECK_FALSE(session.ready());
    session.receive(info);
    CHECK(session.ready());
    CHECK(session.run_id() == "ab");
    CHECK(session.version() == "7");

    Session old(login_of("", "secret"), at(1s));
    CHECK(old.take_output().starts_with("*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n"));
    Session open(login_of("", ""), at(1s));
    CHECK(open.take_output() == "*3\r\n$4\r\nINFO\r\n$6\r\nserver\r\n$6\r\nmemory\r\n");
    open.receive("-NOPERM this user has no permissions to run the 'info' command\r\n"); // not needed
    CHECK(open.ready());
    CHECK(open.run_id().empty());
}

TEST_CASE("a store that removes keys when it is full") {
    const auto policy_of = [](const std::string& lines) {
        Session session(login_of("", ""), at(1s));
        session.receive("$" + std::to_string(lines.size()) + "\r\n" + lines + "\r\n");
        REQUIRE(session.ready());
        return session.eviction_policy();
    };
    CHECK(policy_of("maxmemory:1000000\r\nmaxmemory_policy:allkeys-lru\r\n") == "allkeys-lru");
    CHECK(policy_of("maxmemory:1000000\r\nmaxmemory_policy:volatile-ttl\r\n") == "volatile-ttl");
    CHECK(policy_of("maxmemory:1000000\r\nmaxmemory_policy:noeviction\r\n").empty());
    CHECK(policy_of("maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n").empty()); // it is never full
    CHECK(policy_of("redis_version:7\r\n").empty());
}

TEST_CASE("a login that is refused") {
    Session wrong(login_of("ann", "secret"), at(1s));
    wrong.receive(
        "-WRONGPASS invalid username-password pair or user is disabled.\r\n-NOAUTH Authentication required.\r\n");
    CHECK_FALSE(wrong.ready());
    CHECK(wrong.problem() == "login: WRONGPASS invalid username-password pair or user is disabled.");
    Session none(login_of("", ""), at(1s));
    none.receive("-NOAUTH Authentication required.\r\n");
    CHECK(none.problem() == "login: NOAUTH Authentication required.");
    Session database(login_of("", "", 99), at(1s));
    database.receive("-ERR DB index is out of range\r\n");
    CHECK(database.problem() == "choice of the database: ERR DB index is out of range");
    Session silent(login_of("", ""), at(1s));
    silent.expire(at(1s));
    CHECK(silent.problem() == "login: no reply in time");
}

TEST_CASE("a store that repeats the password, and one that is a cluster") {
    const std::string said = "-ERR unknown command 'AUTH', with args beginning with: 'pr' 'sup3rsecret' \r\n";
    Session unknown(login_of("pr", "sup3rsecret"), at(1s));
    unknown.receive(said);
    CHECK(unknown.problem() == "login: the store refuses it: is AUTH disabled or renamed there?");
    Session cut(login_of("pr", "sup3rsecret"), at(1s));
    cut.receive("-ERR unknown command 'AUTH', with args beginning with: 'pr' 'sup3rs\r\n");
    CHECK(cut.problem().find("sup3r") == std::string::npos);
    Session session(login_of("pr", "sup3rsecret"), at(1s));
    session.receive("+OK\r\n" + info);
    REQUIRE(session.ready());
    Answer answer;
    session.call({"GET", "a"}, at(1s), answer.into());
    session.receive("-sup3rsecret sup3rsecretsup3rsecret\r\n");
    CHECK(answer.text == "refused: *** ******");
    Session cluster(login_of("", ""), at(1s));
    cluster.receive("$20\r\nredis_mode:cluster\r\n\r\n");
    CHECK_FALSE(cluster.ready());
    CHECK(cluster.problem() == "it is a Redis Cluster, which cannot be used: name a single server");
}

TEST_CASE("calls are answered in their order; one that is late fails, and its reply is dropped") {
    Session session(login_of("", ""), at(1s));
    log_in(session);
    Answer first, second, third;
    session.call({"GET", "a"}, at(1s), first.into());
    session.call({"GET", "b"}, at(2s), second.into());
    session.call({"GET", "c"}, at(3s), third.into());
    CHECK(session.take_output() ==
          "*2\r\n$3\r\nGET\r\n$1\r\na\r\n*2\r\n$3\r\nGET\r\n$1\r\nb\r\n*2\r\n$3\r\nGET\r\n$1\r\nc\r\n");
    CHECK(session.next_deadline() == at(1s));
    session.receive("$1\r\n1\r\n");
    CHECK(first.text == "= 1");
    CHECK(session.next_deadline() == at(2s));
    session.expire(at(2s));
    CHECK(second.text == "failed: no reply in time");
    CHECK(session.next_deadline() == at(3s));
    session.receive("$1\r\n2\r\n$1\r\n3\r\n");
    CHECK(third.text == "= 3");
    CHECK(first.count + second.count + third.count == 3);
    CHECK(session.ready());
}

TEST_CASE("a script goes by its digest, and by its text if the store does not know it") {
    Session session(login_of("", ""), at(1s));
    log_in(session);
    const Script script("return 1");
    Answer answer;
    session.run(script, {"k"}, {"v"}, at(1s), answer.into());
    CHECK(session.take_output() ==
          "*5\r\n$7\r\nEVALSHA\r\n$40\r\n" + script.digest() + "\r\n$1\r\n1\r\n$1\r\nk\r\n$1\r\nv\r\n");
    session.receive("-NOSCRIPT No matching script. Please use EVAL.\r\n");
    CHECK(answer.count == 0);
    CHECK(session.take_output() == "*5\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n$1\r\n1\r\n$1\r\nk\r\n$1\r\nv\r\n");
    session.receive(":1\r\n");
    CHECK(answer.count == 1);
    session.run(script, {}, {}, at(1s), answer.into());
    session.receive("-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    CHECK(answer.text == "refused: OOM command not allowed when used memory > 'maxmemory'.");
    CHECK(session.ready());
}

TEST_CASE("a store that says what nobody asked for, or what is no reply; and the end") {
    for (const std::string bytes : {"+OK\r\n", "what\r\n"}) {
        Session session(login_of("", ""), at(1s));
        log_in(session);
        session.receive(bytes);
        CHECK_FALSE(session.ready());
        CHECK_FALSE(session.problem().empty());
    }
    Session session(login_of("", ""), at(1s));
    log_in(session);
    Answer first, second;
    session.call({"GET", "a"}, at(1s), first.into());
    session.close("closed the connection");
    CHECK(first.text == "failed: closed the connection");
    session.call({"GET", "b"}, at(1s), second.into());
    CHECK(second.text == "failed: closed the connection");
    CHECK(first.count + second.count == 2);
}

TEST_CASE("calls that wait have a limit") {
    Session session(login_of("", ""), at(1s));
    log_in(session);
    Answer all, beyond;
    for (std::size_t n = 0; n < Session::most_calls; ++n) session.call({"GET", "a"}, at(1s), all.into());
    session.call({"GET", "a"}, at(1s), beyond.into());
    CHECK(beyond.text == "failed: too many calls wait for the store");
    CHECK(all.count == 0);
}
