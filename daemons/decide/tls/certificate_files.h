// The certificates that we show to servers that ask for one: names of files. A value.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace decide {

struct CertificateFiles {
    // Chains, PEM; the first is shown under TLS 1.2. Nothing: it is not said here; empty: none is shown.
    std::optional<std::vector<std::string>> certificates;
    std::vector<std::string> keys; // one each, or none: the key is in the same file

    std::size_t size() const { return certificates ? certificates->size() : 0; }
    const std::string& key_of(std::size_t number) const {
        return keys.empty() ? (*certificates)[number] : keys[number];
    }
    bool operator==(const CertificateFiles&) const = default;
};

} // namespace decide
