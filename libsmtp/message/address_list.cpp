#include "libsmtp/message/address_list.h"
#include <algorithm>
#include <cstdint>
#include <fmt/format.h>

namespace smtp {
namespace {

// Any byte allowed in an atom. Bytes above 127 are UTF-8 of an internationalised header (RFC 6532).
bool is_atom_byte(unsigned char c) {
    return c > ' ' && c != 127 &&
           std::string_view("()<>[]:;@\\,.\"").find(static_cast<char>(c)) == std::string_view::npos;
}

bool is_dot_atom(std::string_view s) {
    if (s.empty() || s.front() == '.' || s.back() == '.' || s.find("..") != s.npos) return false;
    return std::all_of(s.begin(), s.end(),
                       [](char c) { return c == '.' || is_atom_byte(static_cast<unsigned char>(c)); });
}

std::string quoted(std::string_view s) {
    std::string out = "\"";
    for (char c : s) {
        if (c == '"' || c == '\\') out.push_back('\\');
        out.push_back(static_cast<unsigned char>(c) < ' ' || c == 127 ? ' ' : c);
    }
    return out + '"';
}

enum class Kind : std::uint8_t { end, atom, quoted, literal, special };

struct Token {
    Kind kind = Kind::end;
    std::string text;      // decoded; for special the one byte
    std::size_t begin = 0; // where it starts and ends in the text
    std::size_t end = 0;
    bool spaced = false; // preceded by blanks or comments

    bool is(char c) const { return kind == Kind::special && text[0] == c; }
    bool is_word() const { return kind == Kind::atom || kind == Kind::quoted; }
};

// Text into atoms, quoted strings, domain literals and specials; blanks and comments are skipped.
class Scanner {
public:
    Scanner(std::string_view text, const AddressListLimits& limits) : text_(text), limits_(limits) {}

    bool next(Token& token) {
        token = {};
        const std::size_t before = at_;
        if (!skip_blanks()) return false;
        token.spaced = at_ != before;
        token.begin = at_;
        bool good = true;
        if (at_ < text_.size()) {
            const auto c = static_cast<unsigned char>(text_[at_]);
            if (c == '"')
                good = closed_by('"', Kind::quoted, "quoted string is not closed", token);
            else if (c == '[')
                good = closed_by(']', Kind::literal, "address literal is not closed", token);
            else if (is_atom_byte(c))
                atom(token);
            else if (c < ' ' || c == 127)
                good = fail(at_, "control character");
            else {
                token.kind = Kind::special;
                token.text = text_[at_++];
            }
        }
        token.end = at_;
        return good;
    }
    bool fail(std::size_t position, std::string why) {
        if (error_.why.empty()) error_ = {position, std::move(why)};
        return false;
    }
    const AddressListError& error() const { return error_; }

private:
    bool skip_blanks() {
        for (; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (c == '(') {
                if (!comment()) return false;
            } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
                return true;
        }
        return true;
    }
    // Leaves at_ on the closing parenthesis.
    bool comment() {
        const std::size_t begin = at_;
        std::size_t depth = 0;
        for (; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (c == '\\')
                ++at_;
            else if (c == '(' && ++depth > limits_.comment_depth)
                return fail(at_, "comments nested too deeply");
            else if (c == ')' && --depth == 0)
                return true;
        }
        at_ = text_.size();
        return fail(begin, "comment is not closed");
    }
    bool closed_by(char close, Kind kind, const char* unclosed, Token& token) {
        token.kind = kind;
        std::size_t i = at_ + 1;
        for (; i < text_.size() && text_[i] != close; ++i) {
            char c = text_[i];
            if (kind == Kind::literal &&
                (c == '[' || c == '\\' || c == ' ' || c == '\t' || static_cast<unsigned char>(c) > 126))
                return fail(i, "not an address literal");
            if (c == '\r' || c == '\n') continue; // folding
            if (c == '\\' && ++i == text_.size()) break;
            c = text_[i];
            if ((static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 127) return fail(i, "control character");
            token.text.push_back(c == '\t' ? ' ' : c);
        }
        if (i >= text_.size()) return fail(at_, unclosed);
        at_ = i + 1;
        return true;
    }
    void atom(Token& token) {
        token.kind = Kind::atom;
        const std::size_t begin = at_;
        while (at_ < text_.size() && is_atom_byte(static_cast<unsigned char>(text_[at_]))) ++at_;
        token.text = text_.substr(begin, at_ - begin);
    }

    std::string_view text_;
    const AddressListLimits& limits_;
    std::size_t at_ = 0;
    AddressListError error_;
};

// Decides by the shape of the tokens read: words and dots are a display name if "<" follows, a group's name if ":"
// does, else a local part.
class Parser {
public:
    Parser(std::string_view text, const AddressListLimits& limits)
        : scan_(text, limits), limits_(limits), as_found_(limits.form == AddressListLimits::Form::as_found) {}

    std::expected<std::vector<ListedAddress>, AddressListError> list() {
        if (!advance() || !items()) return std::unexpected(scan_.error());
        return std::move(out_);
    }

private:
    bool advance() { return scan_.next(token_); }
    bool fail(std::string why) { return scan_.fail(token_.begin, std::move(why)); }

    bool items() {
        while (token_.kind != Kind::end) {
            if (token_.is(',')) { // empty elements are obsolete, but common
                if (!advance()) return false;
                continue;
            }
            if (token_.is(';') && (in_group_ || as_found_)) {
                in_group_ = false;
                group_.clear();
                if (!advance()) return false;
                if (as_found_) continue;
            } else if (!item())
                return false;
            else if (group_opened_) {
                group_opened_ = false;
                continue; // no comma after "name:"
            }
            if (token_.kind == Kind::end || token_.is(',') || (token_.is(';') && (in_group_ || as_found_))) continue;
            return fail("expected a comma");
        }
        return !in_group_ || fail("group is not closed");
    }

