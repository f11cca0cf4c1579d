// try: goes the way a message would, as far as RCPT, and prints each step. verify: prints what is known of an address,
// after a check if nothing is, or has it forgotten.
#include "daemons/postrider/try/try.h"
#include "daemons/common/proto/control.h"
#include "daemons/common/terminal/text.h"
#include "daemons/postrider/command/command.h"
#include "daemons/postrider/try/try_client.h"
#include "libsmtp/text/date.h"
#include <fmt/format.h>

namespace postrider {

using nlohmann::json;

namespace {

constexpr int patience = 15 * 60; // seconds of silence: longer than the timeout for any server

std::string_view label_of(std::string_view finding) {
    return finding == "good" ? "ok" : finding == "notice" ? "note" : finding == "temporary" ? "wait" : "FAIL";
}

void print_step(const json& line) {
    const auto step = text_of(line, "step"), text = truncated(text_of(line, "text"), 1500);
    const auto seconds = static_cast<double>(number_of(line, "at_us")) / 1e6;
    if (step == "client" || step == "server") {
        fmt::print("{:>9}        {}: {}\n", "", step == "client" ? "C" : "S", text);
    } else {
        const auto host = text_of(line, "host"), recipient = text_of(line, "recipient");
        std::string about;
        if (step == "addresses" || (step == "connect" && text_of(line, "finding") == "good")) about = host + ": ";
        if (!recipient.empty()) about = fmt::format("<{}> ", truncated(recipient, 400));
        fmt::print("{:>8.3f}s  {:<4}  {:<10}  {}{}\n", seconds, label_of(text_of(line, "finding")), step, about, text);
    }
    if (step == "result" && !text_of(line, "advice").empty()) fmt::print("\n{}\n", text_of(line, "advice"));
}

std::string moment(std::int64_t seconds) { return smtp::iso_date(smtp::WallTime(std::chrono::seconds(seconds))); }

void print_verified(const json& line) {
    const auto host = text_of(line, "host"), text = truncated(text_of(line, "text"), 1500);
    fmt::print("{}: {}\n", text_of(line, "address"), text_of(line, "result"));
    if (!text.empty()) fmt::print("  reason   {}\n", text);
    if (!host.empty()) fmt::print("  server   {}\n", host);
    if (const auto checked = number_of(line, "checked"); checked > 0)
        fmt::print("  checked  {}, remembered until {}\n", moment(checked), moment(number_of(line, "expires")));
    if (line.value("doubted", false))
        fmt::print("  note     the last check was rejected; it is undeliverable if the next one is, too\n");
}

} // namespace

int try_address(const Arguments& arguments) {
    if (arguments.has("--client")) return try_client(arguments);
    for (const auto* other : {"--helo", "--name", "--user", "--to", "--tls", "--certificate", "--listener"})
        if (arguments.has(other)) return fail(usage, fmt::format("{} needs --client", other));
    if (arguments.words.empty()) return fail(usage, "try needs ADDRESS, or --client to try the access rules");
    const auto& address = arguments.words[0];
    if (address.find('@') == address.npos)
        return fail(usage, fmt::format("\"{}\" is not a valid address: it has no @", address));
    auto from = arguments.option("--from").value_or("");
    if (from == "<>") from.clear();
    const auto host = arguments.option("--host");
    if (host && host->empty()) return fail(usage, "--host needs a host: HOST, HOST:PORT or [ADDRESS]:PORT");
    std::string worst = "temporary";
    const json request = {{"op", proto::control::op::attempt},
                          {"address", address},
                          {"from", from},
                          {"host", host.value_or("")},
                          {"every_host", arguments.has("--all")},
                          {"dialogue", arguments.has("-v")}};
    const int status = ask_queue(
        arguments, request,
        [&](const json& line) {
            if (text_of(line, "step") == "result") worst = text_of(line, "finding");
            if (arguments.json)
                print_json(line);
            else
                print_step(line);
            std::fflush(stdout); // it may take its time: the user sees the progress
        },
        patience);
    if (status != ok) return status;
    return worst == "permanent" ? refused : worst == "temporary" ? try_again : ok;
}

int verify_address(const Arguments& arguments) {
    const auto& address = arguments.words[0];
    const bool forget = arguments.has("--forget");
    std::string result;
    const json request = {{"op", proto::control::op::verify}, {"address", address}, {"action", forget ? "forget" : ""}};
    const int status = ask_queue(
        arguments, request,
        [&](const json& line) {
            result = text_of(line, "result");
            if (arguments.json)
                print_json(line);
            else if (forget)
                fmt::print("{}: {}\n", address, line.value("forgotten", false) ? "forgotten" : "was not remembered");
            else
                print_verified(line);
        },
        patience);
    if (status != ok || forget) return status;
    return result == "deliverable" ? ok : result == "undeliverable" ? refused : try_again;
}

} // namespace postrider
