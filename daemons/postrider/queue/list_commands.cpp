// queue, link and message list and show, message cat, explain: what the queue-manager says, for people or
// programs.
#include "daemons/common/proto/control.h"
#include "daemons/postrider/command/message_selector.h"
#include "daemons/postrider/command/command.h"
#include "daemons/common/terminal/text.h"
#include "libspool/message/message_reader.h"
#include "libspool/disk/real_disk.h"
#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace postrider {

using nlohmann::json;
namespace op = proto::control::op;

namespace {

std::int64_t since(std::int64_t then) {
    return then > 0 ? std::max<std::int64_t>(0, std::time(nullptr) - then) : -1;
}

// "now", "in 12m", "-".
std::string when_text(std::int64_t time) {
    if (time <= 0) return "-";
    const auto left = time - std::time(nullptr);
    return left <= 0 ? "now" : age_text(left);
}

std::string state_text(const json& line) {
    return flag_of(line, "paused") ? "paused" : text_of(line, "state");
}

// A question whose answer is a table, or lines of JSON as they come.
template <class AddRow>
int list(const Arguments& arguments, const json& request, Table table, AddRow add_row,
         std::string_view nothing) {
    const int status = ask_queue(arguments, request, [&](const json& line) {
        if (arguments.json)
            print_json(line);
        else
            add_row(table, line);
    });
    if (status != ok || arguments.json) return status;
    if (table.empty())
        fmt::print("{}\n", nothing);
    else
        fmt::print("{}", table.text(terminal_width()));
    return ok;
}

Table queue_table() {
    return Table(
        {"Queue", "State", ">Queued", ">Due", ">In flight", ">Oldest", "Next", "Link", "Why it waits"});
}
void add_queue(Table& table, const json& q) {
    table.row({text_of(q, "queue"), state_text(q), std::to_string(number_of(q, "deliveries")),
               std::to_string(number_of(q, "due")), std::to_string(number_of(q, "in_flight")),
               age_text(since(number_of(q, "oldest"))), when_text(number_of(q, "next_attempt")),
               text_of(q, "link"), why_it_waits(q)});
}

void print_fact(std::string_view name, const std::string& value) {
    if (!value.empty()) fmt::print("{:<13} {}\n", name, fitted(value, 2000));
}

std::string failing_text(const json& line) {
    const auto failures = number_of(line, "failures");
    if (failures == 0) return "";
    const auto first = since(number_of(line, "failing_since"));
    return fmt::format("{} in a row{}: {}", failures, first < 0 ? "" : ", for " + duration_text(first),
                       text_of(line, "last_error"));
}

// Of a link or a queue alike.
void print_health(const json& line) {
    print_fact("State", state_text(line));
    print_fact("Failures", failing_text(line));
    if (number_of(line, "next_attempt") > 0)
        print_fact("Next try", time_text(number_of(line, "next_attempt")));
}

void print_idleness(const json& line) {
    if (number_of(line, "oldest") > 0) print_fact("Oldest", duration_text(since(number_of(line, "oldest"))));
    print_fact("Idle because", text_of(line, "idle_why"));
}

// An address of the link's pool that the site does not want.
std::string resting_text(const json& each) {
    return fmt::format("{} until {}: {}", text_of(each, "source"), time_text(number_of(each, "until")),
                       fitted(text_of(each, "why"), 1000));
}

void print_link(const json& line) {
    print_fact("Link", text_of(line, "link"));
    print_fact("Kind", text_of(line, "kind"));
    print_fact("Pool", text_of(line, "pool"));
    print_health(line);
    for (const auto& each : list_of(line, "history"))
        print_fact("Failed", fmt::format("{}  at {}: {}", time_text(number_of(each, "time")),
                                         text_of(each, "phase"), text_of(each, "text")));
    print_fact("Connections", fmt::format("{} of {} now, {} at most", number_of(line, "connections"),
                                          number_of(line, "window"), number_of(line, "limit")));
    for (const auto& each : list_of(line, "addresses"))
        print_fact("Address", fmt::format("{}: {} connections of {} it may have, {} of them this link's",
                                          text_of(each, "address"), number_of(each, "connections"),
                                          number_of(each, "limit"), number_of(each, "own")));
    for (const auto& each : list_of(line, "resting")) print_fact("Resting", resting_text(each));
    print_fact("Mail", fmt::format("{} queued, {} due, {} in flight", number_of(line, "deliveries"),
                                   number_of(line, "due"), number_of(line, "in_flight")));
    print_idleness(line);
}

void print_queue(const json& line) {
    print_fact("Queue", text_of(line, "queue"));
    print_fact("Pool", text_of(line, "pool"));
    print_fact("Link", text_of(line, "link"));
    print_health(line);
    print_fact("Mail", fmt::format("{} queued, {} due, {} in flight, {} problem messages",
                                   number_of(line, "deliveries"), number_of(line, "due"),
                                   number_of(line, "in_flight"), number_of(line, "problem")));
    print_idleness(line);
}

void print_entry(const json& m, std::size_t width) {
    const auto sender = text_of(m, "sender");
    fmt::print("{}\n", fitted(fmt::format("{:<14}  {:<9} {:>6} {:>6}  {:<6}  <{}>", text_of(m, "id"),
                                          text_of(m, "state"), age_text(since(number_of(m, "arrival"))),
                                          size_text(static_cast<std::uint64_t>(number_of(m, "size"))),
                                          text_of(m, "lane"), sender),
                              width));
    if (const auto subject = text_of(m, "subject"); !subject.empty()) fmt::print("{}\n", fitted("    \"" + subject + "\"", width));
    for (const auto& r : list_of(m, "recipients")) {
        const auto next = number_of(r, "next_attempt");
        const auto waits =
            fmt::format("{}{}", text_of(r, "state"), next > 0 ? ", next " + when_text(next) : "");
        const auto why = text_of(r, text_of(r, "reason").empty() ? "waits_for" : "reason");
        fmt::print("{}\n",
                   fitted(fmt::format("    {} ({}){}{}", text_of(r, "address"), waits, why.empty() ? "" : ": ", why), width));
    }
}

void print_attempts(const json& recipient) {
    for (const auto& a : list_of(recipient, "attempts")) {
        const auto count = number_of(a, "count");
        const auto times =
            count > 1 ? fmt::format(" … {} ({} times)", time_text(number_of(a, "last")), count) : "";
        const auto code = number_of(a, "code");
        auto said = text_of(a, "text");
        if (code > 0 && !said.starts_with(std::to_string(code)))
            said = fmt::format("{} {} {}", code, text_of(a, "status"), said);
        const auto host = text_of(a, "host"), tls = text_of(a, "tls"), stage = text_of(a, "stage");
        fmt::print("    {}{}  {}\n", time_text(number_of(a, "first")), times, text_of(a, "outcome"));
        const auto source = text_of(a, "source");
        fmt::print("        {}{}{}{}{}\n", host.empty() ? "no host" : fitted(host, 300),
                   source.empty() ? "" : " from " + source,
                   tls.empty()     ? ""
                   : tls == "none" ? ", TLS none"
                                   : ", " + fitted(tls, 100),
                   stage.empty() || stage == "none" ? "" : ", at " + stage,
                   flag_of(a, "in_doubt") ? ", in doubt: it may have arrived" : "");
        if (!said.empty()) fmt::print("        {}\n", fitted(said, 2000));
    }
}

// Each try of a link is made for one message or for none, and none is blamed for it.
void print_link_failures(const json& recipient) {
    const auto failures = list_of(recipient, "link_failures");
    if (failures.empty()) return;
    fmt::print("    failed tries of its link since it came, not counted against it:\n");
    for (const auto& each : failures)
        fmt::print("    {}  at {}\n        {}\n", time_text(number_of(each, "time")),
                   text_of(each, "phase"), fitted(text_of(each, "text"), 2000));
}

void print_message(const json& m) {
    print_fact("Message", text_of(m, "id"));
    print_fact("State", text_of(m, "state") + (flag_of(m, "problem") ? ", a problem message" : ""));
    if (!text_of(m, "held_by").empty())
        print_fact("Held", fmt::format("by {}: {}", text_of(m, "held_by"), text_of(m, "held_why")));
    print_fact("Sender", "<" + text_of(m, "sender") + ">");
    print_fact("Subject", text_of(m, "subject"));
    print_fact("Message-ID", text_of(m, "message_id"));
    print_fact("Arrived", time_text(number_of(m, "arrival")));
    if (number_of(m, "expiry") > 0) print_fact("Expires", time_text(number_of(m, "expiry")));
    print_fact("Size", fmt::format("{} bytes", number_of(m, "size")));
    print_fact("Lane", text_of(m, "lane"));
    print_fact("Policy", text_of(m, "policy") + (text_of(m, "policy_values").empty()
                                                     ? ""
                                                     : fmt::format(" ({})", text_of(m, "policy_values"))));
    print_fact("Pool", text_of(m, "pool"));
    print_fact("Rerouted to", text_of(m, "rerouted_to"));
    print_fact("Client", text_of(m, "client"));
    print_fact("HELO", text_of(m, "helo"));
    print_fact("Protocol", text_of(m, "protocol"));
    print_fact("Submitter", text_of(m, "submitter"));
    print_fact("Envelope id", text_of(m, "envelope_id"));
    print_fact("Idempotency", text_of(m, "idempotency_key"));
    print_fact("File", text_of(m, "location"));
    for (const auto& r : list_of(m, "recipients")) {
        const auto original = text_of(r, "original"), address = text_of(r, "address");
        fmt::print("\nRecipient <{}>{}\n", fitted(address, 400),
                   original.empty() || original == address
                       ? ""
                       : fmt::format(" (addressed as <{}>)", fitted(original, 400)));
        const auto next = number_of(r, "next_attempt");
        fmt::print("    {}{}{}{}{}\n", text_of(r, "state"),
                   text_of(r, "queue").empty() ? "" : ", queue " + text_of(r, "queue"),
                   text_of(r, "link").empty() ? "" : ", link " + text_of(r, "link"),
                   next > 0 ? ", next try " + time_text(next) : "",
                   number_of(r, "tries") > 0 ? ", " + std::to_string(number_of(r, "tries")) + " tries so far"
                                             : "");
        if (!text_of(r, "reason").empty())
            fmt::print("    {}: {}\n", text_of(r, "state") == "finished" ? "came to" : "waits for",
                       fitted(text_of(r, "reason"), 2000));
        const auto wait = text_of(r, "waits_for");
        if (const auto since = number_of(r, "since"); since > 0)
            fmt::print("    since {}{}{}\n", time_text(since), wait.empty() ? "" : ": ", wait);
        else if (!wait.empty())
            fmt::print("    {}\n", wait);
        if (!text_of(r, "advice").empty()) fmt::print("    {}\n", fitted(text_of(r, "advice"), 2000));
        print_attempts(r);
        print_link_failures(r);
    }
}

void print_gates(const json& line) {
    fmt::print("{} for <{}>\n", text_of(line, "id"), fitted(text_of(line, "address"), 400));
    const auto blocker = text_of(line, "blocked_by");
    std::string advice;
    for (const auto& gate : list_of(line, "gates")) {
        const auto name = text_of(gate, "gate");
        const auto until = number_of(gate, "until");
        const auto from = text_of(gate, "from"), who = text_of(gate, "who");
        if (name == blocker) advice = text_of(gate, "advice");
        fmt::print(
            "  {} {:<12} {}{}{}{}{}\n", name == blocker ? "=>" : "  ", name,
            flag_of(gate, "open") ? "open" : "closed",
            text_of(gate, "text").empty() ? "" : ": " + fitted(text_of(gate, "text"), 1000),
            from.empty() ? "" : fmt::format(" (from {}{})", fitted(from, 500), who.empty() ? "" : ", " + who),
            number_of(gate, "since") > 0 ? ", since " + time_text(number_of(gate, "since")) : "",
            until > 0 ? ", until " + time_text(until) : "");
    }
    for (const auto& each : list_of(line, "resting")) fmt::print("     resting      {}\n", resting_text(each));
    const auto closed = [&](std::string_view gate) {
        return std::ranges::any_of(list_of(line, "gates"), [&](const json& each) {
            return text_of(each, "gate") == gate && !flag_of(each, "open");
        });
    };
    const auto next = number_of(line, "next_attempt");
    if (text_of(line, "state") == "report")
        fmt::print("  nothing is left to deliver: its sender is still to be told what became of it{}\n",
                   next > 0 ? "; next try: " + time_text(next) : "");
    else if (blocker.empty())
        fmt::print("  nothing holds it up: it is being delivered\n");
    else
        fmt::print("  {} holds it up; earliest next try: {}\n", blocker,
                   closed("hold")    ? "when it is released"
                   : closed("pause") ? "when that is resumed"
                   : next > 0        ? time_text(next)
                                     : "as soon as its turn comes");
    if (!advice.empty()) fmt::print("  {}\n", fitted(advice, 2000));
}

// A dry run for an address: each final recipient and where it would go.
void print_road(const json& line) {
    fmt::print("<{}>: {}\n", fitted(text_of(line, "address"), 400), text_of(line, "fate"));
    print_fact("  status", text_of(line, "status"));
    print_fact("  because", text_of(line, "text"));
    const auto target = text_of(line, "target");
    if (target.starts_with('|'))
        print_fact("  command", target.substr(1));
    else
        print_fact("  delivered to", target);
    print_fact(target.empty() ? "  mailbox of" : "  as user", text_of(line, "user"));
    print_fact("  by way of", text_of(line, "transport"));
    print_fact("  queue", text_of(line, "queue"));
    print_fact("  link", text_of(line, "link"));
    print_fact("  link state", text_of(line, "link_state"));
    print_fact("  last error", text_of(line, "last_error"));
    for (const auto& host : list_of(line, "hosts"))
        if (const auto name = fitted(text_of(host, "name"), 300); name.starts_with('/'))
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

int message_count(const Arguments& arguments, const Choice& choice, json base) {
    base["count"] = true;
    std::int64_t count = 0;
    for (const auto& request : choice.requests(base)) {
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
    return list(arguments, {{"op", op::queues}}, queue_table(), add_queue, "no queues: nothing waits");
}

int link_list(const Arguments& arguments) {
    Table table(
        {"Link", "State", ">Queued", ">Due", ">In flight", ">Conn", ">Oldest", "Next", "Why it waits"});
    return list(
        arguments, {{"op", op::links}}, table,
        [](Table& t, const json& l) {
            t.row({text_of(l, "link"), state_text(l), std::to_string(number_of(l, "deliveries")),
                   std::to_string(number_of(l, "due")), std::to_string(number_of(l, "in_flight")),
                   fmt::format("{}/{}", number_of(l, "connections"), number_of(l, "limit")),
                   age_text(since(number_of(l, "oldest"))), when_text(number_of(l, "next_attempt")), why_it_waits(l)});
        },
        "no links: nothing is on its way anywhere");
}

int queue_show(const Arguments& arguments) {
    return show(arguments, {{"op", op::queue}, {"queue", arguments.words[0]}}, print_queue);
}

int link_show(const Arguments& arguments) {
    Table table = queue_table();
    const int status =
        ask_queue(arguments, {{"op", op::link}, {"link", arguments.words[0]}}, [&](const json& line) {
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
    const auto choice = choose(arguments.words);
    if (!choice) return usage;
    json base = {{"op", op::messages}};
    std::uint64_t limit = 0;
    if (arguments.has("--limit")) {
        const auto given = arguments.number("--limit");
        if (!given || *given == 0) return complain("--limit needs a number above 0"), usage;
        limit = *given;
    }
    if (const auto behind = arguments.option("--behind")) base["behind"] = *behind;
    if (const auto sort = arguments.option("--sort")) base["sort"] = *sort;
    if ((base.contains("behind") || base.contains("sort")) && !choice->ids.empty())
        return complain("--behind and --sort are for messages chosen by filter words, not by their ids"), usage;
    if (arguments.has("--count")) return message_count(arguments, *choice, base);
    std::uint64_t shown = 0;
    std::string last;
    const auto width = terminal_width();
    for (auto& request : choice->requests(base)) {
        if (limit > 0 && shown >= limit) break;
        if (limit > 0) request["limit"] = limit - shown;
        const int status = ask_queue(arguments, request, [&](const json& line) {
            ++shown;
            last = text_of(line, "id");
            if (arguments.json)
                print_json(line);
            else
                print_entry(line, width);
        });
        if (status != ok) return status;
    }
    if (shown == 0 && !choice->everything()) return complain("no message is like that"), not_found;
    if (arguments.json) return ok;
    if (limit > 0 && shown == limit && choice->ids.empty())
        fmt::print("{}; there may be more: --behind {} goes on\n", count_text(static_cast<std::int64_t>(shown), "message"), last);
    else
        fmt::print("{}\n", shown == 0 ? "the queue is empty" : count_text(static_cast<std::int64_t>(shown), "message"));
    return ok;
}

int message_show(const Arguments& arguments) {
    for (const auto& word : arguments.words) {
        if (word.contains('='))
            return complain(fmt::format("\"{0}\" is not a queue id, which is all that \"message show\" takes; \"postrider message "
                                        "list {0}\" looks for messages",
                                        word)),
                   usage;
        const int status = show(arguments, {{"op", op::message}, {"id", word}}, print_message);
        if (status != ok) return status;
    }
    return ok;
}

int message_cat(const Arguments& arguments) {
    const auto config = config_in_force(arguments);
    if (!config) return bad_config;
    const auto id = spool::QueueId::parse(arguments.words[0]);
    if (!id) return complain(fmt::format("\"{}\" is not a queue id", arguments.words[0])), usage;
    auto disk = spool::RealDisk::open_at(config->spool.directory);
    if (!disk) return read_failed(id->text(), disk.error());
    auto reader = spool::MessageReader::open(**disk, *id, spool::Location::messages, spool::ReadLock::none);
    if (!reader) return read_failed(id->text(), reader.error());
    const auto end = arguments.has("--header") ? reader->content().body_offset : reader->size();
    for (std::uint64_t at = 0; at < end;) {
        const auto piece = reader->piece(at);
        if (!piece) return read_failed(id->text(), piece.error());
        const auto shown =
            piece->substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(piece->size(), end - at)));
        if (std::fwrite(shown.data(), 1, shown.size(), stdout) != shown.size()) return system_error;
        at += piece->size();
    }
    return std::fflush(stdout) == 0 ? ok : system_error;
}

int explain_it(const Arguments& arguments) {
    const auto& word = arguments.words[0];
    if (word.find('@') != word.npos)
        return show(arguments, {{"op", op::explain}, {"address", word}}, print_road);
    if (!spool::QueueId::parse(word))
        return complain(
                   fmt::format("\"{}\" is neither a queue id nor an address: an address has an @", word)),
               usage;
    return show(arguments, {{"op", op::explain}, {"id", word}}, print_gates);
}

} // namespace postrider
