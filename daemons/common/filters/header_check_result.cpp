#include "daemons/common/filters/header_check_result.h"
#include "daemons/decide/routing/filter_destination.h"
#include <algorithm>
#include <fmt/format.h>

namespace common {

using Action = HeaderChecks::Action;
using What = spool::FieldEdit::What;

namespace {

// "REJECT 5.7.9 not today": an enhanced status of its own, or the default one.
smtp::Reply refusal_of(std::string_view text) {
    smtp::Reply reply{550, {5, 7, 1}, ""};
    const auto space = text.find(' ');
    if (const auto status = smtp::EnhancedStatus::parse(text.substr(0, space)); status && status->klass == 5) {
        reply.status = *status;
        text = space == text.npos ? "" : text.substr(space + 1);
    }
    reply.text = text.empty() ? "message content rejected" : smtp::printable(text, 400);
    return reply;
}

} // namespace

void take_finding(ContentFinding finding, milter::Message& message, HeaderCheckResult& result) {
    auto text = smtp::printable(finding.text, 400);
    switch (finding.action) {
    case Action::reject:
        result.refusal = refusal_of(finding.text);
        text = result.refusal->status.text() + " " + result.refusal->text;
        break;
    case Action::defer: result.refusal = smtp::Reply{451, {4, 3, 0}, "message content cannot be checked now"}; break;
    case Action::discard: result.discard = text.empty() ? "discarded by a header check" : text; break;
    case Action::hold:
        if (result.hold.empty()) result.hold = text.empty() ? "held by a header check" : text;
        break;
    case Action::redirect:
    case Action::bcc:
        if (finding.action == Action::bcc ? message.add_bcc(finding.text) : message.redirect(finding.text)) break;
        result.warnings.push_back(fmt::format("header check: not an address to {} to: {}",
                                              finding.action == Action::bcc ? "copy" : "redirect", text));
        return;
    case Action::filter:
        if (auto destination = decide::filter_destination(finding.text))
            result.content_filter = *std::move(destination);
        else
            result.refusal = smtp::Reply{451, {4, 3, 0}, "message content cannot be checked now"};
        break;
    case Action::ignore:
    case Action::dunno: return;
    default: break;
    }
    result.lines.push_back({std::string(verb_of(finding.action)), std::move(finding.subject), std::move(text)});
}

HeaderCheckResult check_header(const ContentRules& rules, milter::Message& message) {
    HeaderCheckResult out;
    OwnHeaderChecks checks(rules);
    std::vector<HeaderChecks::Finding> found; // in the fields as they are before any edit
    for (std::size_t number = 0; number < message.fields().size(); ++number) {
        auto finding = checks.check(number, message.fields()[number]);
        if (!finding) continue;
        found.push_back(*std::move(finding));
        const auto action = found.back().action;
        if (action == Action::reject || action == Action::discard || action == Action::defer) break;
    }
    out.warnings = checks.take_warnings();
    std::size_t before = 0, gone = 0; // fields inserted and removed so far
    for (auto& finding : found) {
        const auto number = static_cast<std::uint32_t>(finding.field + before - gone);
        auto subject = shown_field(message.fields()[number]);
        const auto field = milter::with_crlf(finding.text) + "\r\n";
        const auto edit = [&](What what, const std::string& by) {
            if (message.edit({what, number, by})) return true;
            out.warnings.push_back(
                fmt::format("header check: not a header field: {}", smtp::printable(finding.text, 400)));
            return false;
        };
        switch (finding.action) {
        case Action::prepend:
            if (!edit(What::insert, field)) continue;
            ++before;
            break;
        case Action::replace:
            if (!edit(What::replace, field)) continue;
            break;
        case Action::ignore:
        case Action::strip:
            if (edit(What::remove, "")) ++gone;
            break;
        default: break;
        }
        take_finding({finding.action, std::move(subject), std::move(finding.text)}, message, out);
    }
    return out;
}

} // namespace common
