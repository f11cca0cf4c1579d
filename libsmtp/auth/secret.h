// A password or key in memory: it cannot be printed or compared by accident,
// and its bytes are wiped when it is destroyed. Must not know its purpose.
#pragma once
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace smtp {

class Secret {
public:
    Secret() = default;
    explicit Secret(std::string text) : text_(std::move(text)) {}
    Secret(Secret&& other) : text_(other.text_) { other.wipe(); }
    Secret& operator=(Secret&& other) {
        if (this == &other) return *this;
        wipe();
        text_ = other.text_;
        other.wipe();
        return *this;
    }
    ~Secret() { wipe(); }

    // For immediate use; do not copy the bytes.
    std::string_view reveal() const { return text_; }
    bool empty() const { return text_.empty(); }
    Secret copy() const { return Secret(text_); }
    void wipe() {
        explicit_bzero(text_.data(), text_.size());
        text_.clear();
    }

private:
    std::string text_;
};

} // namespace smtp
