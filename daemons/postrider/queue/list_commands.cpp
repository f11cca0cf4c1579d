// queue, link and message list and show, queue ages, message cat, explain: answers of the queue-manager, as text or
// JSON.
#include "daemons/postrider/queue/list_commands.h"
#include "daemons/common/proto/control.h"
#include "daemons/common/terminal/text.h"
#include "daemons/postrider/command/command.h"
#include "daemons/postrider/command/message_selector.h"
#include "daemons/postrider/configuration/map.h"
#include "daemons/postrider/history/gone_message.h"
#include "daemons/postrider/queue/ages.h"
#include "daemons/postrider/queue/message_text.h"
#include "libspool/disk/real_disk.h"
#include "libspool/message/message_reader.h"
#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace postrider {

using nlohmann::json;
namespace op = proto::control::op;

namespace {

std::int64_t seconds_since(std::int64_t then) {
    return then > 0 ? std::max<std::int64_t>(0, std::time(nullptr) - then) : -1;
}

// "now", "in 12m", "-".
std::string when_text(std::int64_t time) {
    if (time <= 0) return "-";
    const auto left = time - std::time(nullptr);
    return left <= 0 ? "now" : age_text(left);
}

std::string state_text(const json& line) { return flag_of(line, "paused") ? "paused" : text_of(line, "state"); }

// Prints the reply to a request as a table, or as lines of JSON.
template <class AddRow>
int print_list(const Arguments& arguments, const json& request, Table table, AddRow add_row,
               std::string_view if_empty) {
    const int status = ask_queue(arguments, request, [&](const json& line) {
        if (arguments.json)
            print_json(line);
        else
            add_row(table, line);
    });
    if (status != ok || arguments.json) return status;
    if (table.empty())
        fmt::print("{}\n", if_empty);
    else
        fmt::print("{}", table.text(terminal_width()));
    return ok;
}

Table queue_table() {
    return Table({"Queue", "State", ">Queued", ">Due", ">In flight", ">Oldest", "Next", "Link", "Why it waits"});
}
void add_queue(Table& table, const json& q) {
    table.row({text_of(q, "queue"), state_text(q), std::to_string(number_of(q, "deliveries")),
               std::to_string(number_of(q, "due")), std::to_string(number_of(q, "in_flight")),
               age_text(seconds_since(number_of(q, "oldest"))), when_text(number_of(q, "next_attempt")),
               text_of(q, "link"), wait_reason(q)});
}

std::string failures_text(const json& line) {
    const auto failures = number_of(line, "failures");
    if (failures == 0) return "";
    const auto first = seconds_since(number_of(line, "failing_since"));
    return fmt::format("{} in a row{}: {}", failures, first < 0 ? "" : ", for " + duration_text(first),
                       text_of(line, "last_error"));
}

// Of a link or a queue alike.
void print_health(const json& line) {
    print_field("State", state_text(line));
    print_field("Failures", failures_text(line));
    if (number_of(line, "next_attempt") > 0) print_field("Next attempt", time_text(number_of(line, "next_attempt")));
}

void print_wait(const json& line) {
    if (number_of(line, "oldest") > 0) print_field("Oldest", duration_text(seconds_since(number_of(line, "oldest"))));
    print_field("Idle because", text_of(line, "idle_reason"));
}

void print_link(const json& line) {
    print_field("Link", text_of(line, "link"));
    print_field("Kind", text_of(line, "kind"));
    print_field("Pool", text_of(line, "pool"));
    print_health(line);
    for (const auto& each : list_of(line, "history"))
        print_field("Failed", fmt::format("{}  at {}: {}", time_text(number_of(each, "time")), text_of(each, "phase"),
                                          text_of(each, "text")));
    print_field("Connections", fmt::format("{} of {} at present, limit {}", number_of(line, "connections"),
                                           number_of(line, "window"), number_of(line, "limit")));
    for (const auto& each : list_of(line, "addresses"))
        print_field("Address", fmt::format("{}: {} of {} connections, {} of them by this link",
                                           text_of(each, "address"), number_of(each, "connections"),
                                           number_of(each, "limit"), number_of(each, "this_link")));
    for (const auto& each : list_of(line, "backing_off")) print_field("Backing off", source_backoff_text(each));
    print_field("Mail", fmt::format("{} queued, {} due, {} in flight", number_of(line, "deliveries"),
                                    number_of(line, "due"), number_of(line, "in_flight")));
    print_wait(line);
}

void print_queue(const json& line) {
    print_field("Queue", text_of(line, "queue"));
    print_field("Pool", text_of(line, "pool"));
    print_field("Link", text_of(line, "link"));
    print_health(line);
    print_field("Mail",
                fmt::format("{} queued, {} due, {} in flight, {} problem messages", number_of(line, "deliveries"),
                            number_of(line, "due"), number_of(line, "in_flight"), number_of(line, "problem_messages")));
    print_wait(line);
}

constexpr std::uint64_t listed_recipients = 20; // of a message; for programs: all

void print_message_line(const json& m, std::size_t width) {
    const auto sender = text_of(m, "sender");
    fmt::print("{}\n", truncated(fmt::format("{:<14}  {:<9} {:>6} {:>6}  {:<6}  <{}>", text_of(m, "id"),
                                             text_of(m, "state"), age_text(seconds_since(number_of(m, "arrival"))),
                                             size_text(static_cast<std::uint64_t>(number_of(m, "size"))),
                                             text_of(m, "lane"), sender),
                                 width));
    if (const auto subject = text_of(m, "subject"); !subject.empty())
        fmt::print("{}\n", truncated("    \"" + subject + "\"", width));
    for (const auto& r : list_of(m, "recipients")) {
        const auto next = number_of(r, "next_attempt");
        const auto waits = fmt::format("{}{}", text_of(r, "state"), next > 0 ? ", next " + when_text(next) : "");
        const auto why = text_of(r, text_of(r, "reason").empty() ? "waiting_for" : "reason");
        fmt::print("{}\n",
                   truncated(fmt::format("    {} ({}){}{}", text_of(r, "address"), waits, why.empty() ? "" : ": ", why),
                             width));
    }
    const auto more = number_of(m, "recipients_total") - static_cast<std::int64_t>(list_of(m, "recipients").size());
    if (more > 0) fmt::print("    … and {} more\n", more);
}

// A dry run for an address: each final recipient and where it would go.
void print_route(const json& line) {
    fmt::print("<{}>: {}\n", truncated(text_of(line, "address"), 400), text_of(line, "disposition"));
    print_field("  status", text_of(line, "status"));
    print_field("  because", text_of(line, "text"));
    const auto target = text_of(line, "target");
    if (target.starts_with('|'))
        print_field("  command", target.substr(1));
    else
        print_field("  delivered to", target);
    print_field(target.empty() ? "  mailbox of" : "  as user", text_of(line, "user"));
    print_field("  by transport", text_of(line, "transport"));
    print_field("  queue", text_of(line, "queue"));
    print_field("  link", text_of(line, "link"));
    print_field("  link state", text_of(line, "link_state"));
    print_field("  last error", text_of(line, "last_error"));
    for (const auto& host : list_of(line, "hosts"))
        if (const auto name = truncated(text_of(host, "name"), 300); name.starts_with('/'))
            fmt::print("  host          the socket {}\n", name);
        else
            fmt::print("  host          {} port {}, preference {}\n", name, number_of(host, "port"),
                       number_of(host, "preference"));
}

template <class Print> int show(const Arguments& arguments, const json& request, Print print) {
    bool first = true;
    return ask_queue(arguments, request, [&](const json& line) {
        if (arguments.json) return print_json(line);
        if (!std::exchange(first, false)) fmt::print("\n");
        print(line);
    });
}

constexpr std::int64_t recipients_at_once = 1000;

// What the queue-manager says of a message's recipients, some at a time: `on_line` gets its lines and returns from
// which number on more are to be asked for; 0: none. Of a message that is no longer queued, what the journal has.
template <class OnLine>
int ask_about_message(const Arguments& arguments, std::string_view op, const std::string& id, GoneView view,
                      OnLine on_line) {
    for (std::int64_t from = 0;;) {
        std::int64_t next = 0;
        const int status = ask_queue(
            arguments, {{"op", op}, {"id", id}, {"from", from}, {"limit", recipients_at_once}},
            [&](const json& line) { next = on_line(line); },
            [&](const std::string& refusal) {
                if (from == 0) return show_gone_message(arguments, spool::QueueId::parse(id)->text(), refusal, view);
                return fail(not_found, "the message has left the queue meanwhile: the list is incomplete");
            });
        if (status != ok || next == 0) return status;
        from = next;
    }
}

int message_count(const Arguments& arguments, const MessageSelector& selector, json base) {
    base["count"] = true;
    std::int64_t count = 0;
    for (const auto& request : selector.requests(base)) {
        const int status = ask_queue(arguments, request, [&](const json& line) { count += number_of(line, "count"); });
        if (status != ok) return status;
    }
    if (arguments.json)
        print_json({{"count", count}});
    else
        fmt::print("{}\n", count);
    return ok;
}

} // namespace

