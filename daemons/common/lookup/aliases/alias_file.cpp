#include "daemons/common/lookup/aliases/alias_file.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/common/text/idn.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/utf8.h"
#include <cstring>
#include <fmt/format.h>

namespace common {

namespace {

using decide::AliasTarget;

constexpr std::size_t max_alias_file = 64 << 20;

class Parser {
public:
    explicit Parser(AliasTable& table) : table_(table) {}

    void line(std::string_view text, std::uint32_t number) {
        if (text.ends_with('\r')) text.remove_suffix(1);
        const auto content = trimmed_blanks(text);
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
        const auto written = take_item(rest, ':', ended);
        if (!written) return problem(number_, "a quote is not closed");
        // Without a colon only the first word can be the name: mail for it waits.
        const auto name = ended ? *written : written->substr(0, written->find_first_of(" \t"));
        if (name.empty()) return problem(number_, "the name is missing");
        const auto before = fmt::format("line {}: ", number_);
        std::vector<AliasTarget> targets;
        if (ended) append_targets(rest, before, targets);
        if (targets.empty())
            targets.push_back({AliasTarget::Kind::wrong,
                               before + (!ended ? "expected \"name: target\""
                                                : fmt::format("{}: no target follows", smtp::printable(name, 64)))});
        for (auto& target : targets) {
            if (target.kind == AliasTarget::Kind::include) target.line = number_;
            if (target.kind == AliasTarget::Kind::wrong) problem(number_, target.value.substr(before.size()));
        }
        const auto [entry_of_it, fresh] = table_.entries.try_emplace(idn::folded(name), targets);
        if (fresh) return;
        if (auto& first = entry_of_it->second; first.size() == 1 && first.front().kind == AliasTarget::Kind::wrong)
            first = std::move(targets); // nothing was lost with it
        else
            problem(number_, fmt::format("{} is listed twice; the first entry is used", smtp::printable(name, 64)));
    }

private:
    void problem(std::uint32_t number, std::string message) {
        if (table_.problems.size() < most_alias_problems) table_.problems.push_back({number, std::move(message)});
    }

    AliasTable& table_;
    std::string entry_; // a line with its continuations
    std::uint32_t number_ = 0;
};

} // namespace

AliasTable AliasTable::parse(std::string_view text) {
    text = smtp::without_byte_order_mark(text);
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

const std::vector<AliasTarget>* AliasFile::find(const std::string& name) const {
    const auto found = table_.entries.find(name);
    return found == table_.entries.end() ? nullptr : &found->second;
}

AliasFile::Change AliasFile::check(smtp::Now now) {
    switch (file_.check(now)) {
    case WatchedFile::Change::none: return Change::none;
    case WatchedFile::Change::failed:
        if (!file_.missing()) if_missing_ = IfMissing::unreadable;
        return readable() ? Change::absent : Change::failed;
    case WatchedFile::Change::changed: break;
    }
    if_missing_ = IfMissing::unreadable;
    const auto text = read_bounded(file_.path(), max_alias_file);
    if (!text)
        return file_.failed(std::strerror(text.error())) == WatchedFile::Change::none ? Change::none : Change::failed;
    table_ = AliasTable::parse(*text);
    file_.clear_problem();
    return Change::read;
}

} // namespace common
