#include "daemons/smtp-client/session/source_failover.h"
#include "daemons/decide/outcome/source_reputation.h"
#include "daemons/smtp-client/message/results.h"
#include <algorithm>
#include <fmt/format.h>

namespace smtp_client {

std::string next_source(SourceAddresses& sources) {
    return sources.source_for(sources.current()->address)->address.to_string();
}

std::optional<SourceRefusal> source_refusal(SourceAddresses& sources, const DeliveryJob& job,
                                            smtp::TransactionResult& result) {
    const auto* from = sources.current();
    if (!from) return {};
    const auto source = from->address.to_string();
    const auto blame = [&](const smtp::Verdict& verdict) {
        return decide::blames_source({verdict.stage, verdict.code, verdict.status}, verdict.remote_reply,
                                     {source, from->helo});
    };
    const auto blames = [&](const smtp::Verdict& verdict) { return !blame(verdict).empty(); };
    const auto why = std::ranges::find_if(result.verdicts, blames);
    if (why == result.verdicts.end()) return {};
    const auto told = fmt::format("{}: {}; this concerns {} (\"{}\")",
                                  job.probe() ? "try" : job.order().queue_id.text(), why->text, source, blame(*why));
    using Next = SourceRefusal::Next;
    if (!sources.rejected_by_site())
        return SourceRefusal{
            source, why->text,
            fmt::format("{}, and all other usable addresses of the pool {} are backing off", told, sources.pool_name()),
            Next::nothing};
    const bool begun = std::ranges::any_of(result.verdicts, [](const smtp::Verdict& verdict) {
        return verdict.outcome == smtp::Outcome::delivered || verdict.in_doubt;
    });
    SourceRefusal out{source, why->text,
                      fmt::format("{}; trying again {}from {}", told, begun ? "later " : "", next_source(sources)),
                      begun ? Next::nothing : Next::try_again};
    if (begun)
        for (auto& verdict : result.verdicts)
            if (blames(verdict)) apply_soft_bounce(verdict);
    return out;
}

bool delivered_to_all(const smtp::TransactionResult& result) {
    return std::ranges::all_of(
        result.verdicts, [](const smtp::Verdict& verdict) { return verdict.outcome == smtp::Outcome::delivered; });
}

} // namespace smtp_client