int queue_list(const Arguments& arguments) {
    return print_list(arguments, {{"op", op::queues}}, queue_table(), add_queue, "no queues: no mail is waiting");
}

int queue_ages(const Arguments& arguments) {
    const auto selector = parse_selector(arguments.words);
    if (!selector) return usage;
    const auto limit = arguments.number("--limit");
    if (arguments.has("--limit") && limit.value_or(0) == 0) return fail(usage, "--limit needs a number above 0");
    const bool by_sender = arguments.has("--by-sender");
    AgeTable table;
    const auto now = static_cast<std::int64_t>(std::time(nullptr));
    for (const auto& request : selector->requests({{"op", proto::control::op::messages}})) {
        const int status = ask_queue(arguments, request, [&](const nlohmann::json& message) {
            const auto age = now - number_of(message, "arrival");
            if (by_sender) return table.add(text_of(message, "sender"), age);
            for (const auto& recipient : list_of(message, "recipients")) table.add(text_of(recipient, "address"), age);
        });
        if (status != ok) return status;
    }
    if (!arguments.json) {
        fmt::print("{}", table.text(limit.value_or(SIZE_MAX)));
        return ok;
    }
    auto rows = table.rows();
    rows.resize(std::min<std::uint64_t>(rows.size(), limit.value_or(rows.size())));
    for (const auto& row : rows) {
        nlohmann::json ages = {{"older", row.counts.back()}};
        for (std::size_t i = 0; i < AgeTable::minutes.size(); ++i)
            ages[std::to_string(AgeTable::minutes[i])] = row.counts[i];
        print_json({{"domain", row.domain}, {"total", row.total}, {"younger_than", std::move(ages)}});
    }
    return ok;
}

