// The commands of the suppression list: addresses that get no mail.
#include "daemons/postrider/queue/suppress.h"
#include "daemons/common/proto/control.h"
#include "daemons/common/store/suppression_list.h"
#include "daemons/common/terminal/text.h"
#include "daemons/common/text/units.h"
#include "daemons/decide/message/suppression.h"
#include "daemons/postrider/command/command.h"
#include "daemons/postrider/queue/suppression_lines.h"
#include "libsmtp/text/date.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

namespace postrider {

using nlohmann::json;
namespace op = proto::control::op;

namespace {

constexpr std::size_t max_request_bytes = 40'000; // a line to the queue-manager is bounded
constexpr std::size_t max_entries_per_request = 500, longest_line = 16'384;

struct SuppressionCounts {
    std::int64_t added = 0, replaced = 0, removed = 0, missing = 0;
    void add(const json& line) {
        added += number_of(line, "added");
        replaced += number_of(line, "replaced");
        removed += number_of(line, "removed");
        missing += number_of(line, "not_found");
    }
};

// The mail that an entry is for.
constexpr std::pair<std::string_view, const char*> scope_options[] = {
    {"--sender", "sender"}, {"--pool", "pool"}, {"--lane", "lane"}};

std::string scope_of(const json& line) {
    auto out = text_of(line, "sender");
    if (const auto pool = text_of(line, "pool"); !pool.empty()) out = "pool " + pool;
    if (const auto lane = text_of(line, "lane"); !lane.empty()) out = "lane " + lane;
    return out;
}

std::string date_of(std::int64_t seconds) {
    return seconds > 0 ? smtp::iso_date(smtp::WallTime(std::chrono::seconds(seconds))) : "-";
}

// When entries end by --for; 0: never. Nothing: an error was printed.
std::optional<std::int64_t> expiry(const Arguments& arguments) {
    const auto text = arguments.option("--for");
    if (!text) return 0;
    const auto life = config::parse_duration(*text);
    if (life && *life >= std::chrono::seconds(1))
        return std::time(nullptr) + std::chrono::ceil<std::chrono::seconds>(*life).count();
    print_error(fmt::format("--for {}: expected a duration, such as 90d", *text));
    return {};
}

json entry(const Arguments& arguments, std::string_view recipient, std::int64_t expires) {
    json out = {{"recipient", recipient}, {"expires", expires}};
    for (const auto& [option, member] : scope_options)
        if (const auto value = arguments.option(option)) out[member] = *value;
    if (const auto why = arguments.option("--reason")) out["reason"] = *why;
    return out;
}

bool is_filter(const std::string& word) {
    return word == "all" || (word.find('=') != word.npos && word.find('@') > word.find('='));
}

json request_of(std::string_view op, const Arguments& arguments, json entries) {
    json out = {{"op", op}, {"entries", std::move(entries)}};
    if (arguments.has("--dry-run")) out["dry_run"] = true;
    return out;
}

// Entries go in requests of a bounded size.
class EntryBatch {
public:
    EntryBatch(const Arguments& arguments, std::string_view op) : arguments_(arguments), op_(op) {}
    int add(json entry) {
        bytes_ += entry.dump().size() + 1;
        entries_.push_back(std::move(entry));
        return bytes_ >= max_request_bytes || entries_.size() >= max_entries_per_request ? send() : ok;
    }
    int send() {
        if (entries_.empty()) return ok;
        bytes_ = 0;
        const int status = ask_queue(arguments_, request_of(op_, arguments_, std::exchange(entries_, json::array())),
                                     [this](const json& line) { total.add(line); });
        const auto done = total.added + total.replaced + total.removed;
        if (status != ok && done > 0 && !arguments_.has("--dry-run"))
            print_error(fmt::format("{} before the error were made and remain", count_text(done, "change")));
        return status;
    }
    SuppressionCounts total;

private:
    const Arguments& arguments_;
    std::string_view op_;
    json entries_ = json::array();
    std::size_t bytes_ = 0;
};

void print_added(const Arguments& arguments, const SuppressionCounts& total, std::int64_t refused = 0) {
    const bool dry = arguments.has("--dry-run");
    if (arguments.json)
        return print_json({{"version", 1},
                           {"added", total.added},
                           {"replaced", total.replaced},
                           {"invalid", refused},
                           {"dry_run", dry}});
    fmt::print("{} {} added to the suppression list{}{}{}\n", total.added + total.replaced,
               dry                                 ? "would be"
               : total.added + total.replaced == 1 ? "is"
                                                   : "are",
               total.replaced > 0 ? fmt::format(", {} of them replacing an earlier entry", total.replaced) : "",
               refused > 0 ? fmt::format("; {} not understood", count_text(refused, "line")) : "",
               dry ? "; nothing was changed" : "");
}

void add_rows(Table& table, const json& line) {
    auto reason = text_of(line, "reason");
    if (const auto reply = text_of(line, "reply"); !reply.empty()) reason += (reason.empty() ? "" : ": ") + reply;
    table.row({text_of(line, "recipient"), scope_of(line), date_of(number_of(line, "added")),
               date_of(number_of(line, "expires")), text_of(line, "added_by"), reason});
}

Table entries_table() { return Table({"Recipient", "From", "Since", "Until", "By", "Reason"}); }

} // namespace

int suppress_add(const Arguments& arguments) {
    const auto expires = expiry(arguments);
    if (!expires) return usage;
    EntryBatch batch(arguments, op::suppress);
    for (const auto& word : arguments.words)
        if (const int status = batch.add(entry(arguments, word, *expires)); status != ok) return status;
    if (const int status = batch.send(); status != ok) return status;
    print_added(arguments, batch.total);
    return ok;
}

int suppress_remove(const Arguments& arguments) {
    SuppressionCounts total;
    int status = ok;
    if (std::ranges::any_of(arguments.words, is_filter)) {
        for (const auto& [option, member] : scope_options)
            if (arguments.option(option))
                return fail(usage, fmt::format("with filter words, use {}=… instead of {}", member, option));
        json request = {{"op", op::unsuppress}, {"filter", arguments.words}};
        if (arguments.has("--dry-run")) request["dry_run"] = true;
        status = ask_queue(arguments, request, [&](const json& line) { total.add(line); });
    } else {
        EntryBatch batch(arguments, op::unsuppress);
        for (const auto& word : arguments.words)
            if (status == ok) status = batch.add(entry(arguments, word, 0));
        if (status == ok) status = batch.send();
        total = batch.total;
    }
    if (status != ok) return status;
    const bool dry = arguments.has("--dry-run");
    if (arguments.json)
        print_json({{"version", 1}, {"removed", total.removed}, {"not_found", total.missing}, {"dry_run", dry}});
    else
        fmt::print(
            "{} {} {} removed from the suppression list{}{}\n", total.removed, total.removed == 1 ? "entry" : "entries",
            dry                  ? "would be"
            : total.removed == 1 ? "is"
                                 : "are",
            total.missing > 0 ? fmt::format("; {} not on it", total.missing) : "", dry ? "; nothing was changed" : "");
    return total.removed == 0 ? not_found : ok;
}

int suppress_list(const Arguments& arguments) {
    json request = {{"op", op::suppressions}, {"filter", arguments.words}};
    if (const auto limit = arguments.option("--limit")) {
        char* end = nullptr;
        const auto number = std::strtoull(limit->c_str(), &end, 10);
        if (end == limit->c_str() || *end != '\0' || number == 0)
            return fail(usage, fmt::format("--limit {}: expected a number", *limit));
        request["limit"] = number;
    }
    auto table = entries_table();
    const int status = ask_queue(arguments, request, [&](const json& line) {
        if (arguments.json)
            print_json(line);
        else
            add_rows(table, line);
    });
    if (status == ok && !arguments.json)
        fmt::print("{}",
                   table.empty() ? "no matching entry on the suppression list\n" : table.text(terminal_width(), ""));
    return status;
}

int suppress_check(const Arguments& arguments) {
    json request = {{"op", op::suppressed}, {"address", arguments.words[0]}};
    if (const auto sender = arguments.option("--sender"))
        request["sender"] = sender->find('@') == std::string::npos ? "@" + *sender : *sender;
    for (const auto* member : {"pool", "lane"})
        if (const auto value = arguments.option(fmt::format("--{}", member))) request[member] = *value;
    auto table = entries_table();
    bool found = false;
    const int status = ask_queue(arguments, request, [&](const json& line) {
        found = true;
        if (arguments.json)
            print_json(line);
        else
            add_rows(table, line);
    });
    if (status != ok) return status;
    if (!arguments.json)
        fmt::print("{}", found ? table.text(terminal_width(), "")
                               : fmt::format("{} is not on the suppression list\n", arguments.words[0]));
    return found ? ok : not_found;
}

int suppress_import(const Arguments& arguments) {
    const auto expires = expiry(arguments);
    if (!expires) return usage;
    const auto& name = arguments.words[0];
    std::ifstream file;
    if (name != "-") file.open(name);
    std::istream& from = name == "-" ? std::cin : file;
    if (!from) return fail(no_input, fmt::format("{}: {}", name, std::strerror(errno)));
    SuppressionReader reader;
    EntryBatch batch(arguments, op::suppress);
    std::string line;
    std::int64_t number = 0, wrong = 0;
    const auto bad = [&](std::string_view why) {
        if (++wrong <= 20) print_error(fmt::format("{}:{}: {}", name, number, why));
        if (wrong == 21) print_error("… and more");
    };
    while (std::getline(from, line)) {
        ++number;
        if (line.size() > longest_line) {
            bad("the line is too long");
            continue;
        }
        auto read = reader.read(line);
        if (!read) {
            bad(read.error());
            continue;
        }
        if (!*read) continue;
        const auto& line_entry = **read;
        const auto recipient = decide::suppression_recipient(line_entry.recipient, common::name_folding());
        if (!recipient || decide::suppression_key(*recipient, line_entry.scope).size() > store::longest_key) {
            bad(recipient ? "the address is too long" : recipient.error());
            continue;
        }
        auto one = entry(arguments, *recipient, line_entry.expires > 0 ? line_entry.expires : *expires);
        if (!line_entry.scope.sender.empty()) one["sender"] = line_entry.scope.sender;
        if (!line_entry.scope.pool.empty()) one["pool"] = line_entry.scope.pool;
        if (!line_entry.scope.lane.empty()) one["lane"] = line_entry.scope.lane;
        if (!line_entry.reason.empty() && !one.contains("reason"))
            one["reason"] = smtp::printable(line_entry.reason, common::SuppressionList::longest_text);
        if (!line_entry.reply.empty())
            one["reply"] = smtp::printable(line_entry.reply, common::SuppressionList::longest_text);
        if (const int status = batch.add(std::move(one)); status != ok) return status;
    }
    if (from.bad()) return fail(data_error, fmt::format("{}: read error before the end", name));
    if (const int status = batch.send(); status != ok) return status;
    print_added(arguments, batch.total, wrong);
    return wrong > 0 ? data_error : ok;
}

} // namespace postrider
