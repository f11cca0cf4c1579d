#include "libspool/message/message_state.h"
#include "libspool/format/fields.h"
#include "libspool/message/waiting_time.h"
#include <algorithm>
#include <utility>

namespace spool {

namespace {

// MessageState without its envelope, as a Checkpoint holds it.
struct UnknownRecord {
    std::uint32_t type = 0;
    std::string payload;
    static void fields(auto& m, auto& f) {
        f(1, m.type);
        f(2, m.payload);
    }
};
struct CheckpointState {
    std::vector<RecipientState> recipients;
    bool problem = false, held = false;
    std::string held_by, held_why;
    std::int32_t priority = 0;
    std::string lane;
    std::optional<smtp::WallTime> expiry;
    std::string retry_policy;
    bool ndr_issued = false, delay_notice_sent = false;
    std::uint32_t crashes_alone = 0, crashes = 0, ndr_passes = 0;
    std::vector<UnknownRecord> unknown_records;
    std::string rerouted_to;
    std::uint32_t lifetime = 0;
    std::optional<RetryValues> retry_values;
    std::optional<smtp::WallTime> free_from;
    smtp::WallTime held_since{}, released{};
    std::uint64_t held_for = 0;
    Transferring transfer;
    static void fields(auto& m, auto& f) {
        f(1, m.recipients);
        f(2, m.problem);
        f(3, m.held);
        f(4, m.held_by);
        f(5, m.held_why);
        f(6, m.priority);
        f(7, m.lane);
        f(8, m.expiry);
        f(9, m.retry_policy);
        f(10, m.ndr_issued);
        f(11, m.delay_notice_sent);
        f(12, m.crashes_alone);
        f(13, m.crashes);
        f(14, m.ndr_passes);
        f(15, m.unknown_records);
        f(16, m.rerouted_to);
        f(17, m.lifetime);
        f(18, m.retry_values);
        f(19, m.free_from);
        f(20, m.held_since);
        f(21, m.released);
        f(22, m.held_for);
        f(23, m.transfer);
    }
};

std::unexpected<Malformed> malformed(std::string why) { return std::unexpected(Malformed{std::move(why)}); }

void remember(RecipientState& r, const Attempt& a) {
    ++r.tries;
    r.last_attempt = a.time;
    r.host = a.host;
    r.reply = a.reply;
    r.in_doubt = r.in_doubt || a.in_doubt;
    auto& kept = r.attempts;
    if (!kept.empty() && kept.back().host == a.host && kept.back().reply == a.reply &&
        kept.back().outcome == a.outcome && kept.back().in_doubt == a.in_doubt && kept.back().tls == a.tls &&
        kept.back().source == a.source) {
        ++kept.back().count;
        kept.back().last = a.time;
        return;
    }
    if (kept.size() == first_attempts_kept + last_attempts_kept)
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(first_attempts_kept));
    kept.push_back(AttemptEntry{a.time, a.time, 1, a.host, a.reply, a.outcome, a.in_doubt, a.tls, a.source});
}

// Does to the state what each record says. Its recipients have been checked.
struct Fold {
    MessageState& m;