int link_list(const Arguments& arguments) {
    Table table({"Link", "State", ">Queued", ">Due", ">In flight", ">Conn", ">Oldest", "Next", "Why it waits"});
    return print_list(
        arguments, {{"op", op::links}}, table,
        [](Table& t, const json& l) {
            t.row({text_of(l, "link"), state_text(l), std::to_string(number_of(l, "deliveries")),
                   std::to_string(number_of(l, "due")), std::to_string(number_of(l, "in_flight")),
                   fmt::format("{}/{}", number_of(l, "connections"), number_of(l, "limit")),
                   age_text(seconds_since(number_of(l, "oldest"))), when_text(number_of(l, "next_attempt")),
                   wait_reason(l)});
        },
        "no links: no mail is waiting");
}

int queue_show(const Arguments& arguments) {
    return show(arguments, {{"op", op::queue}, {"queue", arguments.words[0]}}, print_queue);
}

int link_show(const Arguments& arguments) {
    Table table = queue_table();
    const int status = ask_queue(arguments, {{"op", op::link}, {"link", arguments.words[0]}}, [&](const json& line) {
        if (arguments.json)
            print_json(line);
        else if (line.contains("queue"))
            add_queue(table, line);
        else
            print_link(line);
    });
    if (status == ok && !table.empty()) fmt::print("\n{}", table.text(terminal_width()));
    return status;
}

int message_list(const Arguments& arguments) {
    const auto selector = parse_selector(arguments.words);
    if (!selector) return usage;
    json base = {{"op", op::messages}};
    std::uint64_t limit = 0;
    if (arguments.has("--limit")) {
        const auto given = arguments.number("--limit");
        if (!given || *given == 0) return fail(usage, "--limit needs a number above 0");
        limit = *given;
    }
    if (const auto id = arguments.option("--start-after")) base["after_id"] = *id;
    if (const auto sort = arguments.option("--sort")) base["sort"] = *sort;
    if ((base.contains("after_id") || base.contains("sort")) && !selector->ids.empty())
        return fail(usage, "--start-after and --sort apply to messages selected by filter words, not by ids");
    if (arguments.has("--count")) return message_count(arguments, *selector, base);
    if (!arguments.json) base["recipients"] = listed_recipients;
    std::uint64_t shown = 0;
    std::string last;
    const auto width = terminal_width();
    for (auto& request : selector->requests(base)) {
        if (limit > 0 && shown >= limit) break;
        if (limit > 0) request["limit"] = limit - shown;
        const int status = ask_queue(arguments, request, [&](const json& line) {
            ++shown;
            last = text_of(line, "id");
            if (arguments.json)
                print_json(line);
            else
                print_message_line(line, width);
        });
        if (status != ok) return status;
    }
    if (shown == 0 && !selector->selects_all()) return fail(not_found, "no message matches");
    if (arguments.json) return ok;
    if (limit > 0 && shown == limit && selector->ids.empty())
        fmt::print("{}; there may be more: continue with --start-after {}\n",
                   count_text(static_cast<std::int64_t>(shown), "message"), last);
    else
        fmt::print("{}\n", shown == 0 ? "the queue is empty" : count_text(static_cast<std::int64_t>(shown), "message"));
    return ok;
}

