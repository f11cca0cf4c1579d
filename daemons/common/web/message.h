// An HTTP request and its response, as values; the client as the kernel reports it. Knows no server.
#pragma once
#include "daemons/common/net/local_socket.h"
#include "daemons/common/net/network.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace web {

using Fields = std::vector<std::pair<std::string, std::string>>; // names in lower case for headers

// One of them: the address for TCP, the user for a UNIX socket.
struct Client {
    std::optional<common::IpAddress> address;
    std::optional<common::Credentials> user;
    std::string text() const; // "192.0.2.1", "uid=1000"
};

struct Request {
    std::string method, path; // the path as sent; segments are decoded
    std::vector<std::string> segments;
    Fields parameters, headers;
    std::string body;
    Client client;

    // The first one; "" if there is none.
    std::string_view header(std::string_view lower_case_name) const;
    std::string_view parameter(std::string_view name) const;
    bool has_header(std::string_view lower_case_name) const;
};

struct Response {
    unsigned status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::string body;
    Fields headers = {};
};

} // namespace web
