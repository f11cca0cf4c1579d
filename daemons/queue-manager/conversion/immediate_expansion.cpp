#include "daemons/queue-manager/conversion/immediate_expansion.h"
#include <utility>

namespace queue_manager {

namespace {

using decide::TableAnswer;

// Whatever is looked up is not known here.
decide::ExpansionTables unknown_tables(ImmediateExpansion::SuppressionList list, bool& message_needed) {
    const TableAnswer pending{TableAnswer::Status::not_yet, {}, {}};
    const decide::AliasAnswer pending_list{decide::AliasAnswer::Status::not_yet, {}, {}, {}};
    decide::ExpansionTables out;
    out.alias = [pending_list](const auto&) { return pending_list; };
    out.user = [](const auto&) { return decide::UserAnswer::not_yet; };
    out.forward = out.include = [pending_list](const auto&, const auto&) { return pending_list; };
    out.table = [pending](const auto&, const auto&) { return pending; };
    if (list == ImmediateExpansion::SuppressionList::has_entries)
        out.suppressed = [pending](const auto&) { return pending; };
    out.delivered_before = [&message_needed](const auto&) {
        message_needed = true; // its fields say it
        return TableAnswer{};
    };
    return out;
}

} // namespace

std::optional<proto::categorize::Categorized> ImmediateExpansion::of(const CategorizationInput& subject,
                                                                     SuppressionList list) const {
    if (subject.open.size() > most_recipients) return {};
    bool message_needed = false;
    auto found = decide::expand(subject.open, subject.reverse_path, settings_, unknown_tables(list, message_needed));
    if (message_needed || !found.unanswered.empty()) return {};
    return proto::categorize::Categorized{.outcomes = std::move(found.recipients)};
}

} // namespace queue_manager