    bool item() {
        std::vector<Token> phrase;
        const bool odd = as_found_ && is_odd_phrase();
        while (token_.is_word() || token_.is('.') || (odd && token_.is('@'))) {
            phrase.push_back(token_);
            if (!advance()) return false;
        }
        if (token_.is('<')) return angle(phrase);
        if (token_.is(':') && !phrase.empty()) return open_group(phrase);
        ListedAddress address;
        if (!local_part_of(phrase, address)) return false;
        if (token_.is('@') && !(advance() && domain(address.domain, address.end))) return false;
        return add(std::move(address));
    }

    // Words, dots and an "@", and then "<"?
    bool is_odd_phrase() const {
        auto ahead = scan_;
        auto token = token_;
        bool odd = false;
        while (token.is_word() || token.is('.') || token.is('@')) {
            odd = odd || token.is('@');
            if (!ahead.next(token)) return false;
        }
        return odd && token.is('<');
    }

    bool open_group(const std::vector<Token>& phrase) {
        if (in_group_) return fail("group inside a group");
        in_group_ = group_opened_ = true;
        group_ = phrase_text(phrase);
        return advance();
    }

    bool angle(const std::vector<Token>& phrase) {
        ListedAddress address;
        address.display_name = phrase_text(phrase);
        if (!advance()) return false;
        if (as_found_ && token_.is('>')) return advance();
        const auto begin = token_.begin;
        if (!route()) return false;
        std::vector<Token> words;
        while (token_.is_word() || token_.is('.')) {
            words.push_back(token_);
            if (!advance()) return false;
        }
        if (!local_part_of(words, address)) return false;
        address.route = begin;
        if (token_.is('@') && !(advance() && domain(address.domain, address.end))) return false;
        if (!token_.is('>')) return fail("expected >");
        return advance() && add(std::move(address));
    }

    // "@a,@b:" before the address: RFC 5321 says to ignore it.
    bool route() {
        if (!token_.is('@')) return true;
        while (token_.is('@') || token_.is(',')) {
            if (token_.is(',')) {
                if (!advance()) return false;
                continue;
            }
            std::string hop;
            std::size_t end;
            if (!advance() || !domain(hop, end)) return false;
        }
        return token_.is(':') ? advance() : fail("source route without an address");
    }

    bool local_part_of(const std::vector<Token>& words, ListedAddress& address) {
        if (words.empty()) return fail(token_.kind == Kind::end ? "address expected at the end" : "address expected");
        bool word_due = true;
        for (const Token& word : words) {
            if (word.is('.') == word_due)
                return scan_.fail(word.begin, word_due ? "misplaced dot" : "expected @, a comma or <");
            word_due = !word_due;
            address.local_part += word.text;
        }
        if (word_due) return scan_.fail(words.back().begin, "misplaced dot");
        address.begin = address.route = words.front().begin;
        address.end = words.back().end;
        if (address.local_part.empty()) return scan_.fail(words.front().begin, "empty local part");
        if (address.local_part.size() > limits_.local_part)
            return scan_.fail(words.front().begin, "local part too long");
        return true;
    }

    bool domain(std::string& out, std::size_t& end) {
        const std::size_t begin = token_.begin;
        if (token_.kind == Kind::literal) {
            if (token_.text.empty()) return fail("empty address literal");
            out = "[" + token_.text + "]";
            end = token_.end;
        } else {
            bool label_due = true;
            while (token_.kind == Kind::atom || token_.is('.')) {
                if (token_.is('.') == label_due) return label_due ? fail("misplaced dot") : fail("expected a comma");
                label_due = !label_due;
                out += token_.text;
                end = token_.end;
                if (!advance()) return false;
            }
            // A dot at the end means the same domain, and is common.
            if (out.empty()) return fail("domain expected after @");
            if (label_due) out.pop_back();
        }
        if (out.size() > limits_.domain) return scan_.fail(begin, "domain too long");
        return token_.kind != Kind::literal || advance();
    }

    bool add(ListedAddress address) {
        if (out_.size() >= limits_.addresses) return fail(fmt::format("more than {} addresses", limits_.addresses));
        address.group = group_;
        out_.push_back(std::move(address));
        return true;
    }

    static std::string phrase_text(const std::vector<Token>& phrase) {
        std::string out;
        for (const Token& word : phrase) {
            if (word.spaced && !out.empty()) out.push_back(' ');
            out += word.text;
        }
        return out;
    }

    Scanner scan_;
    const AddressListLimits& limits_;
    const bool as_found_;
    Token token_;
    bool in_group_ = false, group_opened_ = false;
    std::string group_;
    std::vector<ListedAddress> out_;
};

} // namespace

std::string ListedAddress::address() const {
    std::string out = quote_local_part(local_part);
    if (!domain.empty()) out += "@" + domain;
    return out;
}

std::string quote_local_part(std::string_view local_part) {
    return is_dot_atom(local_part) ? std::string(local_part) : quoted(local_part);
}

std::string quote_phrase(std::string_view name) {
    const bool plain = std::all_of(name.begin(), name.end(),
                                   [](char c) { return c == ' ' || is_atom_byte(static_cast<unsigned char>(c)); });
    return plain && !name.empty() ? std::string(name) : quoted(name);
}

std::expected<std::vector<ListedAddress>, AddressListError> parse_address_list(std::string_view text,
                                                                               const AddressListLimits& limits) {
    return Parser(text, limits).list();
}

} // namespace smtp