    template <class Change> void each(const std::vector<std::uint32_t>& numbers, Change change) {
        for (auto n : numbers) change(m.recipients[n]);
    }
    // Its wait for the next try is over, or interrupted.
    void end_wait(RecipientState& r, smtp::WallTime at) { r.waited_retry += retry_wait(m, r, at); }
    void change_policy(const std::string& name, const std::optional<RetryValues>& values) {
        if (name.empty()) return;
        m.retry_policy = name;
        m.retry_values = values;
    }
    void operator()(const Expanded& p) {
        each(p.replaced, [](auto& r) { r.status = Status::expanded; });
        for (const auto& added : p.added) {
            RecipientState r;
            r.address = added.address;
            r.user = added.user;
            r.target = added.target;
            r.transport = added.transport;
            r.list = added.list;
            r.delivered_to = added.delivered_to;
            r.reverse_path = added.reverse_path;
            r.origin = added.origin;
            r.envelope = m.recipients[added.origin].envelope;
            r.fate = added.fate;
            m.recipients.push_back(std::move(r));
        }
    }
    void operator()(const Categorized& p) {
        each(p.recipients, [&](auto& r) {
            r.fate = p.fate;
            r.user = p.user;
            r.target = p.target;
            r.transport = p.transport;
            if (!p.reverse_path.empty()) r.reverse_path = p.reverse_path;
        });
    }
    void operator()(const Attempt& p) {
        each(p.recipients, [&](auto& r) {
            end_wait(r, p.time);
            r.waited_pause += p.pause;
            r.waited_link += p.link;
            remember(r, p);
            if (p.outcome == Outcome::delivered) {
                r.status = Status::delivered;
                r.success = p.success;
            }
            if (p.outcome == Outcome::failed) r.status = Status::failed;
            if (p.outcome == Outcome::deferred) {
                r.next_attempt = p.next_attempt;
                r.failures = p.failures;
            }
        });
    }
    void operator()(const StatusChanged& p) {
        each(p.recipients, [&](auto& r) {
            r.status = p.status;
            if (p.reply != Reply{}) r.reply = p.reply;
        });
    }
    void operator()(const Rescheduled& p) {
        each(p.recipients, [&](auto& r) {
            r.next_attempt = p.next_attempt;
            r.failures = p.failures;
        });
        if (p.free_from != smtp::WallTime{}) m.free_from = p.free_from;
    }
    void operator()(const Held& p) {
        if (p.held && !m.held) {
            for (auto& r : m.recipients)
                if (r.status == Status::pending) end_wait(r, p.time);
            m.held_since = p.time;
        } else if (!p.held && m.held) {
            m.held_for += hold_time(m, p.time);
            m.held_since = {};
            m.released = p.time;
        }
        m.held = p.held;
        m.held_by = p.held ? p.who : "";
        m.held_why = p.held ? p.why : "";
    }
    void operator()(const PriorityChanged& p) {
        m.priority = p.priority;
        m.lane = p.lane;
    }
    void operator()(const ExpiryChanged& p) {
        if (p.expiry != smtp::WallTime{}) m.expiry = p.expiry;
        if (p.lifetime != 0) {
            m.expiry.reset();
            m.lifetime = p.lifetime;
        }
        change_policy(p.policy, p.retry_values);
    }
    void operator()(const ProblemMarked& p) { m.problem = p.problem; }
    void operator()(const NdrIssued& p) {
        each(p.recipients, [](auto& r) {
            r.reported = true;
            // A recipient that was reported before any result has failed: it is never tried again.
            if (r.status == Status::pending) r.status = Status::failed;
        });
        m.ndr_issued = true;
        ++m.ndr_passes;
    }
    void operator()(const DelayNoticed& p) {
        each(p.recipients, [](auto& r) { r.delay_noticed = true; });
        m.delay_notice_sent = true;
    }
    void operator()(const InDoubt& p) {
        each(p.recipients, [](auto& r) { r.in_doubt = true; });
    }
    void operator()(const AgentCrash& p) {
        ++m.crashes;
        if (p.alone) ++m.crashes_alone;
        each(p.recipients, [](auto& r) { r.in_doubt = true; });
    }
    // What an expansion brought is not asked about by itself: it would expand once more.
    void operator()(const Requeued& p) {
        each(p.recipients, [&](auto& r) {
            const bool own = &m.recipients[r.origin] == &r;
            if (own && r.status == Status::pending) r.fate = Fate::unknown;
            r.redo = p.redo && !own && r.status == Status::pending;
            end_wait(r, p.time);
            r.next_attempt = {};
            r.failures = 0;
        });
        m.problem = false;
        change_policy(p.policy, p.retry_values);
    }
    void operator()(const Rerouted& p) { m.rerouted_to = p.to; }
    void operator()(const Transferring& p) { m.transfer = p; }
    void operator()(const Checkpoint&) {} // replaces everything: handled before
    void operator()(const UnknownProperty& p) { m.unknown.emplace_back(p.type, p.payload); }
};

} // namespace

