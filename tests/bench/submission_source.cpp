// submission-source: a load of submissions over HTTP or SMTP, alike in all but the protocol, for scripts/bench.
//
//   submission-source [-s CONNECTIONS] [-m MESSAGES] [-l BYTES] [-t TOKEN] http|smtp ADDRESS:PORT
//
// The connections submit this number of messages in all; each waits for the answer to one message
// before it sends the next. Over SMTP the commands before the content are pipelined, so that a message takes two turns;
// over HTTP it takes one. Prints at the end the seconds from the first message to the last answer. Not installed.
#include <arpa/inet.h>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

struct SubmissionLoad {
    sockaddr_in server{};
    std::string place, token;
    int connections = 20;
    std::size_t size = 4096;
    std::string message; // with CRLF at its end, no line begins with a dot
};

std::atomic<long> messages_left;

[[noreturn]] void fail(std::string_view what) {
    std::fprintf(stderr, "submission-source: %.*s\n", static_cast<int>(what.size()), what.data());
    std::_Exit(1);
}

class ServerConnection {
public:
    explicit ServerConnection(const SubmissionLoad& load) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
        if (connect(fd_, reinterpret_cast<const sockaddr*>(&load.server), sizeof load.server) != 0)
            fail("cannot connect");
        const int on = 1;
        setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    ~ServerConnection() { close(fd_); }
    ServerConnection(const ServerConnection&) = delete;

    void send(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto n = write(fd_, bytes.data(), bytes.size());
            if (n <= 0) fail("cannot write");
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
    }
    // Without its end; valid until the next call.
    std::string_view line() {
        buffer_.erase(0, std::exchange(used_, 0));
        std::size_t end = 0;
        while ((end = buffer_.find("\r\n")) == buffer_.npos) receive();
        used_ = end + 2;
        return std::string_view(buffer_).substr(0, end);
    }
    void skip(std::size_t bytes) {
        buffer_.erase(0, std::exchange(used_, 0));
        while (buffer_.size() < bytes) receive();
        used_ = bytes;
    }

private:
    void receive() {
        char piece[4096];
        const auto n = read(fd_, piece, sizeof piece);
        if (n <= 0) fail("the server closed the connection after \"" + buffer_ + "\"");
        buffer_.append(piece, static_cast<std::size_t>(n));
    }

    int fd_;
    std::string buffer_;
    std::size_t used_ = 0;
};

void expect_reply(ServerConnection& server, char kind) {
    auto line = server.line();
    while (line.size() > 3 && line[3] == '-') line = server.line();
    if (line.empty() || line[0] != kind) fail("refused: " + std::string(line));
}

void submit_over_smtp(ServerConnection& server, const SubmissionLoad& load, std::latch& ready) {
    expect_reply(server, '2');
    server.send("EHLO bench.example\r\n");
    expect_reply(server, '2');
    ready.arrive_and_wait();
    const auto content = load.message + ".\r\n";
    while (messages_left-- > 0) {
        server.send("MAIL FROM:<sender@bench.example>\r\nRCPT TO:<user@sink.example>\r\nDATA\r\n");
        for (const char kind : {'2', '2', '3'}) expect_reply(server, kind);
        server.send(content);
        expect_reply(server, '2');
    }
}

void expect_accepted(ServerConnection& server) {
    if (const auto status = server.line(); !status.starts_with("HTTP/1.1 202 "))
        fail("refused: " + std::string(status));
    std::size_t length = 0;
    for (auto line = server.line(); !line.empty(); line = server.line()) {
        constexpr std::string_view name = "Content-Length: ";
        if (line.starts_with(name)) std::from_chars(line.data() + name.size(), line.data() + line.size(), length);
    }
    server.skip(length);
}

void submit_over_http(ServerConnection& server, const SubmissionLoad& load, std::latch& ready) {
    const auto request =
        "POST /v1/messages?from=sender@bench.example&to=user@sink.example HTTP/1.1\r\nHost: " + load.place +
        "\r\nAuthorization: Bearer " + load.token +
        "\r\nContent-Type: message/rfc822\r\nContent-Length: " + std::to_string(load.message.size()) + "\r\n\r\n" +
        load.message;
    ready.arrive_and_wait();
    while (messages_left-- > 0) {
        server.send(request);
        expect_accepted(server);
    }
}

// Complete, so that nothing is added on one of the roads only.
std::string message_of(std::size_t size) {
    std::string text = "From: <sender@bench.example>\r\nTo: <user@sink.example>\r\n"
                       "Date: Fri, 20 Nov 2026 16:00:00 +0000\r\nMessage-Id: <load@bench.example>\r\n\r\n";
    while (text.size() < size) text.append(std::min<std::size_t>(78, size - text.size()), 'X').append("\r\n");
    return text;
}

void read_place(SubmissionLoad& load, std::string place) {
    const auto colon = place.rfind(':');
    load.server.sin_family = AF_INET;
    if (colon == place.npos || inet_pton(AF_INET, place.substr(0, colon).c_str(), &load.server.sin_addr) != 1)
        fail("expected ADDRESS:PORT");
    load.server.sin_port = htons(static_cast<std::uint16_t>(std::atoi(place.c_str() + colon + 1)));
    load.place = std::move(place);
}

} // namespace

int main(int count, char** words) {
    signal(SIGPIPE, SIG_IGN);
    SubmissionLoad load;
    long messages = 1;
    for (int option; (option = getopt(count, words, "s:m:l:t:")) != -1;) switch (option) {
        case 's': load.connections = std::atoi(optarg); break;
        case 'm': messages = std::atol(optarg); break;
        case 'l': load.size = static_cast<std::size_t>(std::atol(optarg)); break;
        case 't': load.token = optarg; break;
        default: fail("unknown option");
        }
    if (optind + 2 != count) fail("expected http or smtp, and ADDRESS:PORT");
    const std::string_view protocol = words[optind];
    if (protocol != "http" && protocol != "smtp") fail("expected http or smtp");
    read_place(load, words[optind + 1]);
    load.message = message_of(load.size);
    messages_left = messages;
    std::latch ready(load.connections + 1);
    std::vector<std::jthread> threads;
    for (int n = 0; n < load.connections; ++n)
        threads.emplace_back([&] {
            ServerConnection server(load);
            protocol == "http" ? submit_over_http(server, load, ready) : submit_over_smtp(server, load, ready);
        });
    ready.arrive_and_wait();
    const auto begin = std::chrono::steady_clock::now();
    threads.clear();
    std::printf("%.4f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}
