#include "libsmtp/mime/body_encoder.h"
#include "libsmtp/text/base64.h"

namespace smtp {
namespace {

constexpr std::size_t longest = 76, bytes_of_line = 57; // 57 bytes are 76 of base64

std::string escape(char c) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    return {'=', digits[byte >> 4], digits[byte & 15]};
}

} // namespace

void BodyEncoder::line(std::string_view text, bool ends_line, std::string& out) {
    if (encoding_ == Encoding::base64) {
        if (line_end_) hold("\r\n", out);
        hold(text, out);
        line_end_ = ends_line;
        return;
    }
    quote(text, out);
    if (!ends_line) return;
    if (blank_) quoted(escape(blank_), out);
    blank_ = 0;
    out += "\r\n";
    column_ = 0;
    dash_ = false;
}

void BodyEncoder::finish(bool before_delimiter, std::string& out) {
    if (encoding_ == Encoding::base64) {
        if (line_end_ && !before_delimiter) hold("\r\n", out);
        put_base64(out, held_.size());
    } else if (blank_) {
        quoted(escape(blank_), out);
    }
    *this = BodyEncoder(encoding_);
}

void BodyEncoder::quote(std::string_view text, std::string& out) {
    for (const char c : text) {
        if (blank_) quoted({&blank_, 1}, out);
        blank_ = 0;
        if (c == ' ' || c == '\t')
            blank_ = c;
        else if (escaped(c) || (c == '-' && dash_))
            quoted(escape(c), out);
        else
            quoted({&c, 1}, out);
    }
}

void BodyEncoder::quoted(std::string_view token, std::string& out) {
    if (column_ + token.size() > longest - 1) { // a place is left for the "=" of a soft line end
        out += "=\r\n";
        column_ = 0;
    }
    dash_ = column_ == 0 && token == "-";
    out += token;
    column_ += token.size();
}

void BodyEncoder::hold(std::string_view bytes, std::string& out) {
    held_ += bytes;
    put_base64(out, held_.size() - held_.size() % bytes_of_line);
}

void BodyEncoder::put_base64(std::string& out, std::size_t all) {
    for (std::size_t at = 0; at < all; at += bytes_of_line)
        out.append(encode_base64(std::string_view(held_).substr(at, std::min(bytes_of_line, all - at)))) += "\r\n";
    held_.erase(0, all);
}

} // namespace smtp
