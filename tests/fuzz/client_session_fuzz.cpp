// Any server against ClientSession (SMTP with DATA and BDAT, LMTP) with three messages to send, of which the second
// may only ask. Every one ends in one way exactly, recipients of a message are told "delivered" only after a final
// dot, nothing bare is ever written, however the bytes come.
#include "libsmtp/session/client_session.h"
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

namespace {

using namespace smtp;

struct Run {
    std::string sent, log;
};

bool is_probe(std::uint64_t id, unsigned flavour) { return id == 2 && (flavour & 1) != 0; }

Transaction transaction(std::uint64_t id, unsigned flavour) {
    Transaction out;
    out.id = id;
    out.reverse_path = id == 2 ? "" : "a@x";
    out.parameters.size = flavour & 1 ? 5000 : 10;
    if (flavour & 512) out.longest_line = 10; // so that it may go by BDAT
    if (flavour & 2) out.parameters.body = Body::eight_bit_mime;
    for (unsigned i = 0; i <= (flavour >> 2 & 3); ++i) out.recipients.push_back({"r" + std::to_string(i) + "@y", {}});
    out.probe = is_probe(id, flavour);
    return out;
}

void note(Run& run, std::set<std::uint64_t>& over, const TransactionResult& result, std::string_view content_sent,
          unsigned flavour) {
    assert(over.insert(result.id).second);
    run.log += "#" + std::to_string(result.id);
    for (auto index : result.of_recipient) {
        assert(index < result.verdicts.size());
        const auto& verdict = result.verdicts[index];
        assert(verdict.text.size() <= 512 && !verdict.status.empty());
        if (verdict.outcome == Outcome::delivered && !is_probe(result.id, flavour)) assert(content_sent.ends_with("."));
        run.log += "," + std::to_string(static_cast<int>(verdict.outcome)) + verdict.status + verdict.text;
    }
}

Run play(std::string_view wire, unsigned flavour, std::size_t step) {
    Run run;
    Monotonic now{};
    ClientSession session(
        {"c.test",
         "mx[192.0.2.1]",
         flavour & 16 ? ClientSession::Pipelining::never : ClientSession::Pipelining::if_offered,
         flavour & 128 ? ClientSession::StartTls::always : ClientSession::StartTls::if_offered,
         {},
         {},
         flavour & 64 ? ClientSession::Auth{{SaslMechanism::login, SaslMechanism::plain, SaslMechanism::xoauth2},
                                            (flavour & 32) != 0}
                      : ClientSession::Auth{},
         (flavour & 2) != 0,
         flavour & 256 ? Protocol::lmtp : Protocol::smtp},
        now);
    static constexpr std::string_view content = "S: x\r\n\r\n.\r\n..\nb\rc";
    std::set<std::uint64_t> over;
    std::string ends; // a '.' once any final dot was written
    std::uint64_t handed = 0;
    bool ended = false;
    auto pump = [&] {
        for (bool more = true; more;) {
            more = false;
            while (auto event = session.next()) {
                assert(!ended);
                if (std::holds_alternative<client_event::StartTls>(*event)) {
                    if (flavour & 8)
                        session.tls_failed("no", now);
                    else
                        session.tls_up(ClientSession::Peer::verified, now);
                }
                if (auto* auth = std::get_if<client_event::AuthRequested>(&*event); auth && !session.over()) {
                    if (flavour & 8)
                        session.auth_failed("4.7.8", "no", now);
                    else
                        session.authenticate({auth->mechanism, "u", Secret("password")}, now);
                }
                if (auto* wanted = std::get_if<client_event::ContentRequested>(&*event); wanted && !session.over()) {
                    if (wanted->from_start && !(flavour & 32)) session.content(content, now);
                    session.content_end(now, flavour & 1024 ? content : std::string_view());
                    ends = ".";
                }
                if (auto* finished = std::get_if<client_event::Finished>(&*event))
                    note(run, over, finished->result, ends, flavour);
                if (auto* last = std::get_if<client_event::Ended>(&*event)) {
                    ended = true;
                    if (last->interrupted) note(run, over, *last->interrupted, ends, flavour);
                    run.log += last->orderly ? "!" : "?" + last->why.text;
                }
            }
            while (handed < 3 && session.can_deliver())
                session.deliver(transaction(++handed, flavour), now), more = true;
            std::vector<std::string_view> views;
            session.output(views);
            std::size_t size = 0;
            for (auto v : views) run.sent.append(v), size += v.size();
            session.wrote(size, now);
            more = more || size > 0;
        }
    };
    pump();
    for (; !wire.empty(); wire.remove_prefix(std::min(step, wire.size()))) {
        session.feed(wire.substr(0, step), now);
        pump();
    }
    if (!session.over()) {
        if (flavour & 64)
            session.end_of_input(now);
        else if (auto deadline = session.next_deadline())
            session.expired(*deadline);
        else
            session.quit(now);
        pump();
    }
    assert(session.over() && ended);
    for (std::size_t i = 0; i < run.sent.size(); ++i) {
        if (run.sent[i] == '\n') assert(i > 0 && run.sent[i - 1] == '\r');
        if (run.sent[i] == '\r') assert(i + 1 < run.sent.size() && run.sent[i + 1] == '\n');
    }
    return run;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const unsigned flavour = data[0] | data[1] << 8;
    const std::string_view wire(reinterpret_cast<const char*>(data + 2), size - 2);
    // The outcomes may differ: a reply that comes unasked is told from the next one's only by when it comes.
    for (std::size_t step : {size, std::size_t{7}, std::size_t{1}}) play(wire, flavour, step);
    return 0;
}