int message_show(const Arguments& arguments) {
    for (const auto& word : arguments.words) {
        if (word.contains('='))
            return fail(usage,
                        fmt::format("\"{0}\" is not a queue id, as \"message show\" requires; \"postrider message list "
                                    "{0}\" finds messages",
                                    word));
        json whole; // for programs: one line, with everyone
        const int status = ask_about_message(arguments, op::message, word, GoneView::message, [&](json message) {
            const auto next = number_of(message, "recipients_next");
            message.erase("recipients_next");
            const bool first = whole.is_null();
            if (first) whole = message;
            if (!arguments.json) {
                if (first) print_message(message);
                print_recipients(message);
            } else if (!first) {
                for (auto& each : message["recipients"]) whole["recipients"].push_back(std::move(each));
            }
            return next;
        });
        if (status != ok) return status;
        if (arguments.json && !whole.is_null()) print_json(whole);
    }
    return ok;
}

int message_cat(const Arguments& arguments) {
    const auto config = load_effective_config(arguments);
    if (!config) return bad_config;
    const auto id = spool::QueueId::parse(arguments.words[0]);
    if (!id) return fail(usage, fmt::format("\"{}\" is not a queue id", arguments.words[0]));
    auto disk = spool::RealDisk::open_at(config->spool.directory);
    if (!disk) return report_read_error(id->text(), disk.error());
    auto reader = spool::MessageReader::open(**disk, *id, spool::Location::messages, spool::ReadLock::none);
    if (!reader && spool::is_gone(reader.error()))
        reader = spool::MessageReader::open_path(**disk, spool::path_of_failed(*id));
    if (!reader) return report_read_error(id->text(), reader.error());
    const auto end = arguments.has("--header") ? reader->content().body_offset : reader->size();
    for (std::uint64_t at = 0; at < end;) {
        const auto piece = reader->piece(at);
        if (!piece) return report_read_error(id->text(), piece.error());
        const auto shown = piece->substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(piece->size(), end - at)));
        if (std::fwrite(shown.data(), 1, shown.size(), stdout) != shown.size()) return system_error;
        at += piece->size();
    }
    return std::fflush(stdout) == 0 ? ok : system_error;
}

namespace {

// Where mail to an address goes, and what others see in its place.
int explain_address(const Arguments& arguments, const std::string& address) {
    const auto outward = outward_address(arguments, address);
    const auto shown = [&](const json& line) {
        if (!arguments.json) return print_route(line);
        auto with_others = line;
        if (!outward.in_from.empty()) with_others["in_from"] = outward.in_from;
        if (!outward.in_to.empty()) with_others["in_to"] = outward.in_to;
        if (!outward.as_sender.empty()) with_others["as_sender"] = outward.as_sender;
        if (!outward.as_recipient.empty()) with_others["as_recipient"] = outward.as_recipient;
        if (!outward.error.empty()) with_others["rewriting_error"] = outward.error;
        print_json(with_others);
    };
    bool first = true;
    const int status = ask_queue(arguments, {{"op", op::explain}, {"address", address}}, [&](const json& line) {
        if (!arguments.json && !std::exchange(first, false)) fmt::print("\n");
        shown(line);
    });
    if (status != ok || arguments.json) return status;
    print_field("In From", outward.in_from);
    print_field("In To", outward.in_to);
    print_field("As a sender", outward.as_sender);
    print_field("As a recipient", outward.as_recipient);
    print_field("Rewriting", outward.error);
    return ok;
}

} // namespace

int explain(const Arguments& arguments) {
    const auto& word = arguments.words[0];
    if (word.find('@') != word.npos) return explain_address(arguments, word);
    if (!spool::QueueId::parse(word))
        return fail(usage, fmt::format("\"{}\" is neither a queue id nor an address (which contains an @)", word));
    std::int64_t shown = 0;
    return ask_about_message(arguments, op::explain, word, GoneView::explanation, [&](const json& line) {
        arguments.json ? print_json(line) : print_gates(line);
        return ++shown % recipients_at_once == 0 ? number_of(line, "number") + 1 : 0;
    });
}

} // namespace postrider
