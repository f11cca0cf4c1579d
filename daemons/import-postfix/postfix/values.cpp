#include "daemons/import-postfix/postfix/values.h"
#include "daemons/import-postfix/postfix/defaults.h"
#include "daemons/import-postfix/postfix/lists.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace postrider::postfix {

namespace {

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// "3.6" against "2": whole numbers between dots, one after the other.
int compare_levels(std::string_view a, std::string_view b) {
    while (!a.empty() || !b.empty()) {
        const auto part = [](std::string_view& text) {
            const auto dot = std::min(text.find('.'), text.size());
            const auto number = number_of(text.substr(0, dot)).value_or(0);
            text.remove_prefix(std::min(dot + 1, text.size()));
            return number;
        };
        const auto x = part(a), y = part(b);
        if (x != y) return x < y ? -1 : 1;
    }
    return 0;
}

int compare_words(std::string_view a, std::string_view b) {
    const auto x = number_of(a), y = number_of(b);
    if (x && y) return *x < *y ? -1 : *x > *y;
    return a < b ? -1 : a > b;
}

} // namespace

// One expansion: the names it is inside of, and the size of its result so far.
class Values::Expansion {
public:
    Expansion(const Values& values, std::string_view where, std::uint32_t line)
        : values_(values), where_(where), line_(line) {}

    bool text(std::string_view in, std::string& out) {
        if (depth_ == 2 * max_depth) return wrong(fmt::format("braces nested more than {} levels deep", 2 * max_depth));
        steps_ += in.size() / bytes_per_step;
        ++depth_;
        const bool good = pieces(in, out);
        --depth_;
        return good;
    }
    FileError file_error() const { return {values_.file_, line_, message_}; }

private:
    static constexpr std::size_t most_steps = 100'000, bytes_per_step = 64;

    bool pieces(std::string_view in, std::string& out) {
        for (std::size_t at = 0; at < in.size();) {
            if (++steps_ > most_steps || out.size() > max_size)
                return wrong(fmt::format("its value is longer than {} bytes after \"$name\" is substituted", max_size));
            if (in[at] != '$') {
                const auto dollar = std::min(in.find('$', at), in.size());
                out += in.substr(at, dollar - at), at = dollar;
            } else if (at + 1 < in.size() && in[at + 1] == '$') {
                out += '$', at += 2;
            } else if (at + 1 < in.size() && (in[at + 1] == '{' || in[at + 1] == '(')) {
                const auto end = closing(in, at + 1);
                if (end == in.npos) return wrong(fmt::format("\"{}\": unclosed brace", excerpt(in.substr(at))));
                if (!braces(in.substr(at + 2, end - at - 2), out)) return false;
                at = end + 1;
            } else {
                auto end = at + 1;
                while (end < in.size() && is_letter(in[end])) ++end;
                if (end == at + 1)
                    return wrong(fmt::format("\"{}\": no name follows the \"$\" (a dollar sign is written \"$$\")",
                                             excerpt(in.substr(at))));
                if (!name(in.substr(at + 1, end - at - 1), out)) return false;
                at = end;
            }
        }
        return true;
    }
    bool wrong(std::string message) {
        if (message_.empty()) message_ = where_.empty() ? std::move(message) : fmt::format("{}: {}", where_, message);
        return false;
    }

    static std::size_t closing(std::string_view in, std::size_t at) {
        const char open = in[at], close = open == '{' ? '}' : ')';
        std::size_t depth = 0;
        for (; at < in.size(); ++at) {
            if (in[at] == open) ++depth;
            if (in[at] == close && --depth == 0) return at;
        }
        return in.npos;
    }

    bool name(std::string_view word, std::string& out) {
        if (std::ranges::find(within_, word) != within_.end())
            return wrong(fmt::format("${{{}}} refers to itself ({}, {})", word, fmt::join(within_, ", "), word));
        if (within_.size() == max_depth) return wrong(fmt::format("names nested more than {} levels deep", max_depth));
        const auto raw = values_.raw(word);
        within_.emplace_back(word);
        const bool good = text(raw, out);
        within_.pop_back();
        return good;
    }

    // "{text}", or all there is without braces; `rest` is what follows.
    bool branch(std::string_view in, std::string_view& branch, std::string_view& rest) {
        const auto begun = trimmed(in);
        if (!begun.starts_with('{')) {
            branch = in;
            rest = {};
            return true;
        }
        const auto end = closing(begun, 0);
        if (end == begun.npos) return wrong(fmt::format("\"{}\": unclosed brace", excerpt(begun)));
        branch = begun.substr(1, end - 1);
        rest = trimmed(begun.substr(end + 1));
        return true;
    }