namespace {
std::expected<void, Malformed> restore(MessageState& m, const Checkpoint& checkpoint) {
    auto read = fields::read<CheckpointState>(checkpoint.state, "checkpoint");
    if (!read) return std::unexpected(std::move(read.error()));
    if (read->recipients.size() < m.envelope.recipients.size()) return malformed("checkpoint: recipients missing");
    for (std::size_t n = 0; n < read->recipients.size(); ++n) {
        const auto& r = read->recipients[n];
        if (r.address.empty() || r.origin > n || r.envelope >= m.envelope.recipients.size())
            return malformed("checkpoint: invalid recipient");
    }
    m.recipients = std::move(read->recipients);
    m.problem = read->problem;
    m.held = read->held;
    m.held_by = std::move(read->held_by);
    m.held_why = std::move(read->held_why);
    m.held_since = read->held_since;
    m.released = read->released;
    m.held_for = read->held_for;
    m.priority = read->priority;
    m.lane = std::move(read->lane);
    m.expiry = read->expiry;
    m.lifetime = read->lifetime != 0 ? read->lifetime : m.envelope.lifetime;
    m.retry_policy = std::move(read->retry_policy);
    m.retry_values = std::move(read->retry_values);
    m.free_from = read->free_from;
    m.ndr_issued = read->ndr_issued;
    m.delay_notice_sent = read->delay_notice_sent;
    m.crashes_alone = read->crashes_alone;
    m.crashes = read->crashes;
    m.ndr_passes = read->ndr_passes;
    m.rerouted_to = std::move(read->rerouted_to);
    m.transfer = std::move(read->transfer);
    m.unknown.clear();
    for (auto& u : read->unknown_records)
        m.unknown.emplace_back(static_cast<std::uint16_t>(u.type), std::move(u.payload));
    return {};
}
} // namespace

MessageState::MessageState(Envelope e) : envelope(std::move(e)) {
    recipients.reserve(envelope.recipients.size());
    std::uint32_t number = 0;
    for (const auto& from : envelope.recipients) {
        RecipientState& r = recipients.emplace_back();
        r.address = from.address;
        r.user = from.user;
        r.target = from.target;
        r.transport = from.transport;
        r.reverse_path = from.reverse_path;
        r.origin = r.envelope = number++;
        r.fate = from.fate;
    }
    held = envelope.verdict != Verdict::accept;
    if (held) {
        held_since = envelope.arrival;
        held_by = "filter";
        held_why = envelope.verdict_reason;
    }
    priority = envelope.priority;
    lane = envelope.lane;
    expiry = envelope.expiry;
    lifetime = envelope.lifetime;
    retry_policy = envelope.retry_policy;
    retry_values = envelope.retry_values;
    rerouted_to = envelope.rerouted_to;
    // Invalid: no process reads such a message (writers.h).
    if (envelope.transferred && !envelope.transferred->state.empty())
        static_cast<void>(restore(*this, Checkpoint{envelope.transferred->state}));
}

std::expected<void, Malformed> MessageState::apply(const Property& property) {
    if (const auto* checkpoint = std::get_if<Checkpoint>(&property)) return restore(*this, *checkpoint);
    const auto exists = [&](std::uint32_t n) { return n < recipients.size(); };
    const bool sound = std::visit(
        [&](const auto& p) {
            bool good = true;
            if constexpr (requires { p.recipients; }) good = std::ranges::all_of(p.recipients, exists);
            if constexpr (requires { p.replaced; }) {
                good = std::ranges::all_of(p.replaced, exists);
                for (std::size_t n = 0; n < p.added.size() && good; ++n)
                    good = p.added[n].origin < recipients.size() && !p.added[n].address.empty();
            }
            return good;
        },
        property);
    if (!sound) return malformed("property names a recipient that does not exist");
    std::visit(Fold{*this}, property);
    return {};
}

const std::string& MessageState::reverse_path_of(const RecipientState& recipient) const {
    static const std::string null_path;
    if (recipient.reverse_path.empty()) return envelope.reverse_path;
    return recipient.reverse_path == "<>" ? null_path : recipient.reverse_path;
}

bool MessageState::finished() const {
    return std::ranges::all_of(recipients, [](const auto& r) { return r.accounted_for(); });
}

Checkpoint MessageState::checkpoint() const {
    CheckpointState s{recipients, problem,    held,         held_by,     held_why,          priority,
                      lane,       expiry,     retry_policy, ndr_issued,  delay_notice_sent, crashes_alone,
                      crashes,    ndr_passes, {},           rerouted_to, lifetime,          retry_values,
                      free_from,  held_since, released,     held_for,    transfer};
    for (const auto& [type, payload] : unknown) s.unknown_records.push_back({type, payload});
    return Checkpoint{fields::Writer::bytes_of(s)};
}

} // namespace spool
