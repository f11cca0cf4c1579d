#include "libsmtp/dkim/dkim.h"
#include "libsmtp/text/base64.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace smtp::dkim {
namespace {

constexpr std::size_t line_width = 76;

struct Named {
    std::string_view name;
    bool once_more = false; // signs one more than there are, so that none can be added
};

// RFC 6376, 5.4.1, and those that decide what a reader sees or where replies go.
constexpr Named fields[] = {
    {"From", true},
    {"Reply-To", true},
    {"To", true},
    {"Cc", true},
    {"Subject", true},
    {"Date", true},
    {"Message-ID", true},
    {"MIME-Version", true},
    {"Content-Type", true},
    {"Content-Transfer-Encoding", true},
    {"Content-ID"},
    {"Content-Description"},
    {"Content-Disposition"},
    {"Sender"},
    {"In-Reply-To"},
    {"References"},
    {"Resent-Date"},
    {"Resent-From"},
    {"Resent-Sender"},
    {"Resent-To"},
    {"Resent-Cc"},
    {"Resent-Message-ID"},
    {"List-Id"},
    {"List-Help"},
    {"List-Unsubscribe"},
    {"List-Unsubscribe-Post"},
    {"List-Subscribe"},
    {"List-Post"},
    {"List-Owner"},
    {"List-Archive"},
    {"Auto-Submitted"},
};

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Line ends removed, runs of blanks reduced to one, none at the ends.
std::string collapsed(std::string_view text) {
    std::string out;
    bool blank = false;
    for (const char c : text) {
        if (c == '\r' || c == '\n') continue;
        if (is_blank(c)) {
            blank = !out.empty();
        } else {
            if (std::exchange(blank, false)) out += ' ';
            out += c;
        }
    }
    return out;
}

// A field as it is written: tags on lines of reasonable length.
class Folded {
public:
    explicit Folded(std::string text) : text_(std::move(text)), column_(text_.size()) {}
    // Starts a new line if this one would become too long.
    void put(std::string_view piece, std::string_view before = "") {
        if (column_ + before.size() + piece.size() > line_width) {
            text_ += "\r\n\t";
            column_ = 8;
            before = {};
        }
        text_.append(before) += piece;
        column_ += before.size() + piece.size();
    }
    void tag(std::string_view piece) { put(piece, " "); }
    void base64(std::string_view text) {
        constexpr std::size_t together = 64;
        for (; !text.empty(); text.remove_prefix(std::min(together, text.size()))) put(text.substr(0, together));
    }
    std::string& text() { return text_; }

private:
    std::string text_;
    std::size_t column_;
};

} // namespace

// --- canonical forms
// ------------------------------------------------------------------------------------------

void RelaxedBody::put(std::string_view text) {
    constexpr std::size_t enough = 16 * 1024;
    const auto append = [&](std::string_view more) {
        out_ += more;
        if (out_.size() < enough) return;
        sink_(out_);
        out_.clear();
    };
    for (; line_ends_ > 0; --line_ends_) append("\r\n");
    if (std::exchange(blanks_, false)) append(" ");
    append(text);
    any_ = true;
}

void RelaxedBody::feed(std::string_view chunk) {
    while (!chunk.empty()) {
        const char c = chunk.front();
        std::size_t taken = 1;
        if (c == '\n') {
            ++line_ends_;
            cr_ = blanks_ = false;
        } else {
            if (std::exchange(cr_, false)) put("\r"); // a bare one
            if (c == '\r') {
                cr_ = true;
            } else if (is_blank(c)) {
                blanks_ = true;
            } else {
                taken = std::min(chunk.find_first_of("\r\n \t"), chunk.size());
                put(chunk.substr(0, taken));
            }
        }
        chunk.remove_prefix(taken);
    }
}

void RelaxedBody::finish() {
    if (std::exchange(cr_, false)) put("\r");
    if (any_) out_ += "\r\n"; // that of the last line, or the one it lacks
    sink_(out_);
    out_.clear();
}

std::string relaxed_field(const HeaderField& field) {
    return lowered(field.name) + ':' + collapsed(field.value) + "\r\n";
}

void SplitMessage::feed(std::string_view chunk) {
    if (in_body_) return body_.feed(chunk);
    if (overlong()) return;
    const auto looked_at = header_.size() < 3 ? 0 : header_.size() - 3;
    const auto before = header_.size();
    header_ += chunk;
    std::size_t end = header_.npos; // of the header, with its empty line
    if (header_.starts_with("\r\n"))
        end = 2;
    else if (const auto found = header_.find("\r\n\r\n", looked_at); found != header_.npos)
        end = found + 4;
    if (end == header_.npos) return;
    in_body_ = true;
    header_.resize(end);
    body_.feed(chunk.substr(end - before));
}

// --- the field
// ------------------------------------------------------------------------------------------------

std::optional<std::vector<std::string_view>> signed_fields(const HeaderBlock& header) {
    std::vector<std::string_view> names;
    for (const auto& [name, once_more] : fields) {
        const auto there =
            std::ranges::count_if(header.fields, [&](const HeaderField& field) { return field.is(name); });
        if (name == "From" && there != 1) return std::nullopt;
        const auto times = static_cast<std::size_t>(there) + (once_more ? 1 : 0);
        if (names.size() + times > name_limit) return std::nullopt;
        names.insert(names.end(), times, name);
    }
    return names;
}

std::optional<std::string> signature_field(const HeaderBlock& header, const std::vector<std::string_view>& names,
                                           std::string_view body_hash, const Signature& signature, const Sign& sign) {
    // Of several fields with one name the last is signed first (5.4.2); if none is left, the name signs nothing.
    std::string data;
    std::vector<bool> used(header.fields.size());
    for (const auto name : names)
        for (auto i = header.fields.size(); i-- > 0;)
            if (!used[i] && header.fields[i].is(name)) {
                used[i] = true;
                data += relaxed_field(header.fields[i]);
                break;
            }

    Folded field("DKIM-Signature: v=1;");
    field.tag(signature.algorithm == Algorithm::rsa_sha256 ? "a=rsa-sha256;" : "a=ed25519-sha256;");
    field.tag("c=relaxed/relaxed;");
    field.tag(fmt::format("d={};", signature.domain));
    field.tag(fmt::format("s={};", signature.selector));
    field.tag(fmt::format("t={};", signature.time));
    if (signature.expiration) field.tag(fmt::format("x={};", *signature.expiration));
    if (!signature.identity.empty()) field.tag(fmt::format("i={};", signature.identity));
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto end = i + 1 < names.size() ? ":" : ";";
        if (i == 0)
            field.tag(fmt::format("h={}{}", names[i], end));
        else
            field.put(fmt::format("{}{}", names[i], end));
    }
    field.tag(fmt::format("bh={};", encode_base64(body_hash)));
    field.tag("b=");

    const auto unsigned_field = scan_header(field.text());
    auto own = relaxed_field(unsigned_field.fields.front());
    own.resize(own.size() - 2); // without its line end (3.7)
    const auto made = sign(data + own);
    if (!made) return std::nullopt;
    field.base64(encode_base64(*made));
    return std::move(field.text()) + "\r\n";
}

} // namespace smtp::dkim
