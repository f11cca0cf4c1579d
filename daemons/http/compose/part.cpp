#include "daemons/http/compose/part.h"
#include "libsmtp/mime/body_encoder.h"
#include "libsmtp/text/base64.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>

namespace http::compose {

namespace {

constexpr std::size_t longest_line = 998, bytes_of_line = 57, plain_name = 60, piece_of_name = 40;
constexpr std::string_view delimiter_start = "--=_";

std::string with_line_ends(std::string_view text) {
    std::string out;
    out.reserve(text.size() + text.size() / 32 + 2);
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '\r' && text[at] != '\n') {
            out.push_back(text[at]);
            continue;
        }
        if (text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n') ++at;
        out += "\r\n";
    }
    if (!out.ends_with("\r\n")) out += "\r\n";
    return out;
}

// Each line of `text` without its end.
void for_lines(std::string_view text, const auto& see) {
    for (std::size_t at = 0; at < text.size();) {
        const auto end = text.find("\r\n", at);
        see(text.substr(at, end - at));
        at = end + 2;
    }
}

std::string base64_lines(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size() / bytes_of_line * 78 + 80);
    for (std::size_t at = 0; at < bytes.size(); at += bytes_of_line)
        out.append(smtp::encode_base64(bytes.substr(at, bytes_of_line))).append("\r\n");
    return out.empty() ? "\r\n" : out;
}

// In quoted-printable, where "=" is followed by two digits or the end of the line.
std::string quoted_lines(std::string_view text) {
    smtp::BodyEncoder encoder(smtp::BodyEncoder::Encoding::quoted_printable);
    std::string out;
    for_lines(text, [&](std::string_view line) { encoder.line(line, true, out); });
    encoder.finish(false, out);
    return out;
}

// Lower case letters, digits and a few others stand for themselves (RFC 2231, 7).
std::string percent(char c) {
    const bool plain = smtp::is_letter(c) || smtp::is_digit(c) || c == '.' || c == '-' || c == '_';
    return plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
}

// "; filename=…", on lines of its own; long ones in pieces, none of which ends inside a character.
std::string filename(std::string_view name) {
    const bool plain = name.size() <= plain_name && name.find_first_of("\"\\") == name.npos &&
                       name.find("=?") == name.npos && std::ranges::all_of(name, smtp::is_printable);
    if (plain) return fmt::format(";\r\n filename=\"{}\"", name);
    std::vector<std::string> pieces(1);
    for (const char c : name) {
        const bool inside = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
        if (!inside && pieces.back().size() >= piece_of_name) pieces.emplace_back();
        pieces.back() += percent(c);
    }
    std::string out;
    for (std::size_t n = 0; n < pieces.size(); ++n)
        out += fmt::format(";\r\n filename{}*={}{}", pieces.size() > 1 ? fmt::format("*{}", n) : "",
                           n == 0 ? "utf-8''" : "", pieces[n]);
    return out;
}

} // namespace

Part text_part(std::string_view subtype, std::string_view utf8) {
    const auto text = with_line_ends(utf8);
    const auto part = [&](std::string_view encoding, std::string body) {
        return Part{
            fmt::format("Content-Type: text/{}; charset=utf-8\r\nContent-Transfer-Encoding: {}\r\n", subtype, encoding),
            std::move(body)};
    };
    std::size_t escaped = 0;
    bool fits = true;
    for_lines(text, [&](std::string_view line) {
        escaped += static_cast<std::size_t>(
            std::ranges::count_if(line, [](char c) { return c != '=' && smtp::BodyEncoder::escaped(c); }));
        fits = fits && line.size() <= longest_line && !line.starts_with(delimiter_start);
    });
    if (fits && escaped == 0) return part("7bit", text);
    if (escaped * 2 > text.size()) return part("base64", base64_lines(text));
    return part("quoted-printable", quoted_lines(text));
}

Part file_part(const Attachment& attachment) {
    auto fields = fmt::format("Content-Type: {}\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: {}{}\r\n",
                              attachment.type.empty() ? "application/octet-stream" : attachment.type,
                              attachment.cid.empty() ? "attachment" : "inline",
                              attachment.name.empty() ? "" : filename(attachment.name));
    if (!attachment.cid.empty()) fields += fmt::format("Content-ID: <{}>\r\n", attachment.cid);
    return {std::move(fields), base64_lines(attachment.content)};
}

Part multipart(std::string_view subtype, const std::string& boundary, const std::vector<Part>& parts) {
    Part out{fmt::format("Content-Type: multipart/{};\r\n boundary=\"{}\"\r\n", subtype, boundary), {}};
    std::size_t size = 0;
    for (const auto& each : parts) size += each.fields.size() + each.body.size() + boundary.size() + 10;
    out.body.reserve(size + boundary.size() + 10);
    for (const auto& each : parts)
        out.body.append("--").append(boundary).append("\r\n").append(each.fields).append("\r\n").append(each.body) +=
            "\r\n";
    out.body.append("--").append(boundary).append("--\r\n");
    return out;
}

} // namespace http::compose
