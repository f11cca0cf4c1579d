// Another node, to which messages can be moved (postrider-drain(7)). Values.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include <cstddef>
#include <string>

namespace config {

struct Node { // [node.<name>]
    static constexpr std::size_t most = 64, longest_name = 64;

    std::string name;
    std::string url; // of its API
    bool allow_http = false;
    std::string token_file;
    std::string ca_file; // "": smtp_client.tls_ca_file
    Duration timeout = 60s;
    bool operator==(const Node&) const = default;
};

} // namespace config
