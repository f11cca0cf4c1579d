#include "libsmtp/mime/content_type.h"
#include "libsmtp/text/text.h"

namespace smtp {
namespace {

// Reads a value from its left.
class Scanner {
public:
    explicit Scanner(std::string_view text) : text_(text) {}

    bool done() {
        skip();
        return text_.empty();
    }
    bool take(char c) {
        skip();
        if (text_.empty() || text_.front() != c) return false;
        text_.remove_prefix(1);
        return true;
    }
    std::string_view token() {
        skip();
        std::size_t n = 0;
        while (n < text_.size() && is_printable(text_[n]) &&
               std::string_view(" ()<>@,;:\\\"/[]?=").find(text_[n]) == std::string_view::npos)
            ++n;
        const auto found = text_.substr(0, n);
        text_.remove_prefix(n);
        return found;
    }
    // A token or a quoted string; many boundaries in use have bytes in them that no token may have.
    std::optional<std::string> value() {
        skip();
        if (text_.empty()) return std::nullopt;
        if (text_.front() != '"') {
            const auto n = std::min(text_.find_first_of("; \t\r\n(\""), text_.size());
            std::string found(text_.substr(0, n));
            text_.remove_prefix(n);
            return found.empty() ? std::nullopt : std::optional(std::move(found));
        }
        std::string found;
        for (std::size_t i = 1; i < text_.size(); ++i) {
            if (text_[i] == '"') {
                text_.remove_prefix(i + 1);
                return found;
            }
            if (text_[i] == '\r' || text_[i] == '\n') continue; // folded
            if (text_[i] == '\\' && i + 1 < text_.size()) ++i;
            found += text_[i];
        }
        text_ = {};
        return std::nullopt;
    }
    void to_next_parameter() {
        while (!text_.empty() && text_.front() != ';')
            if (text_.front() == '"')
                static_cast<void>(value());
            else
                text_.remove_prefix(1);
    }

private:
    // White space and comments.
    void skip() {
        std::size_t depth = 0;
        while (!text_.empty()) {
            const char c = text_.front();
            if (c == '(')
                ++depth;
            else if (c == ')' && depth > 0)
                --depth;
            else if (c == '\\' && depth > 0 && text_.size() > 1)
                text_.remove_prefix(1);
            else if (depth == 0 && c != ' ' && c != '\t' && c != '\r' && c != '\n')
                return;
            text_.remove_prefix(1);
        }
    }
    std::string_view text_;
};

} // namespace

std::optional<ContentType> parse_content_type(std::string_view value) {
    Scanner scanner(value);
    ContentType out;
    out.type = lowered(scanner.token());
    if (out.type.empty() || !scanner.take('/')) return std::nullopt;
    out.subtype = lowered(scanner.token());
    if (out.subtype.empty()) return std::nullopt;
    bool bounded = false;
    while (!scanner.done()) {
        scanner.to_next_parameter();
        if (!scanner.take(';')) break;
        if (!same_ignoring_case(scanner.token(), "boundary") || !scanner.take('=')) continue;
        auto boundary = scanner.value();
        if (!boundary || bounded) return std::nullopt;
        bounded = true;
        out.boundary = *std::move(boundary);
        while (!out.boundary.empty() && out.boundary.back() == ' ') out.boundary.pop_back(); // RFC 2046, 5.1.1
    }
    return out;
}

TransferEncoding parse_transfer_encoding(std::string_view value) {
    Scanner scanner(value);
    if (scanner.done()) return TransferEncoding::seven_bit;
    const auto word = lowered(scanner.token());
    if (!scanner.done()) return TransferEncoding::unknown;
    if (word == "7bit") return TransferEncoding::seven_bit;
    if (word == "8bit") return TransferEncoding::eight_bit;
    if (word == "binary") return TransferEncoding::binary;
    if (word == "quoted-printable") return TransferEncoding::quoted_printable;
    if (word == "base64") return TransferEncoding::base64;
    return TransferEncoding::unknown;
}

} // namespace smtp
