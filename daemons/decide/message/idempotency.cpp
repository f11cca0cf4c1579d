#include "daemons/decide/message/idempotency.h"
#include "libspool/format/fields.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace decide::idempotency {

std::expected<std::string, std::string> key_in(const smtp::ControlFields& header, std::size_t field) {
    const auto count = header.count(field);
    if (count == 0) return "";
    const auto wrong = [](std::string why) { return std::unexpected(fmt::format("{}: {}", field_name, why)); };
    if (count > 1) return wrong(fmt::format("there are {} such fields, expected one", count));
    auto key = header.value(field);
    if (key.empty()) return wrong("the key is empty");
    if (key.size() > longest) return wrong(fmt::format("the key is longer than {} characters", longest));
    if (!std::ranges::all_of(key, [](char c) { return c > 32 && c < 127; }))
        return wrong("the key is not one word of printable ASCII characters");
    return key;
}

std::string request_of(const spool::Envelope& envelope, std::string_view schedule) {
    std::set<std::string> recipients;
    for (const auto& each : envelope.recipients)
        recipients.insert(fmt::format("to <{}> {} {}\n", each.address, static_cast<unsigned>(each.notify), each.orcpt));
    auto out = fmt::format("from <{}>\n", envelope.reverse_path);
    for (const auto& each : recipients) out += each;
    return out + fmt::format("{} {} {} {}\n", static_cast<unsigned>(envelope.ret), envelope.priority,
                             envelope.require_tls, schedule);
}

std::string encode(const Claim& claim) { return spool::fields::Writer::bytes_of(claim); }

std::optional<Claim> decode(std::string_view bytes) {
    Claim claim;
    if (!spool::fields::read_into(claim, bytes).empty() || !claim.id.valid()) return {};
    return claim;
}

Verdict judge(const Claim& there, std::string_view digest, Owner owner, Trace trace) {
    const auto compared = there.digest == digest ? Verdict::duplicate : Verdict::other_content;
    if (there.state == State::accepted) return compared;
    if (owner == Owner::alive) return Verdict::busy;
    switch (trace) {
    case Trace::messages: return compared;
    case Trace::incoming: return Verdict::busy; // whether it is whole the queue-manager finds out
    case Trace::nowhere: break;
    }
    return Verdict::abandoned;
}

} // namespace decide::idempotency
