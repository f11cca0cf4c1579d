#include "daemons/http/requests/submission.h"
#include "daemons/common/submission/sender_requests.h"
#include "daemons/decide/message/idempotency.h"
#include "daemons/http/compose/message.h"
#include "daemons/http/requests/draft_reader.h"
#include "daemons/http/requests/json_reader.h"
#include "daemons/http/requests/media_type.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <sysexits.h>
#include <unordered_set>

namespace http {

using nlohmann::json;
using proto::relayed_submission::Cause;
using proto::relayed_submission::Outcome;

namespace {

constexpr std::size_t most_meta = 50, longest_wish = 1000;

Problem invalid(std::string detail) { return {400, "invalid-request", std::move(detail)}; }

struct Wish {
    std::string_view member, option; // of the request; of sendmail -O
};
constexpr Wish wishes[] = {
    {"not_before", "sendat"}, {"expires", "expires"}, {"lane", "lane"}, {"policy", "policy"}, {"pool", "pool"}};

// "": it was added.
std::string add_wish(SubmissionRequest& out, std::string_view member, std::string_view option, std::string_view value) {
    if (value.size() > longest_wish ||
        !std::ranges::all_of(value, [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; }))
        return fmt::format("{}: expected one line of at most {} bytes.", smtp::printable(member, 64), longest_wish);
    out.fields += common::request_field(option, value);
    return {};
}

std::string add_meta(SubmissionRequest& out, std::string_view name, std::string_view value) {
    if (name.empty() || name.find_first_of(":\r\n \t") != name.npos || name.size() > common::longest_meta_name)
        return fmt::format("meta: \"{}\" is not a valid name.", smtp::printable(name, 64));
    return add_wish(out, "meta", "meta." + std::string(name), value);
}

std::expected<void, Problem> set_sender(SubmissionRequest& out, std::string_view text, const Caller& caller) {
    const auto path = smtp::ReversePath::parse(text);
    if (!path || (path->mailbox && path->mailbox->bare()))
        return std::unexpected(
            invalid(fmt::format("from: \"{}\" is not a valid address.", smtp::printable(text, 200))));
    out.sender = path->text();
    const auto& domains = caller.sender_domains;
    if (domains.empty()) return {};
    const auto domain = path->mailbox ? smtp::lowered(path->mailbox->domain) : std::string();
    if (std::ranges::find(domains, domain) != domains.end()) return {};
    return std::unexpected(
        Problem{403, "sender-not-allowed",
                fmt::format("This token may not send mail from \"{}\": \"postrider token show\" lists "
                            "the domains that it may use.",
                            smtp::printable(text, 200))});
}

std::expected<void, Problem> set_recipients(SubmissionRequest& out, const std::vector<std::string>& given,
                                            const SubmissionLimits& limits) {
    if (given.empty()) return std::unexpected(invalid("to: expected at least one recipient."));
    if (given.size() > limits.recipients)
        return std::unexpected(
            invalid(fmt::format("to: {} recipients, expected at most {}.", given.size(), limits.recipients)));
    std::unordered_set<std::string> known;
    for (const auto& text : given) {
        const auto mailbox = smtp::Mailbox::parse(text);
        if (!mailbox)
            out.refused.push_back({text, 553, "5.1.3", "Not a valid address: " + mailbox.error().why});
        else if (auto address = mailbox->text(); known.insert(address).second)
            out.recipients.push_back(std::move(address));
    }
    return {};
}

std::expected<void, Problem> add_key(SubmissionRequest& out, const web::Request& request) {
    if (!request.has_header("idempotency-key")) return {};
    const auto key = request.header("idempotency-key");
    if (key.empty() || key.size() > decide::idempotency::longest ||
        !std::ranges::all_of(key, [](char c) { return c >= 0x20 && c < 0x7f; }))
        return std::unexpected(invalid(
            fmt::format("Idempotency-Key: expected 1 to {} printable characters.", decide::idempotency::longest)));
    out.fields += fmt::format("{}: {}\r\n", decide::idempotency::field_name, key);
    return {};
}

std::vector<std::string> split(std::string_view list) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at <= list.size();) {
        const auto end = std::min(list.find(',', at), list.size());
        out.emplace_back(list.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

// The envelope is in the query: to may be repeated, and each may have several addresses.
std::expected<SubmissionRequest, Problem> read_message(web::Request& request, const Caller& caller,
                                                       const SubmissionLimits& limits) {
    SubmissionRequest out;
    std::vector<std::string> to;
    std::set<std::string, std::less<>> given;
    for (const auto& [name, value] : request.parameters) {
        std::string problem;
        const auto wish = std::ranges::find(wishes, name, &Wish::member);
        if (name == "to")
            for (auto& each : split(value)) to.push_back(std::move(each));
        else if (!given.insert(name).second)
            problem = fmt::format("{}: given twice, expected once.", smtp::printable(name, 64));
        else if (wish != std::end(wishes))
            problem = add_wish(out, name, wish->option, value);
        else if (name.starts_with("meta."))
            problem = add_meta(out, std::string_view(name).substr(5), value);
        else if (name != "from")
            problem = fmt::format("There is no parameter \"{}\".", smtp::printable(name, 64));
        if (!problem.empty()) return std::unexpected(invalid(std::move(problem)));
    }
    if (!given.contains("from")) return std::unexpected(invalid("from: is missing; \"from=\" is the null sender."));
    if (auto set = set_sender(out, request.parameter("from"), caller); !set) return std::unexpected(set.error());
    if (auto set = set_recipients(out, to, limits); !set) return std::unexpected(set.error());
    out.content = std::move(request.body);
    return out;
}

std::expected<SubmissionRequest, Problem> read_object(web::Request& request, const Caller& caller,
                                                      const SubmissionLimits& limits) {
    if (!request.parameters.empty())
        return std::unexpected(invalid("A JSON request has its envelope in the body: expected no parameters."));
    auto body = read_json(request.body, content_members);
    if (!body) return std::unexpected(body.error());
    request.body = {};
    SubmissionRequest out;
    Members members(*body);
    const auto from = members.text("from");
    if (!members.has("from")) members.wrong("from", "an address; \"\" is the null sender");
    const auto to = members.texts("to", limits.recipients);
    const bool composed = has_draft(members);
    if (members.has("raw") == composed)
        members.wrong("raw", composed ? "it without subject, text, html, headers and attachments"
                                      : "the message as a text, or text or html in its place");
    out.content = members.text("raw");
    auto draft = read_draft(members);
    std::string problem;
    for (const auto& wish : wishes)
        if (auto value = members.text(wish.member); members.has(wish.member) && problem.empty())
            problem = add_wish(out, wish.member, wish.option, value);
    if (const auto* meta = members.object("meta")) {
        if (meta->size() > most_meta) members.wrong("meta", fmt::format("at most {} members", most_meta));
        for (const auto& [name, value] : meta->items())
            if (!value.is_string())
                members.wrong("meta", "an object of texts");
            else if (problem.empty())
                problem = add_meta(out, name, value.get_ref<const std::string&>());
    }
    if (auto wrong = members.problem()) return std::unexpected(*std::move(wrong));
    if (!problem.empty()) return std::unexpected(invalid(std::move(problem)));
    if (auto set = set_sender(out, from, caller); !set) return std::unexpected(set.error());
    if (auto set = set_recipients(out, to, limits); !set) return std::unexpected(set.error());
    if (!composed) return out;
    draft.sender = out.sender;
    draft.recipients = out.recipients;
    *body = {};
    auto message = compose::message(draft);
    if (!message) return std::unexpected(invalid(message.error()));
    out.content = *std::move(message);
    return out;
}

json recipients_json(const SubmissionRequest& request, const Outcome& outcome) {
    auto out = json::array();
    std::unordered_set<std::string_view> suppressed;
    const auto add = [&](std::string_view address, std::string_view state, unsigned code, std::string_view status,
                         std::string_view text) {
        out.push_back({{"address", address}, {"state", state}, {"code", code}, {"status", status}, {"text", text}});
    };
    for (const auto& each : outcome.suppressed) {
        add(each.address, "suppressed", 550, "5.7.1", each.reason);
        suppressed.insert(each.address);
    }
    for (const auto& each : request.refused) add(each.address, "refused", each.code, each.status, each.text);
    if (outcome.status == EX_OK && !outcome.duplicate)
        for (const auto& each : request.recipients)
            if (!suppressed.contains(each)) add(each, "queued", 250, "2.1.5", "Accepted");
    return out;
}

Problem problem_of(const Outcome& outcome) {
    switch (outcome.cause) {
    case Cause::key_reused: return {422, "key-reused", outcome.text};
    case Cause::key_busy: return {409, "key-busy", outcome.text, 1};
    case Cause::suppressed: return {422, "no-recipients", "No recipient can be accepted; \"recipients\" says why."};
    case Cause::in_doubt:
    case Cause::unavailable: return {503, "unavailable", outcome.text, 5};
    case Cause::other: break;
    }
    if (outcome.status == EX_TEMPFAIL) return {503, "deferred", outcome.text, 30};
    if (outcome.status == EX_UNAVAILABLE) return {422, "rejected", "A filter rejects the message: " + outcome.text};
    if (outcome.status == EX_NOPERM) return {403, "not-permitted", outcome.text};
    return {400, "invalid-message", outcome.text};
}

} // namespace

std::expected<SubmissionRequest, Problem> read_submission(web::Request& request, const Caller& caller,
                                                          const SubmissionLimits& limits) {
    auto out = media_type(request.header("content-type")) == json_type ? read_object(request, caller, limits)
                                                                       : read_message(request, caller, limits);
    if (!out) return out;
    if (out->content.size() > limits.message_size)
        return std::unexpected(
            Problem{413, "too-large",
                    fmt::format("The message is larger than {} bytes, which is the limit here.", limits.message_size)});
    if (auto added = add_key(*out, request); !added) return std::unexpected(added.error());
    return out;
}

web::Response response_to(const Outcome& outcome, const SubmissionRequest& request) {
    auto recipients = recipients_json(request, outcome);
    if (outcome.status != EX_OK)
        return response_to(problem_of(outcome),
                           recipients.empty() ? json::object() : json{{"recipients", std::move(recipients)}});
    json result = {{"id", outcome.queue_id},
                   {"message_id", outcome.message_id},
                   {"recipients", std::move(recipients)},
                   {"duplicate", outcome.duplicate}};
    if (!outcome.node.empty()) result["node"] = outcome.node;
    return json_response(outcome.duplicate ? 200 : 202, std::move(result));
}

} // namespace http
