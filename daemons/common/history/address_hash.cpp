#include "daemons/common/history/address_hash.h"
#include "daemons/common/history/address_members.h"
#include "daemons/common/history/history_query.h"
#include "libspool/disk/durable_file.h"
#include "libspool/journal/json_object.h"
#include <cassert>
#include <cctype>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <utility>
#include <vector>

namespace history {

namespace {

constexpr char mark = '#';
constexpr std::size_t hash_bytes = 16;

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool is_hashed(std::string_view local_part) {
    return local_part.size() == 1 + 2 * hash_bytes && local_part.front() == mark &&
           std::ranges::all_of(local_part.substr(1), is_hex);
}

// Of an address in a text: where a name ends is not known, so what may be in one without quotation marks counts.
bool is_of_address(char c) {
    constexpr std::string_view others = "!#$%&'*+-/=?^_`{|}~.";
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80 ||
           others.find(c) != others.npos;
}
bool is_of_domain(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80 || c == '-' ||
           c == '.';
}

// Copies a line and replaces values of its members. It is one of ours: without spaces, and well-formed.
class LineCopy {
public:
    LineCopy(const AddressHash& hash, std::string_view line) : hash_(hash), line_(line) {}

    std::string copy() {
        // The suppression list has domains, too, which stay.
        const bool entry = line_.find(R"("type":"suppression.)") != line_.npos;
        for (; at_ < line_.size(); ++at_) {
            const char c = line_[at_];
            if (c == '"')
                copy_string(entry);
            else
                copy_mark(c);
        }
        return std::move(out_);
    }

private:
    struct Container {
        bool object = false;
        bool expects_name = false;
        std::string_view name; // of the member that is a list, or of the one that comes
    };

    void copy_mark(char c) {
        out_ += c;
        if (c == '{') inside_.push_back({.object = true, .expects_name = true, .name = {}});
        if (c == '[') inside_.push_back({.object = false, .expects_name = false, .name = name()});
        if ((c == '}' || c == ']') && !inside_.empty()) inside_.pop_back();
        if (c == ',' && !inside_.empty()) inside_.back().expects_name = inside_.back().object;
    }

    // Members of objects within the event are of no interest: a meta value may have any name.
    std::string_view name() const {
        const bool direct = !inside_.empty() && (inside_.size() == 1 || !inside_.back().object);
        return direct ? inside_.back().name : std::string_view();
    }

    void copy_string(bool bare_stays) {
        auto end = at_ + 1;
        while (end < line_.size() && line_[end] != '"') end += line_[end] == '\\' ? 2 : 1;
        const auto quoted = line_.substr(at_, end + 1 - at_);
        at_ = end;
        const auto inner = quoted.substr(1, quoted.size() - 2);
        if (!inside_.empty() && inside_.back().expects_name) {
            inside_.back().expects_name = false;
            inside_.back().name = inner;
            out_ += quoted;
            return;
        }
        const bool address = is_address_member(name()), text = is_text_member(name());
        if (!address && !text) {
            out_ += quoted;
            return;
        }
        const auto value = inner.find('\\') == inner.npos ? std::string(inner) : decoded(quoted);
        const bool stays = address && bare_stays && value.find('@') == value.npos;
        spool::journal::append_text(out_, stays ? value : address ? hash_.of(value) : hash_.in_text(value));
    }

    static std::string decoded(std::string_view quoted) {
        const auto parsed = nlohmann::json::parse(quoted, nullptr, false);
        return parsed.is_string() ? parsed.get<std::string>() : std::string();
    }

    const AddressHash& hash_;
    std::string_view line_;
    std::size_t at_ = 0;
    std::vector<Container> inside_;
    std::string out_;
};

} // namespace

AddressHash::AddressHash(std::string secret) : secret_(std::move(secret)) {
    assert(secret_.size() == address_secret_size);
}

std::string AddressHash::of(std::string_view address) const {
    const auto at = address.rfind('@');
    if (address.empty() || is_hashed(address.substr(0, at))) return std::string(address);
    const auto text = lowered(address);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    const auto* done = HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
                            reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
    assert(done != nullptr && size >= hash_bytes);
    static_cast<void>(done);
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out(1, mark);
    for (std::size_t i = 0; i < hash_bytes; ++i) {
        out += digits[digest[i] >> 4];
        out += digits[digest[i] & 15];
    }
    return at == address.npos ? out : out.append(address.substr(at));
}

std::string AddressHash::in_text(std::string_view text) const {
    std::string out;
    std::size_t copied = 0;
    for (auto at = text.find('@'); at != text.npos; at = text.find('@', at + 1)) {
        auto begin = at, end = at + 1;
        if (begin > copied && text[begin - 1] == '"') { // "ann smith"@example.org
            const auto quote = begin < 2 ? text.npos : text.rfind('"', begin - 2);
            if (quote != text.npos && quote >= copied) begin = quote;
        } else {
            while (begin > copied && is_of_address(text[begin - 1])) --begin;
        }
        while (end < text.size() && is_of_domain(text[end])) ++end;
        while (end > at + 1 && text[end - 1] == '.') --end; // that of the sentence
        if (begin == at || end == at + 1) continue;
        out += text.substr(copied, begin - copied);
        out += of(text.substr(begin, end - begin));
        copied = end;
    }
    return out.append(text.substr(copied));
}

void AddressHash::hash_line(std::string& buffer, std::size_t from) const {
    auto line = LineCopy(*this, std::string_view(buffer).substr(from)).copy();
    buffer.resize(from);
    buffer += line;
}

spool::Result<std::optional<std::string>> read_address_secret(spool::Disk& disk, const std::string& directory) {
    const auto path = directory + '/' + std::string(address_secret_file);
    const auto file = disk.open(path, spool::Open::read);
    if (!file && file.error().code == ENOENT) return std::nullopt;
    if (!file) return std::unexpected(file.error());
    std::string secret(address_secret_size, '\0');
    if (TRY(disk.read(*file, 0, secret)) < secret.size())
        return std::unexpected(spool::Error{EBADMSG, path + ": is not 32 bytes long: restore it from a backup, or "
                                                            "remove it; then what was recorded with it is not found"});
    return secret;
}

spool::Result<std::string> make_address_secret(spool::Disk& disk, const std::string& directory,
                                               const std::string& random) {
    if (auto known = TRY(read_address_secret(disk, directory))) return *std::move(known);
    assert(random.size() == address_secret_size);
    TRY(spool::replace_durably(disk, directory + '/' + std::string(address_secret_file), random));
    return random;
}

} // namespace history
