// tls-source: a load of SMTP under STARTTLS, the same for every MTA, for scripts/bench (smtp-source speaks no
// TLS).
//
//   tls-source [-s SESSIONS] [-m MESSAGES] [-l BYTES] [-d] [-r] [-n] ADDRESS:PORT
//
// So many sessions side by side send so many messages in all: a connection for each, or with -d as many as
// there are over each connection. -r: a session comes back with the ticket of its last connection. -n: no
// mail, only handshakes, of which MESSAGES is the number. Commands are not pipelined. Says at the end how
// many handshakes there were and how many of them were resumed. Not installed.
#include "daemons/common/crypto/tls/context.h"
#include <arpa/inet.h>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

struct Load {
    sockaddr_in server{};
    int sessions = 20;
    std::size_t size = 4096;
    bool reuse = false, resume = false, mail = true;
    std::string content;
};

std::atomic<long> left, handshakes, resumed;

[[noreturn]] void give_up(std::string_view what) {
    std::fprintf(stderr, "tls-source: %.*s\n", static_cast<int>(what.size()), what.data());
    std::_Exit(1);
}

// One connection: plain until secure() was called.
class Connection {
public:
    explicit Connection(const Load& load) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
        if (connect(fd_, reinterpret_cast<const sockaddr*>(&load.server), sizeof load.server) != 0)
            give_up("cannot connect");
        const int on = 1;
        setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    ~Connection() {
        if (ssl_) SSL_shutdown(ssl_.get()); // else its ticket is held to be spoilt
        close(fd_);
    }
    Connection(const Connection&) = delete;

    void say(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto n = ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                                : write(fd_, bytes.data(), bytes.size());
            if (n <= 0) give_up("cannot write");
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
    }

    // A whole reply, which must be of that class.
    void hear(char expected) {
        std::string text;
        while (true) {
            char piece[4096];
            const auto n = ssl_ ? SSL_read(ssl_.get(), piece, sizeof piece) : read(fd_, piece, sizeof piece);
            if (n <= 0) give_up("the server has gone, after " + text);
            text.append(piece, static_cast<std::size_t>(n));
            if (!text.ends_with("\r\n")) continue;
            const auto before = text.rfind('\n', text.size() - 2);
            const auto last = before == text.npos ? 0 : before + 1;
            if (text.size() - last > 3 && text[last + 3] == '-') continue;
            if (text[0] != expected) give_up("refused: " + text);
            return;
        }
    }

    void ask(std::string_view command, char expected = '2') {
        say(command);
        hear(expected);
    }

    void secure(SSL_CTX* context, SSL_SESSION* ticket, tls::ResumableSession* next) {
        ssl_.reset(SSL_new(context));
        SSL_set_app_data(ssl_.get(), next);
        SSL_set_fd(ssl_.get(), fd_);
        if (ticket) SSL_set_session(ssl_.get(), ticket);
        if (SSL_connect(ssl_.get()) != 1) give_up("no TLS");
        ++handshakes;
        if (SSL_session_reused(ssl_.get())) ++resumed;
    }

private:
    int fd_;
    std::unique_ptr<SSL, tls::Deleter<SSL_free>> ssl_;
};

void one_session(const Load& load) {
    const tls::SslContext context(SSL_CTX_new(TLS_client_method()));
    tls::ResumableSession ticket;
    if (load.resume) {
        SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(context.get(), [](SSL* ssl, SSL_SESSION* fresh) {
            static_cast<tls::ResumableSession*>(SSL_get_app_data(ssl))->reset(fresh);
            return 1; // it is ours now
        });
    }
    while (left-- > 0) {
        Connection server(load);
        server.hear('2');
        server.ask("EHLO bench.example\r\n");
        server.ask("STARTTLS\r\n");
        // A copy: OpenSSL lets a ticket of TLS 1.3 be used once, and not every server gives a new one each
        // time.
        const tls::ResumableSession shown(ticket ? SSL_SESSION_dup(ticket.get()) : nullptr);
        server.secure(context.get(), shown.get(), &ticket);
        server.ask("EHLO bench.example\r\n");
        if (load.mail) do {
                server.ask("MAIL FROM:<sender@bench.example>\r\n");
                server.ask("RCPT TO:<user@sink.example>\r\n");
                server.ask("DATA\r\n", '3');
                server.ask(load.content);
            } while (load.reuse && left-- > 0);
        server.ask("QUIT\r\n");
    }
}

std::string content_of(std::size_t size) {
    std::string text = "From: <sender@bench.example>\r\nTo: <user@sink.example>\r\n"
                       "Date: Fri, 20 Nov 2026 16:00:00 +0000\r\nMessage-Id: <load@bench.example>\r\n\r\n";
    while (text.size() + 3 < size) text.append(std::min<std::size_t>(78, size - text.size() - 2), 'X').append("\r\n");
    return text + ".\r\n";
}

} // namespace

int main(int count, char** words) {
    signal(SIGPIPE, SIG_IGN);
    Load load;
    long messages = 1;
    for (int option; (option = getopt(count, words, "s:m:l:drn")) != -1;) switch (option) {
        case 's': load.sessions = std::atoi(optarg); break;
        case 'm': messages = std::atol(optarg); break;
        case 'l': load.size = static_cast<std::size_t>(std::atol(optarg)); break;
        case 'd': load.reuse = true; break;
        case 'r': load.resume = true; break;
        case 'n': load.mail = false; break;
        default: give_up("unknown option");
        }
    const std::string place = optind < count ? words[optind] : "";
    const auto colon = place.rfind(':');
    load.server.sin_family = AF_INET;
    if (colon == place.npos || inet_pton(AF_INET, place.substr(0, colon).c_str(), &load.server.sin_addr) != 1)
        give_up("where? ADDRESS:PORT");
    load.server.sin_port = htons(static_cast<std::uint16_t>(std::atoi(place.c_str() + colon + 1)));
    load.content = content_of(load.size);
    left = messages;
    std::vector<std::jthread> threads;
    for (int n = 0; n < load.sessions; ++n) threads.emplace_back([&load] { one_session(load); });
    threads.clear();
    std::printf("%ld handshakes, %ld resumed\n", handshakes.load(), resumed.load());
}
