#include "daemons/common/alias_file.h"
#include "daemons/common/idn.h"
#include "daemons/common/read_file.h"
#include "libsmtp/text.h"
#include <cstring>
#include <fmt/format.h>
#include <optional>

namespace common {

namespace {

using decide::AliasTarget;

constexpr std::size_t most_problems = 20, largest_file = 64 << 20, longest_value = 4096;

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
        text.remove_suffix(1);
    return text;
}

// Takes one item off `text`, up to `end` (',' or ':') outside of quotes; empty if a quote is not closed.
std::optional<std::string> take_item(std::string_view& text, char end, bool& ended) {
    std::string out;
    bool quoted = false;
    std::size_t i = 0;
    for (; i < text.size() && (quoted || text[i] != end); ++i) {
        if (text[i] == '"') {
            quoted = !quoted;
        } else if (quoted && text[i] == '\\' && i + 1 < text.size()) {
            out += text[++i];
        } else {
            out += text[i];
        }
    }
    ended = i < text.size();
    text.remove_prefix(ended ? i + 1 : i);
    if (quoted) return {};
    return std::string(trimmed(out));
}

AliasTarget target_of(std::string value) {
    const auto starts = [&](std::string_view prefix) {
        return smtp::starts_with_ignoring_case(value, prefix);
    };
    if (starts("|")) return {AliasTarget::Kind::command, value.substr(1)};
    if (starts("/")) return {AliasTarget::Kind::file, value};
    if (starts(":include:"))
        return {AliasTarget::Kind::include, std::string(trimmed(std::string_view(value).substr(9)))};
    if (starts("\\")) return {AliasTarget::Kind::user, value.substr(1)};
    return {AliasTarget::Kind::address, value};
}

bool printable(std::string_view value) {
    for (const unsigned char c : value)
        if (c < 0x20 || c == 0x7f) return false;
    return true;
}

// The targets of one line or entry, behind those there are. What is wrong with it, or "".
std::string_view take_targets(std::string_view text, std::vector<AliasTarget>& out) {
    bool ended = false;
    do {
        auto value = take_item(text, ',', ended);
        if (!value) return "a quote is not closed";
        if (value->empty()) continue;
        if (value->size() > longest_value || !printable(*value)) return "a target is too long or odd";
        out.push_back(target_of(std::move(*value)));
    } while (ended);
    return "";
}

class Parser {
public:
    explicit Parser(AliasTable& table) : table_(table) {}

    void line(std::string_view text, std::uint32_t number) {
        if (text.ends_with('\r')) text.remove_suffix(1);
        const auto content = trimmed(text);
        if (content.empty() || content.front() == '#') return; // also between a line and its continuation
        if (text.front() == ' ' || text.front() == '\t') {
            if (entry_.empty()) return problem(number, "continues nothing");
            entry_ += ' ';
            entry_ += content;
            return;
        }
        finish();
        entry_ = content;
        number_ = number;
    }

    void finish() {
        if (entry_.empty()) return;
        const auto entry = std::move(entry_);
        entry_.clear();
        std::string_view rest = entry;
        bool ended = false;
        const auto name = take_item(rest, ':', ended);
        if (!name) return problem(number_, "a quote is not closed");
        if (!ended) return problem(number_, "expected \"name: target\"");
        if (name->empty()) return problem(number_, "the name is missing");
        std::vector<AliasTarget> targets;
        if (const auto wrong = take_targets(rest, targets); !wrong.empty()) return problem(number_, std::string(wrong));
        if (targets.empty())
            return problem(number_, fmt::format("{}: nothing stands behind it", smtp::printable(*name, 64)));
        if (!table_.entries.emplace(idn::folded(*name), std::move(targets)).second)
            problem(number_,
                    fmt::format("{} is there already; the first one counts", smtp::printable(*name, 64)));
    }

private:
    void problem(std::uint32_t number, std::string message) {
        if (table_.problems.size() < most_problems) table_.problems.push_back({number, std::move(message)});
    }

    AliasTable& table_;
    std::string entry_; // a line with its continuations
    std::uint32_t number_ = 0;
};

} // namespace

AliasTable AliasTable::parse(std::string_view text) {
    AliasTable table;
    Parser parser(table);
    std::uint32_t number = 0;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        parser.line(line, ++number);
    }
    parser.finish();
    return table;
}

std::vector<AliasTarget> parse_targets(std::string_view text) {
    std::vector<AliasTarget> out;
    if (!take_targets(text, out).empty()) out.clear();
    return out;
}

TargetList TargetList::parse(std::string_view text) {
    TargetList list;
    std::uint32_t number = 0;
    while (!text.empty()) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        ++number;
        line = trimmed(line);
        if (line.empty() || line.front() == '#') continue;
        const auto before = list.targets.size();
        if (const auto wrong = take_targets(line, list.targets); !wrong.empty()) {
            list.targets.resize(before);
            if (list.problems.size() < most_problems) list.problems.push_back({number, std::string(wrong)});
        }
    }
    return list;
}

const std::vector<AliasTarget>* AliasFile::find(const std::string& name) const {
    const auto found = table_.entries.find(name);
    return found == table_.entries.end() ? nullptr : &found->second;
}

AliasFile::Change AliasFile::look(smtp::Now now) {
    switch (file_.look(now)) {
    case WatchedFile::Change::none: return Change::none;
    case WatchedFile::Change::failed:
        if (!file_.missing()) return Change::failed;
        table_ = {};
        return Change::gone;
    case WatchedFile::Change::changed: break;
    }
    const auto text = read_bounded(file_.path(), largest_file);
    if (!text)
        return file_.failed(std::strerror(text.error())) == WatchedFile::Change::none ? Change::none : Change::failed;
    table_ = AliasTable::parse(*text);
    file_.well();
    return Change::read;
}

} // namespace common
