// The DKIM keys of a domain: those of the configuration, else a key in a directory beside it, which is generated if it
// does not exist. Never overwrites a file.
#pragma once
#include "daemons/decide/message/signing.h"
#include "daemons/postrider/setup/records.h"
#include <expected>
#include <string>
#include <vector>

namespace postrider::setup {

struct DomainKey {
    KeyRecord record;
    std::string file;
    bool generated = false;  // just now
    bool configured = false; // the configuration signs with it
};

struct KeyError {
    std::string text;
    int status; // exit status
};

// Those the configuration has for the domain; the first that cannot be read is an error.
std::expected<std::vector<DomainKey>, KeyError> configured_keys(const std::vector<decide::SigningRule>& rules,
                                                                const std::string& domain);
// The key in that file. Nothing: the file does not exist, and was not to be made.
enum class IfMissing { leave, generate };
std::expected<std::vector<DomainKey>, KeyError> key_in(const std::string& file, const std::string& selector,
                                                       IfMissing if_missing);

} // namespace postrider::setup
