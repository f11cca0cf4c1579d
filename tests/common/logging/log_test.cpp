#include "daemons/common/logging/log.h"
#include "daemons/common/runtime/timer.h"
#include "tests/temporary_directory.h"
#include <algorithm>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <sys/socket.h>
#include <sys/un.h>

using namespace common;
using namespace std::chrono_literals;

namespace {

struct Sink { // a pipe to look at what was written
    Fd read, write;
    Sink() {
        int fds[2];
        REQUIRE(pipe2(fds, O_NONBLOCK | O_CLOEXEC) == 0);
        read = Fd(fds[0]);
        write = Fd(fds[1]);
    }
    std::string text() {
        std::string out;
        char space[65536];
        for (ssize_t n; (n = ::read(read.number(), space, sizeof space)) > 0;)
            out.append(space, static_cast<std::size_t>(n));
        return out;
    }
};

LogSettings settings() {
    LogSettings s;
    s.host = "mx";
    return s;
}

std::string printable(std::string text) {
    make_printable(text.data(), text.data() + text.size());
    return text;
}

} // namespace

TEST_CASE("lines look as the analysers expect them and leave in one write per turn") {
    Loop loop;
    Sink sink;
    Log log(loop, "smtpd");
    log.configure(settings(), std::move(sink.write));
    log.context("smtpd", 42).info("connect from {}[{}]", "client.example", "192.0.2.1");
    log.context("cleanup").info("{}: message-id=<{}>", "0A1B2C3D4E5F1F", "x@y");
    log.warning("something odd");
    log.debug("nobody wants this");
    CHECK(sink.text() == "");
    loop.run();
    const auto text = sink.text();
    const std::string stamp = "[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} mx ";
    const auto pid = std::to_string(getpid());
    CHECK(std::regex_match(text,
                           std::regex(stamp + "postfix/smtpd\\[42\\]: connect from client.example\\[192.0.2.1\\]\n" +
                                      stamp + "postfix/cleanup\\[" + pid + "\\]: 0A1B2C3D4E5F1F: message-id=<x@y>\n" +
                                      stamp + "postfix/smtpd\\[" + pid + "\\]: warning: something odd\n")));
}

TEST_CASE("a fatal line is out at once") {
    Loop loop;
    Sink sink;
    Log log(loop, "master");
    log.configure(settings(), std::move(sink.write));
    log.critical("the disk is gone");
    CHECK(sink.text().ends_with(": fatal: the disk is gone\n"));
}

TEST_CASE("nothing in a line can forge another or reach a terminal") {
    CHECK(printable("a\r\nb\t\x7f\x1b[31m") == "a??b???[31m");
    CHECK(printable(std::string("nul\0end", 7)) == "nul?end");
    CHECK(printable("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x93\xac") ==
          "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x93\xac");
    CHECK(printable("\xc2\x85 \xc3 \xff \xe2\x82 \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80") == "?? ? ? ?? ?? ??? ????");

    Loop loop;
    Sink sink;
    Log log(loop, "smtpd");
    log.configure(settings(), std::move(sink.write));
    log.info("helo={}", std::string(5000, 'x'));
    log.flush();
    const auto text = sink.text();
    CHECK(text.size() == Log::max_line);
    CHECK(text.back() == '\n');
}

TEST_CASE("a sink that does not take lines costs lines, never time, and says how many") {
    Loop loop;
    Sink sink;
    Log log(loop, "smtpd");
    auto s = settings();
    s.max_buffered = 4096;
    log.configure(s, std::move(sink.write));
    for (int i = 0; i < 5000; ++i) log.info("line {}", i);
    std::string text;
    Timer reader(loop, [&] {
        text += sink.text();
        if (text.find("lines lost") == text.npos)
            reader.start(10ms);
        else
            loop.stop();
    });
    reader.start(10ms);
    loop.run();
    const auto kept = static_cast<int>(std::ranges::count(text, '\n')) - 1;
    std::smatch match;
    REQUIRE(std::regex_search(text, match, std::regex("warning: ([0-9]+) log lines lost")));
    CHECK(kept + std::stoi(match[1]) == 5000);
    CHECK(kept > 100);
}

TEST_CASE("syslog gets one packet per line, and its absence is borne") {
    Loop loop;
    const TemporaryDirectory directory;
    auto s = settings();
    s.syslog = true;
    s.syslog_socket = directory.path() / "log";
    Log log(loop, "smtp");
    log.configure(s, {});
    log.info("nobody there");
    log.flush();

    Fd recorder(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(s.syslog_socket.begin(), s.syslog_socket.end(), address.sun_path);
    REQUIRE(bind(recorder.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    log.configure(s, {});
    for (int i = 0; i < 5; ++i) log.context("smtp", 7).info("line {}", i);
    log.error("odd");
    log.flush();
    char packet[4096];
    for (int i = 0; i < 5; ++i) {
        const auto n = recv(recorder.number(), packet, sizeof packet, 0);
        REQUIRE(n > 0);
        const std::string text(packet, static_cast<std::size_t>(n));
        CHECK(text.starts_with("<22>"));
        CHECK(text.ends_with(" postfix/smtp[7]: line " + std::to_string(i)));
    }
    const auto n = recv(recorder.number(), packet, sizeof packet, 0);
    REQUIRE(n > 0);
    CHECK(std::string(packet, static_cast<std::size_t>(n)).starts_with("<19>"));
    unlink(s.syslog_socket.c_str());
}

TEST_CASE("JSON lines") {
    Loop loop;
    Sink sink;
    Log log(loop, "qmgr");
    auto s = settings();
    s.json = true;
    log.configure(s, std::move(sink.write));
    const std::string_view texts[] = {
        "say \"a\\b\n\x01\xff\u00e4\"", "0123456789ABCD: removed", "0123456789abcd: no queue id is written so",
        "0123456789ABCDE: nor so long", "0123456789ABCD:",         "",
    };
    for (const auto text : texts) log.warning("{}", text);
    log.context("smtpd", 12).info("{}", std::string(5000, '"'));
    log.flush();
    std::istringstream lines(sink.text());
    std::string line;
    std::vector<nlohmann::json> read;
    while (std::getline(lines, line)) read.push_back(nlohmann::json::parse(line)); // throws where it is none
    REQUIRE(read.size() == 7);
    for (const auto& each : read) {
        const auto time = each.at("time").get<std::string>();
        CHECK(time.size() == 24);
        CHECK(time.ends_with("Z"));
        CHECK(time[19] == '.');
        CHECK(each.at("pid").get<int>() == getpid());
    }
    CHECK(read[0].at("severity").get<std::string>() == "warning");
    CHECK(read[0].at("service").get<std::string>() == "qmgr");
    CHECK(read[0].at("session").get<int>() == getpid());
    CHECK(read[0].at("text").get<std::string>() == "say \"a\\b??\?\u00e4\"");
    CHECK(read[1].at("queue_id").get<std::string>() == "0123456789ABCD");
    CHECK(read[1].at("text").get<std::string>() == texts[1]);
    for (std::size_t n : {0, 2, 3, 4, 5, 6}) CHECK(!read[n].contains("queue_id"));
    CHECK(read[6].at("severity").get<std::string>() == "info");
    CHECK(read[6].at("service").get<std::string>() == "smtpd");
    CHECK(read[6].at("session").get<int>() == 12);
    CHECK(read[6].at("text").get<std::string>().size() == Log::max_line);
}
