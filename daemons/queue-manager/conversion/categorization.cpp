#include "daemons/queue-manager/conversion/categorization.h"
#include "daemons/common/proto/route.h"
#include "daemons/common/store/suppression_list.h"
#include "daemons/common/text/idn.h"
#include "daemons/decide/addressing/command_words.h"
#include "daemons/decide/message/dsn_requests.h"
#include "daemons/decide/routing/own_hosts.h"
#include "daemons/queue-manager/conversion/records.h"
#include "libsmtp/protocol/reply.h"
#include "libsmtp/text/text.h"
#include "libspool/format/lane.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>

namespace queue_manager {

using spool::Fate;

namespace {

constexpr std::string_view local_store = "local";

// For a message that its writer accepted only to report its rejection: "5.7.1 message content rejected".
decide::queue::Reason refused_at_the_door(std::string_view verdict) {
    const auto space = verdict.find(' ');
    if (!smtp::EnhancedStatus::parse(verdict.substr(0, space))) return {"5.0.0", std::string(verdict), {}, {}};
    return {std::string(verdict.substr(0, space)),
            std::string(space == verdict.npos ? "" : verdict.substr(space + 1)),
            {},
            {}};
}

// Is it the user's own address, with or without an extension?
bool is_of(std::string_view local_part, std::string_view user) {
    const auto word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    const auto name = smtp::lowered(user);
    return local_part.starts_with(name) && (local_part.size() == name.size() || !word(local_part[name.size()]));
}

// Every user's mailbox has a queue of its own in the store: it may be locked, the user's processes stopped, their
// commands slow. The targets of a .forward have another one. Of alias files each command and file has its own: they are
// delivered as one user, and none of them should wait for another, or for that user's mailbox. Virtual mailboxes are
// all written as the same user: each of them has its own. So has each program of [command.<name>].
std::string store_of(std::string_view address, std::string_view user, std::string_view target) {
    const auto at = std::min(address.rfind('@'), address.size());
    const auto local_part = smtp::lowered(address.substr(0, at));
    if (!decide::name_of_command(target).empty()) return fmt::format("{}/{}", local_store, target);
    const bool virtual_mailbox = target.starts_with("maildir:") || target.starts_with("mbox:");
    if (virtual_mailbox && at != address.size())
        return fmt::format("{}/{}/{}", local_store, smtp::lowered(address.substr(at + 1)), local_part);
    if (target.empty() || user.empty()) return fmt::format("{}/{}", local_store, user.empty() ? local_part : user);
    return fmt::format("{}/{}/{}", local_store, user, is_of(local_part, user) ? "alias" : smtp::printable(target, 200));
}

CategorizedRecipient settled_by_file(std::uint32_t number, const spool::RecipientState& recipient,
                                     const std::string& verdict) {
    CategorizedRecipient out{
        .number = number, .reverse_path = recipient.reverse_path, .delivered_to = recipient.delivered_to};
    out.address_number = decide::address_number(recipient.address, common::name_folding());
    out.by_file = true;
    if (recipient.status == spool::Status::failed || recipient.status == spool::Status::expired) {
        out.fate = Fate::failed; // known to have failed, not yet reported
        out.reason = {.status = recipient.reply.status,
                      .text = recipient.reply.text,
                      .remote_host = recipient.host,
                      .suppressed = is_suppressed(recipient)};
    } else if (recipient.fate == Fate::failed) {
        out.fate = Fate::failed;
        out.reason = refused_at_the_door(verdict);
        out.unlogged = true;
    } else if (recipient.fate == Fate::local) {
        out.fate = Fate::local;
        out.destination = store_of(recipient.address, recipient.user, recipient.target);
    } else if (recipient.fate == Fate::discard) {
        out.fate = Fate::discard;
    } else {
        out.fate = Fate::remote;
        out.destination = destination_of(recipient.address, recipient.transport);
    }
    return out;
}

// It came before there was a filter, or was taken from another spool: its recipients are decided about.
bool was_expanded(const spool::MessageState& state) {
    return state.recipients.size() > state.envelope.recipients.size() ||
           std::ranges::count(state.recipients, spool::Status::expanded, &spool::RecipientState::status) > 0;
}

bool is_undecided(const spool::RecipientState& recipient) {
    return recipient.status == spool::Status::pending && recipient.fate != Fate::failed &&
           recipient.fate != Fate::discard;
}

// What becomes of it is decided when the message has come back from there.
CategorizedRecipient settled_for_content_filter(std::uint32_t number, const spool::RecipientState& recipient,
                                                const std::string& filter) {
    CategorizedRecipient out{.number = number,
                             .fate = Fate::remote,
                             .destination = destination_of(recipient.address, filter),
                             .reverse_path = recipient.reverse_path};
    out.address_number = decide::address_number(recipient.address, common::name_folding());
    return out;
}

CategorizedRecipient settled_by_answer(std::uint32_t number, const std::string& address,
                                       const spool::ResolvedRecipient& outcome, const CategorizationInput& subject) {
    CategorizedRecipient out{
        .number = number, .fate = outcome.fate, .delivered_to = outcome.delivered_to, .unlogged = true};
    out.address_number = decide::address_number(address, common::name_folding());
    if (out.fate == Fate::remote) out.destination = destination_of(address, outcome.transport);
    if (out.fate == Fate::local) out.destination = store_of(address, outcome.user, outcome.target);
    if (out.fate == Fate::failed || out.fate == Fate::unknown)
        out.reason = {.status = outcome.status, .text = outcome.text, .suppressed = outcome.suppressed};
    else if (subject.trace == spool::Trace::verify && out.fate == Fate::local)
        out.reason = {"2.1.5", fmt::format("is delivered on this system, to {}", local_target_text(outcome)), {}, {}};
    else if (subject.trace == spool::Trace::verify && out.fate == Fate::discard)
        out.reason = {"2.1.5", outcome.text.empty() ? "is discarded" : outcome.text, {}, {}};
    return out;
}

// The address for reports: recipients expanded from a list keep the list's.
const std::string& path_of(const spool::ResolvedRecipient& outcome, const CategorizationInput::Origin& origin) {
    return outcome.reverse_path.empty() ? origin.reverse_path : outcome.reverse_path;
}

// The report to the sender about a recipient that was replaced by its expansion.
std::optional<spool::ReportRecipient> told_of_expansion(const CategorizationInput& subject, std::uint32_t number,
                                                        const std::vector<const spool::ResolvedRecipient*>& outcomes) {
    using decide::queue::ReportKind;
    const auto of_list = std::ranges::count_if(outcomes, [](auto* each) { return each->list; });
    auto kind = decide::DsnRequests::expansion(outcomes.size(), static_cast<std::size_t>(of_list));
    if (!kind) return {};
    if (subject.trace != spool::Trace::none)
        kind = ReportKind::expanded;
    else if (!std::ranges::binary_search(subject.success_requested, number))
        return {};
    return spool::ReportRecipient{.number = number, .kind = *kind};
}

// Recipients that have the message already, or are queued for it: recipients that are only found out now must not get
// it again.
std::set<std::string> copies_of(const spool::MessageState& state, const CategorizationInput& subject) {
    std::set<std::string> out;
    auto open = subject.open.begin();
    for (std::uint32_t number = 0; number < subject.total; ++number) {
        if (open != subject.open.end() && open->number == number) {
            ++open;
            continue;
        }
        if (std::ranges::binary_search(subject.redone, number)) continue;
        const auto& recipient = state.recipients[number];
        const bool gets_it = recipient.status == spool::Status::pending || recipient.status == spool::Status::delivered;
        if (gets_it && recipient.fate != Fate::failed && recipient.fate != Fate::discard)
            out.insert(decide::duplicate_key({recipient.address, recipient.user, recipient.target, recipient.transport,
                                              state.envelope_of(recipient).address},
                                             subject.mailboxes, idn::folded));
    }
    return out;
}

// Key of a recipient that came from the expansion of an envelope's recipient and has ended otherwise, or never was to
// get the message: if the same one expands to it again, it is not served, and no second report is sent.
std::string ended_key(std::uint32_t envelope, const decide::RecipientIdentity& copy, Mailboxes mailboxes) {
    return fmt::format("{} {}", envelope, decide::duplicate_key(copy, mailboxes, idn::folded));
}

std::set<std::string> ends_of(const spool::MessageState& state, const CategorizationInput& subject) {
    std::set<std::string> out;
    if (subject.redone.empty() && subject.open.back().number < subject.addressed)
        return out; // in the order of their numbers
    for (std::uint32_t number = static_cast<std::uint32_t>(subject.addressed); number < subject.total; ++number) {
        const auto& recipient = state.recipients[number];
        using spool::Status;
        const bool ended = recipient.fate == Fate::failed || recipient.fate == Fate::discard ||
                           recipient.status == Status::failed || recipient.status == Status::expired ||
                           recipient.status == Status::discarded || recipient.status == Status::removed;
        if (ended)
            out.insert(ended_key(recipient.envelope,
                                 {recipient.address, recipient.user, recipient.target, recipient.transport,
                                  state.envelope_of(recipient).address},
                                 subject.mailboxes));
    }
    return out;
}

// The outcomes for one recipient except those that have the message; if none are left, `nobody`.
std::vector<const spool::ResolvedRecipient*> without_copies(const CategorizationInput& subject,
                                                            const spool::UnresolvedRecipient& asked,
                                                            const CategorizationInput::Origin& origin,
                                                            std::vector<const spool::ResolvedRecipient*> outcomes,
                                                            const spool::ResolvedRecipient& nobody) {
    if (subject.copies.empty() && subject.ended.empty()) return outcomes;
    const bool again = asked.number >= subject.addressed || !origin.redone.empty();
    const auto envelope = origin.envelope;
    std::erase_if(outcomes, [&](const auto* outcome) {
        if (outcome->fate == Fate::unknown) return false;
        const auto& address = outcome->changed ? outcome->address : asked.address;
        const bool gets_it = outcome->fate == Fate::local || outcome->fate == Fate::remote;
        const decide::RecipientIdentity copy{address, outcome->user, outcome->target, outcome->transport,
                                             origin.written.empty() ? asked.address : origin.written};
        return (gets_it && subject.copies.contains(decide::duplicate_key(copy, subject.mailboxes, idn::folded))) ||
               (again && subject.ended.contains(ended_key(envelope, copy, subject.mailboxes)));
    });
    if (outcomes.empty()) outcomes.push_back(&nobody);
    return outcomes;
}

} // namespace

CategorizationInput CategorizationInput::of(const spool::MessageState& state, std::uint64_t size, bool anew,
                                            std::span<const std::uint32_t> numbers, Mailboxes mailboxes,
                                            const std::string& wanted_filter) {
    CategorizationInput out;
    const auto content_filter = was_expanded(state) ? std::string() : wanted_filter;
    out.mailboxes = mailboxes;
    out.size = size;
    out.arrival = state.envelope.arrival;
    out.addressed = state.envelope.recipients.size();
    out.reverse_path = state.envelope.reverse_path;
    out.pool = state.envelope.pool;
    out.lane = spool::lane_name(state.lane, state.priority);
    if (!state.rerouted_to.empty() && content_filter.empty())
        out.rerouted_to = std::string(proto::route::via) + state.rerouted_to;
    out.trace = state.envelope.trace;
    out.total = static_cast<std::uint32_t>(state.recipients.size());
    out.asked.assign(numbers.begin(), numbers.end());
    std::ranges::sort(out.asked);
    // Who was asked about, or what became of them: an answer may be in the file that the engine has not heard of.
    const auto asked = [&](std::uint32_t number) {
        while (!std::ranges::binary_search(out.asked, number)) {
            const auto origin = state.recipients[number].origin;
            if (origin == number) return false;
            number = origin;
        }
        return true;
    };
    const auto meant = [&](std::uint32_t number) {
        return !state.recipients[number].accounted_for() && (numbers.empty() || asked(number));
    };
    std::map<std::uint32_t, std::vector<std::uint32_t>> redone; // by origin in the envelope
    for (std::uint32_t number = static_cast<std::uint32_t>(out.addressed); number < out.total; ++number) {
        const auto& recipient = state.recipients[number];
        const bool again = recipient.redo || (anew && recipient.fate != Fate::failed);
        const bool expanded = state.recipients[recipient.envelope].status == spool::Status::expanded;
        if (!again || !expanded || recipient.status != spool::Status::pending || !meant(number)) continue;
        redone[recipient.envelope].push_back(number);
        out.redone.push_back(number);
    }
    for (std::uint32_t number = 0; number < out.total; ++number) {
        const spool::RecipientState& recipient = state.recipients[number];
        if (const auto again = redone.find(number); again != redone.end()) {
            out.open.push_back({number, recipient.address});
            out.origins.push_back({number, recipient.reverse_path, recipient.list, "", again->second});
            continue;
        }
        if (!meant(number)) continue;
        if (std::ranges::binary_search(out.redone, number)) continue;
        if (!content_filter.empty() && is_undecided(recipient)) {
            out.settled.push_back(settled_for_content_filter(number, recipient, content_filter));
            continue;
        }
        const bool unsettled =
            recipient.fate == Fate::unknown || (anew && recipient.origin == number && recipient.fate != Fate::failed);
        if (recipient.status == spool::Status::pending && unsettled) {
            out.open.push_back({number, recipient.address});
            const auto& written = state.envelope_of(recipient).address;
            out.origins.push_back({recipient.envelope, recipient.reverse_path, recipient.list,
                                   written == recipient.address ? std::string() : written});
            if (recipient.origin == number && spool::wants_success(state.envelope_of(recipient).notify))
                out.success_requested.push_back(number);
        } else {
            out.settled.push_back(settled_by_file(number, recipient, state.envelope.verdict_reason));
            if (out.settled.back().fate == Fate::discard)
                out.discarded.push_back(
                    {number, recipient.address, state.envelope_of(recipient).address, {"2.0.0", "discarded", {}, {}}});
        }
    }
    if (!out.open.empty() && out.open.size() < out.total) {
        out.copies = copies_of(state, out);
        out.ended = ends_of(state, out);
    }
    return out;
}

std::optional<Judgement> judge(const CategorizationInput& subject, const proto::categorize::Categorized& answer,
                               smtp::WallTime now) {
    std::map<std::uint32_t, std::vector<const spool::ResolvedRecipient*>> by_origin;
    for (const auto& outcome : answer.outcomes) by_origin[outcome.origin].push_back(&outcome);

    Judgement out;
    out.recipients = subject.settled;
    out.discarded = subject.discarded;
    std::uint32_t next_number = subject.total;
    std::size_t answered = 0;
    std::map<std::array<std::string, 4>, std::vector<std::uint32_t>> local,
        sent_on; // by user, target, transport, reverse-path
    spool::Expanded expansion;
    std::map<std::tuple<std::string, std::string, bool>, std::vector<std::uint32_t>>
        failed; // by status, text, suppressed
    const auto settled = [&](std::uint32_t number, const std::string& address, const auto& outcome, std::size_t i) {
        out.recipients.push_back(settled_by_answer(number, address, outcome, subject));
        out.recipients.back().reverse_path = path_of(outcome, subject.origins[i]);
        if (outcome.fate == Fate::discard)
            out.discarded.push_back({number, address, subject.written(i), {outcome.status, outcome.text, {}, {}}});
    };
    for (std::size_t i = 0; i < subject.open.size(); ++i) {
        const auto& asked = subject.open[i];
        const auto& origin = subject.origins[i];
        auto found = by_origin.find(asked.number);
        if (found == by_origin.end()) return {};
        ++answered;
        spool::ResolvedRecipient nobody;
        nobody.fate = Fate::discard;
        nobody.status = "2.1.5";
        nobody.text = fmt::format("<{}> expands to recipients that already have the message", asked.address);
        const auto outcomes = without_copies(subject, asked, origin, std::move(found->second), nobody);
        const bool again = !origin.redone.empty();
        if (!again && outcomes.size() == 1 && !outcomes.front()->changed) {
            const auto& outcome = *outcomes.front();
            if (!outcome.target.empty()) out.expanded = true; // no other place after a crash
            std::array where = {outcome.user, outcome.target, outcome.transport, outcome.reverse_path};
            if (outcome.fate == Fate::local)
                local[std::move(where)].push_back(asked.number);
            else if (outcome.fate == Fate::remote && where == decltype(where){})
                out.unchanged.push_back(asked.number);
            else if (outcome.fate == Fate::remote)
                sent_on[std::move(where)].push_back(asked.number);
            else if (outcome.fate == Fate::failed)
                failed[{outcome.status, outcome.text, outcome.suppressed}].push_back(asked.number);
            settled(asked.number, asked.address, outcome, i);
            continue;
        }
        const auto waits = [](auto* outcome) { return outcome->fate == Fate::unknown; };
        if (again && std::ranges::any_of(outcomes, waits)) { // the earlier result remains until all of it is known
            for (const auto number : origin.redone)
                settled(number, asked.address, **std::ranges::find_if(outcomes, waits), i);
            continue;
        }
        if (std::ranges::all_of(outcomes, waits)) { // the address itself is asked about again
            settled(asked.number, asked.address, *outcomes.front(), i);
            continue;
        }
        if (again)
            expansion.replaced.insert(expansion.replaced.end(), origin.redone.begin(), origin.redone.end());
        else
            expansion.replaced.push_back(asked.number);
        if (const auto told = told_of_expansion(subject, asked.number, outcomes); told && !again)
            out.told.push_back(*told);
        const auto address_of = [&](const auto* outcome) {
            return again && !outcome->changed ? asked.address : outcome->address;
        };
        if (std::ranges::any_of(outcomes, [&](auto* outcome) { return address_of(outcome).empty(); })) return {};
        for (const auto* outcome : outcomes) { // those that wait (bounce.soft_bounce) do so individually
            auto& added = expansion.added.emplace_back(*outcome);
            added.origin = asked.number;
            added.address = address_of(outcome);
            added.reverse_path = path_of(*outcome, origin);
            added.list = outcome->list || origin.list;
            settled(next_number, address_of(outcome), *outcome, i);
            if (outcome->fate == Fate::failed)
                failed[{outcome->status, outcome->text, outcome->suppressed}].push_back(next_number);
            ++next_number;
        }
    }
    if (answered != by_origin.size()) return {};
    const auto record = [&out](auto& found, Fate fate) {
        for (auto& [where, numbers] : found)
            out.records.push_back(spool::Categorized{std::move(numbers), fate, where[0], where[1], where[2], where[3]});
    };
    record(local, Fate::local);
    record(sent_on, Fate::remote);
    if (!expansion.replaced.empty()) {
        out.expanded = true;
        out.records.push_back(std::move(expansion));
    }
    for (auto& [reason, numbers] : failed) {
        const auto& [status, text, suppressed] = reason;
        out.records.push_back(failed_untried(
            std::move(numbers), {.status = status, .text = text, .suppressed = suppressed}, "categorizer", now));
    }
    return out;
}

std::vector<decide::queue::FinalRecipient> final_recipients(const std::vector<CategorizedRecipient>& recipients,
                                                            std::string_view rerouted_to) {
    std::vector<decide::queue::FinalRecipient> out;
    out.reserve(recipients.size());
    std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> groups = {{{"", ""}, 0}};
    for (const CategorizedRecipient& each : recipients) {
        const auto next = static_cast<std::uint32_t>(groups.size());
        const auto group = groups.try_emplace({each.reverse_path, each.delivered_to}, next).first->second;
        const bool reasoned = !each.reason.status.empty() || each.fate == Fate::failed || each.fate == Fate::unknown;
        const bool elsewhere = each.fate == Fate::remote && !rerouted_to.empty();
        out.push_back({each.number, each.fate, elsewhere ? rerouted_to : std::string_view(each.destination), group,
                       reasoned ? &each.reason : nullptr, each.address_number, each.by_file});
    }
    return out;
}

std::string local_target_text(const spool::ResolvedRecipient& outcome) {
    const auto& target = outcome.target;
    if (target.empty()) return "the mailbox of " + outcome.user;
    const auto as = outcome.user.empty() ? "" : ", as " + outcome.user;
    if (target.starts_with('|')) return fmt::format("the command \"{}\"{}", target.substr(1), as);
    if (const auto name = decide::name_of_command(target); !name.empty())
        return fmt::format("the program [command.{}]{}", name, as);
    return fmt::format("{}{}{}", target.starts_with('/') || target.starts_with('~') ? "the file " : "", target, as);
}

std::string destination_of(std::string_view address, std::string_view transport) {
    if (transport.empty()) return domain_of(address);
    if (const auto own = decide::OwnHosts::of(transport, domain_of(address)))
        return std::string(proto::route::via).append(own->to_string());
    auto out = std::string(proto::route::via).append(transport);
    return out.ends_with(':') ? out + domain_of(address) : out; // a route by its name
}

std::string domain_of(std::string_view address) {
    const auto at = address.rfind('@');
    if (at == address.npos) return {};
    const auto domain = address.substr(at + 1);
    auto name = idn::ascii_domain(domain);
    return name.empty() ? std::string(domain) : name; // the router reports what is wrong with it
}

} // namespace queue_manager
