// Requests to web servers over verified TLS, on the loop, by libcurl: one exchange each, no redirects, no proxies, no
// cookies; http only if asked for. Names are resolved by the caller, or by the system on a thread of libcurl. Must not
// know the content of the exchanges.
#pragma once
#include "daemons/common/net/network.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/uv_handle.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace common {

class Https {
public:
    struct Request {
        bool encrypted = true; // https, not http
        std::string host;      // lower case, as the DNS has it
        std::uint16_t port = 443;
        std::string target = "/";                          // path and query
        std::vector<IpAddress> addresses;                  // of the host; tried in order. None: the system's resolver
        std::string content, content_type;                 // POST, if there is a content type; else GET
        std::vector<std::string> fields = {};              // further ones of the header, "Name: value"
        bool keep_connection = false;                      // for the next request to the same server
        std::size_t largest = 64 * 1024;                   // of the answer's body; more ends the exchange
        smtp::Duration timeout = std::chrono::seconds(60); // for all of it
    };
    enum class Failure : std::uint8_t {
        none,        // there is an answer, whatever its status
        connection,  // no connection, or it broke
        certificate, // TLS failed, or the certificate does not prove the host's name
        timeout,
        too_large,
    };
    struct Answer {
        Failure failure = Failure::none;
        std::string why;   // of a failure: a few printable words
        bool sent = false; // some of the request was
        unsigned status = 0;
        std::string content_type; // without parameters, lower case
        std::optional<smtp::Duration> retry_after = {};
        std::string content;
    };
    using Done = std::function<void(const Answer&)>;

    // An exchange under way; destroying it cancels it.
    class Exchange {
    public:
        ~Exchange();
        Exchange(const Exchange&) = delete;
        Exchange& operator=(const Exchange&) = delete;

    private:
        friend class Https;
        struct Parts;
        explicit Exchange(std::unique_ptr<Parts> parts);
        std::unique_ptr<Parts> parts_;
    };

    // `authorities`: CA certificates (PEM) for verifying servers; "": none, so that no server is trusted.
    Https(Loop& loop, std::string authorities);
    ~Https(); // every Exchange must be gone
    Https(const Https&) = delete;
    Https& operator=(const Https&) = delete;

    // `done` is called once, from a later turn of the loop; it may destroy the exchange.
    [[nodiscard]] std::unique_ptr<Exchange> start(Request request, Done done);

private:
    struct Curl; // libcurl's types stay in https.cpp
    void act(int socket, int events);
    void take_finished();

    Loop& loop_;
    std::string authorities_;
    void* multi_ = nullptr; // CURLM
    std::map<int, Handle<uv_poll_t>> sockets_;
    Timer timer_;
    TurnHook hook_;
};

} // namespace common
