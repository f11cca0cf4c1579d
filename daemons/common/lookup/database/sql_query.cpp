#include "daemons/common/lookup/database/sql_query.h"
#include <fmt/format.h>

namespace tables {

namespace {

std::unexpected<smtp::Malformed> bad_query(std::string why) { return std::unexpected(smtp::Malformed{std::move(why)}); }

bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           c == '&';
}

struct Quoted {
    std::string content;  // without quotes; doubled quotes are single ones
    std::size_t size = 0; // as written, with its quotes
    bool escapes = false; // has a backslash
};

// From the quote at the beginning; nothing if it has no end.
std::optional<Quoted> quoted_text(std::string_view text, SqlDialect dialect) {
    Quoted out;
    const char quote = text.front();
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] == '\\') {
            out.escapes = true;
            if (dialect == SqlDialect::mysql && i + 1 < text.size()) out.content += text[i++];
        } else if (text[i] == quote) {
            if (i + 1 == text.size() || text[i + 1] != quote) {
                out.size = i + 1;
                return out;
            }
            ++i;
        }
        out.content += text[i];
    }
    return std::nullopt;
}

std::string unescaped_percent(const Template& plain) {
    std::string out;
    for (const auto& piece : plain.pieces()) out += piece.text;
    return out;
}

} // namespace

std::expected<SqlQuery, smtp::Malformed> SqlQuery::parse(std::string_view text, SqlDialect dialect) {
    if (const auto whole = Template::parse(text); !whole) return std::unexpected(whole.error());
    SqlQuery out;
    const auto add = [&](Template parameter) {
        out.parameters_.push_back(std::move(parameter));
        out.statement_ += dialect == SqlDialect::mysql ? "?" : fmt::format("${}", out.parameters_.size());
    };
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        if (c == '\'' || c == '"' || c == '`') {
            const auto literal = quoted_text(text.substr(i), dialect);
            if (!literal) return bad_query(fmt::format("a quotation mark ({}) has no counterpart", c));
            auto content = *Template::parse(literal->content); // as the whole, and so without an error
            if (!content.has_placeholders()) {
                out.statement_ += unescaped_percent(*Template::parse(text.substr(i, literal->size)));
                i += literal->size;
                continue;
            }
            if (c == '`' || (c == '"' && dialect == SqlDialect::pgsql))
                return bad_query(
                    fmt::format("a placeholder between {0} and {0} would name a table or column: the key can "
                                "only be a value",
                                c));
            if (literal->escapes) return bad_query("a quoted text with a placeholder must not have backslashes");
            if (!out.statement_.empty() && is_word(out.statement_.back()))
                return bad_query("a quoted text with a placeholder must not have a prefix, such as E'…'");
            add(std::move(content));
            i += literal->size;
            continue;
        }
        if (c == '%' && text[i + 1] != '%') {
            add(*Template::parse(text.substr(i, 2)));
            i += 2;
            continue;
        }
        if (c == '?' && dialect == SqlDialect::mysql)
            return bad_query("a question mark outside of quotes is not allowed: write '%s' for the key");
        out.statement_ += c;
        i += c == '%' ? 2 : 1;
    }
    if (out.parameters_.size() > most_parameters)
        return bad_query(fmt::format("it has more than {} placeholders", most_parameters));
    return out;
}

std::optional<std::vector<std::string>> SqlQuery::parameters(std::string_view key) const {
    std::vector<std::string> out;
    for (const auto& each : parameters_) {
        auto value = each.expand(key, key);
        if (!value) return std::nullopt;
        out.push_back(*std::move(value));
    }
    return out;
}

} // namespace tables
