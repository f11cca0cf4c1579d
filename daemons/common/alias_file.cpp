#include "daemons/common/alias_file.h"
#include "daemons/common/fd.h"
#include "daemons/common/idn.h"
#include "libsmtp/text.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace common {

namespace {

using decide::AliasTarget;

constexpr auto bear_absence = std::chrono::seconds(10);
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
    if (looked_ && now.monotonic < next_look_) return Change::none;
    const bool first = !looked_;
    looked_ = true;
    next_look_ = now.monotonic + std::chrono::seconds(1);

    const auto fail = [&](int code) {
        auto trouble = fmt::format("{}: {}", path_, std::strerror(code));
        stamp_ = {};
        if (trouble == trouble_) return Change::none;
        trouble_ = std::move(trouble);
        return Change::failed;
    };
    struct stat facts;
    if (stat(path_.c_str(), &facts) != 0) {
        if (errno != ENOENT) return fail(errno);
        if (there_ && !away_) away_since_ = now.monotonic; // an editor may be at work
        away_ = true;
        if (there_ && now.monotonic - away_since_ < bear_absence) return Change::none;
        const bool news = there_ || !trouble_.empty() || first;
        there_ = false;
        trouble_.clear();
        table_ = {};
        stamp_ = {};
        return news ? Change::gone : Change::none;
    }
    const auto ns = [](const timespec& t) {
        return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
    };
    const Stamp stamp{facts.st_dev, facts.st_ino, static_cast<std::uint64_t>(facts.st_size),
                      ns(facts.st_ctim), ns(facts.st_mtim)};
    away_ = false;
    if (there_ && trouble_.empty() && stamp == stamp_) return Change::none;
    const auto rested = now.wall.time_since_epoch() - std::chrono::nanoseconds(stamp.modified);
    if (there_ && rested >= smtp::Duration::zero() && rested < std::chrono::seconds(1)) return Change::none;
    there_ = true;
    if (!S_ISREG(facts.st_mode)) return fail(EISDIR);
    if (facts.st_size > static_cast<off_t>(largest_file)) return fail(EFBIG);

    const Fd fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd) return fail(errno);
    std::string text(static_cast<std::size_t>(facts.st_size) + 1, '\0');
    std::size_t have = 0;
    for (;;) {
        const auto n = read(fd.number(), text.data() + have, text.size() - have);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(errno);
        if (n == 0) break;
        have += static_cast<std::size_t>(n);
        if (have > largest_file) return fail(EFBIG);
        if (have == text.size()) text.resize(have * 2);
    }
    text.resize(have);
    table_ = AliasTable::parse(text);
    stamp_ = stamp;
    owner_ = facts.st_uid;
    trouble_.clear();
    return Change::read;
}

} // namespace common
