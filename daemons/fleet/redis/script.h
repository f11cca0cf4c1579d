// A program that the store runs as one step, and the name that the store knows it by: SHA-1 of its text. Pure.
#pragma once
#include <string>

namespace fleet::redis {

class Script {
public:
    explicit Script(std::string text);
    const std::string& text() const { return text_; }
    const std::string& digest() const { return digest_; } // 40 hexadecimal digits

private:
    std::string text_, digest_;
};

} // namespace fleet::redis
