#include "daemons/decide/queue/failure_mapping.h"

namespace decide::queue {

namespace {
PushBack push_back_of(const Failure& failure) { return failure.push_back ? PushBack::yes : PushBack::no; }
} // namespace

Result observed(RecipientNumber number, Outcome outcome, const Observation& seen, const Reason& reason) {
    const auto failure = classify(seen);
    return {.number = number,
            .outcome = outcome,
            .kind = failure.kind,
            .push_back = push_back_of(failure),
            .reason = &reason};
}

Closed failed(ConnectionId connection, bool was_up, const Observation& seen, const Reason& reason) {
    return {.connection = connection,
            .failed = true,
            .was_up = was_up,
            .phase = seen.stage <= smtp::Stage::connect ? Phase::connecting : Phase::session,
            .push_back = push_back_of(classify(seen)),
            .reason = &reason,
            .policy = classify(seen).kind == FailureKind::policy,
            .credentials = classify(seen).credentials};
}

} // namespace decide::queue