    // The part after a condition: "?{yes}:{no}", "?yes", ":no".
    bool chosen(bool is, std::string_view in, std::string& out) {
        std::string_view first, second, rest;
        const bool asks = in.front() == '?';
        if (!branch(in.substr(1), first, rest)) return false;
        if (rest.starts_with(':') && asks) {
            if (!branch(rest.substr(1), second, rest)) return false;
        }
        if (!rest.empty()) return wrong(fmt::format("\"{}\": unexpected text after the brace", excerpt(rest)));
        return text(is == asks ? first : second, out);
    }

    // What is between the braces of "${…}".
    bool braces(std::string_view in, std::string& out) {
        in = trimmed(in);
        if (in.starts_with('{')) return comparison(in, out);
        std::size_t end = 0;
        while (end < in.size() && is_letter(in[end])) ++end;
        const auto word = in.substr(0, end), rest = trimmed(in.substr(end));
        if (word.empty()) return wrong(fmt::format("\"${{{}}}\": the name is missing", excerpt(in)));
        if (rest.empty()) return name(word, out);
        if (rest.front() != '?' && rest.front() != ':')
            return wrong(fmt::format("\"${{{}}}\": \"{}\" is not allowed in a name", excerpt(in), rest.front()));
        return chosen(!values_.raw(word).empty(), in.substr(in.find(rest.front(), end)), out);
    }

    // "{a} == {b} ? {yes} : {no}"
    bool comparison(std::string_view in, std::string& out) {
        std::string_view left, right, rest;
        if (!branch(in, left, rest)) return false;
        std::size_t end = 0;
        while (end < rest.size() && rest[end] != '{') ++end;
        auto sign = trimmed(rest.substr(0, end));
        if (!branch(rest.substr(end), right, rest)) return false;
        const bool level = sign.ends_with("level");
        if (level) sign = trimmed(sign.substr(0, sign.size() - 5));
        std::string a, b;
        if (!text(left, a) || !text(right, b)) return false;
        const int order = level ? compare_levels(trimmed(a), trimmed(b)) : compare_words(a, b);
        bool is;
        if (sign == "==")
            is = order == 0;
        else if (sign == "!=")
            is = order != 0;
        else if (sign == "<")
            is = order < 0;
        else if (sign == "<=")
            is = order <= 0;
        else if (sign == ">")
            is = order > 0;
        else if (sign == ">=")
            is = order >= 0;
        else
            return wrong(fmt::format("\"{}\" compares nothing: ==, !=, <, <=, >, >= do", excerpt(sign)));
        if (rest.empty()) {
            out += is ? "bool:true" : "";
            return true;
        } // the value Postfix uses
        if (rest.front() != '?' && rest.front() != ':')
            return wrong(fmt::format("\"{}\": expected \"?\" or \":\"", excerpt(rest)));
        return chosen(is, rest, out);
    }

    const Values& values_;
    std::string_view where_;
    std::uint32_t line_;
    std::vector<std::string> within_;
    std::size_t steps_ = 0, depth_ = 0;
    std::string message_;
};

Values::Values(std::string file, std::vector<Setting> main, std::map<std::string, std::string, std::less<>> host)
    : file_(std::move(file)), host_(std::move(host)) {
    for (auto& setting : main) {
        auto name = setting.name;
        main_.insert_or_assign(std::move(name), std::move(setting));
    }
}

Values Values::of(const Service& service, const std::string& file) const {
    auto out = *this;
    out.file_ = file;
    for (const auto& setting : service.overrides) out.main_.insert_or_assign(setting.name, setting);
    out.main_.insert_or_assign("service_name", Setting{"service_name", service.name, service.line});
    return out;
}

const Setting* Values::given(std::string_view name) const {
    const auto found = main_.find(name);
    return found == main_.end() ? nullptr : &found->second;
}

std::string Values::raw(std::string_view name) const {
    if (const auto* setting = given(name)) return setting->value;
    const auto host = host_.find(name);
    return host != host_.end() ? host->second : default_of(name).value_or("");
}

Read<std::string> Values::value(std::string_view name) const {
    const auto* setting = given(name);
    const auto text = raw(name);
    if (is_never_expanded(name)) return text;
    return expand(text, name, setting ? setting->line : 0);
}

Read<std::string> Values::default_value(std::string_view name) const {
    const auto host = host_.find(name);
    const auto text = host != host_.end() ? host->second : default_of(name).value_or("");
    if (is_never_expanded(name)) return text;
    return expand(text, name, 0);
}

Read<std::string> Values::expand(std::string_view text, std::string_view where, std::uint32_t line) const {
    Expansion expansion(*this, where, line);
    std::string out;
    if (!expansion.text(text, out)) return std::unexpected(expansion.file_error());
    return std::string(trimmed(out));
}

} // namespace postrider::postfix
