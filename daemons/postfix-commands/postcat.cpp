// postcat(1): a message as the spool has it, by queue id or file name: envelope, header, body.
#include "daemons/postfix-commands/command.h"
#include "libspool/message_reader.h"
#include "libspool/real_disk.h"
#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <sysexits.h>

namespace postfix_commands {

namespace {

std::string time_text(smtp::WallTime time) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(
        std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(
            time.time_since_epoch())));
    std::tm local{};
    ::localtime_r(&seconds, &local);
    char text[64];
    std::strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &local);
    return text;
}

struct Parts {
    bool envelope, header, body;
};

void print_envelope(const spool::MessageReader& message, const std::string& name) {
    const auto& state = message.state();
    const auto& envelope = state.envelope;
    fmt::print("*** ENVELOPE RECORDS {} ***\n", name);
    fmt::print("message_size: {:>15}\n", message.size());
    fmt::print("message_arrival_time: {}\n", time_text(envelope.arrival));
    const auto attribute = [](std::string_view key, std::string_view value) {
        if (!value.empty()) fmt::print("named_attribute: {}={}\n", key, value);
    };
    attribute("log_client_name", envelope.client_name);
    attribute("log_client_address", envelope.client_address);
    attribute("log_helo_name", envelope.helo);
    attribute("log_protocol_name", envelope.protocol);
    attribute("envelope_id", envelope.envid);
    fmt::print("sender: {}\n", envelope.reverse_path);
    for (const auto& recipient : state.recipients) {
        const auto& original = state.envelope_of(recipient).address;
        if (original != recipient.address) fmt::print("original_recipient: {}\n", original);
        fmt::print("{}: {}\n", recipient.accounted_for() ? "done_recipient" : "recipient", recipient.address);
    }
}

// False: it cannot be read; `why`.
bool print_content(spool::MessageReader& message, Parts parts, std::string& why) {
    const auto body = message.content().body_offset;
    const auto begin = parts.header ? 0 : body, end = parts.body ? message.size() : body;
    for (std::uint64_t at = 0; at < end;) {
        const auto piece = message.piece(at);
        if (!piece) return why = spool::text_of(piece.error()), false;
        if (piece->empty()) break;
        auto shown = *piece;
        if (at + shown.size() > end) shown = shown.substr(0, static_cast<std::size_t>(end - at));
        if (at < begin) shown.remove_prefix(std::min<std::size_t>(shown.size(), begin - at));
        for (const char c : shown) // lines of a file, not of the wire
            if (c != '\r') std::fputc(c, stdout);
        at += piece->size();
    }
    return true;
}

} // namespace

int postcat(const Call& call) {
    Parts parts{call.has('e'), call.has('h'), call.has('b')};
    if (!parts.envelope && !parts.header && !parts.body) parts = {true, true, true};
    if (call.words.empty()) return EX_USAGE;
    const auto config = load_config(call);
    if (!config) return EX_CONFIG;
    const bool by_id = call.has('q');
    auto disk = spool::RealDisk::open_at(by_id ? config->spool.directory : ".");
    if (!disk) return fatal(call, EX_NOPERM, disk.error().what);
    for (const auto& word : call.words) {
        const auto id = spool::QueueId::parse(word);
        if (by_id && !id) return fatal(call, EX_DATAERR, "bad mail queue ID: " + word);
        auto message = by_id ? spool::MessageReader::open(**disk, *id, spool::Location::messages, spool::ReadLock::none)
                             : spool::MessageReader::open_path(**disk, word);
        if (!message) return fatal(call, EX_NOINPUT, fmt::format("open {}: {}", word, spool::text_of(message.error())));
        if (parts.envelope) {
            print_envelope(*message, word);
            if (parts.header || parts.body) fmt::print("*** MESSAGE CONTENTS {} ***\n", word);
        }
        std::string why;
        if ((parts.header || parts.body) && !print_content(*message, parts, why))
            return fatal(call, EX_DATAERR, fmt::format("{}: {}", word, why));
        if (parts.envelope)
            fmt::print("*** HEADER EXTRACTED {} ***\n*** MESSAGE FILE END {} ***\n", word, word);
    }
    return std::fflush(stdout) == 0 ? EX_OK : EX_IOERR;
}

} // namespace postfix_commands
