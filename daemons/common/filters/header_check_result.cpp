#include "daemons/common/filters/header_check_result.h"
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

// "header Subject: you have won"
std::string shown(std::string_view raw) {
    const auto block = smtp::scan_header(raw);
    const auto& field = block.fields.at(0);
    auto value = field.unfolded();
    std::ranges::replace(value, '\t', ' ');
    return fmt::format("header {}: {}", smtp::printable(field.name, 80), smtp::printable(value, 200));
}

std::string_view verb_of(Action action) {
    switch (action) {
    case Action::reject: return "reject";
    case Action::discard: return "discard";
    case Action::hold: return "hold";
    case Action::redirect: return "redirect";
    case Action::warn: return "warning";
    case Action::prepend: return "prepend";
    case Action::replace: return "replace";
    default: return "";
    }
}

} // namespace

HeaderCheckResult check_header(const HeaderChecks& checks, milter::Message& message) {
    HeaderCheckResult out;
    auto findings = checks.check(message.fields());
    out.warnings = std::move(findings.warnings);
    std::size_t before = 0, gone = 0; // fields inserted and removed so far
    for (const auto& finding : findings.found) {
        const auto number = static_cast<std::uint32_t>(finding.field + before - gone);
        const auto subject = shown(message.fields()[number]);
        auto text = smtp::printable(finding.text, 400);
        const auto field = milter::with_crlf(finding.text) + "\r\n";
        const auto edit = [&](What what, const std::string& by) {
            if (message.edit({what, number, by})) return true;
            out.warnings.push_back(fmt::format("header check: not a header field: {}", text));
            return false;
        };
        switch (finding.action) {
        case Action::reject:
            out.refusal = refusal_of(finding.text);
            text = out.refusal->status.text() + " " + out.refusal->text;
            break;
        case Action::discard: out.discard = text.empty() ? "discarded by a header check" : text; break;
        case Action::hold:
            if (out.hold.empty()) out.hold = text.empty() ? "held by a header check" : text;
            break;
        case Action::redirect:
            if (message.redirect(finding.text)) break;
            out.warnings.push_back(fmt::format("header check: not an address to redirect to: {}", text));
            continue;
        case Action::warn: break;
        case Action::prepend:
            if (!edit(What::insert, field)) continue;
            ++before;
            break;
        case Action::replace:
            if (!edit(What::replace, field)) continue;
            break;
        case Action::ignore:
            if (edit(What::remove, "")) ++gone;
            continue;
        case Action::dunno: continue;
        }
        out.lines.push_back({std::string(verb_of(finding.action)), subject, std::move(text)});
    }
    return out;
}

} // namespace common
