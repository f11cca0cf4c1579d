// postcat(1): a message as the spool has it, by queue id or file name: envelope, header, body.
#include "daemons/postfix-commands/command.h"
#include "libspool/disk/real_disk.h"
#include "libspool/message/message_reader.h"
#include <algorithm>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <sysexits.h>

namespace postfix_commands {

namespace {

std::string time_text(smtp::WallTime time) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(time.time_since_epoch())));
    std::tm local{};
    ::localtime_r(&seconds, &local);
    char text[64];
    std::strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &local);
    return text;
}

struct Parts {
    bool envelope, header, body;
    bool marked; // each line says what it is
};

// The content as lines of a file, not of the wire: those of the parts that are wanted. The empty line between
// header and body is the body's.
class ContentPrinter {
public:
    explicit ContentPrinter(Parts parts) : parts_(parts) {}

    bool done() const { return in_body_ && !parts_.body; }

    void print(std::string_view piece) {
        for (const char c : piece) {
            if (c == '\r') continue;
            if (line_begins_ && c == '\n') in_body_ = true;
            if (in_body_ ? parts_.body : parts_.header) {
                if (line_begins_ && parts_.marked) std::fputs("regular_text: ", stdout);
                std::fputc(c, stdout);
            }
            line_begins_ = c == '\n';
        }
    }

private:
    Parts parts_;
    bool line_begins_ = true, in_body_ = false;
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
    if (envelope.client_port != 0) attribute("log_client_port", std::to_string(envelope.client_port));
    attribute("log_helo_name", envelope.helo);
    attribute("log_protocol_name", envelope.protocol);
    attribute("sasl_method", envelope.sasl_method);
    attribute("sasl_username", envelope.sasl_user);
    attribute("envelope_id", envelope.envid);
    fmt::print("sender: {}\n", envelope.reverse_path);
    for (const auto& recipient : state.recipients) {
        const auto& original = state.envelope_of(recipient).address;
        fmt::print("original_recipient: {}\n", original);
        fmt::print("{}: {}\n", recipient.accounted_for() ? "done_recipient" : "recipient", recipient.address);
    }
}

// False: it cannot be read; `why`.
bool print_content(spool::MessageReader& message, Parts parts, std::string& why) {
    ContentPrinter printer(parts);
    for (std::uint64_t at = 0; at < message.size() && !printer.done();) {
        const auto piece = message.piece(at);
        if (!piece) {
            why = spool::text_of(piece.error());
            return false;
        }
        if (piece->empty()) break;
        printer.print(*piece);
        at += piece->size();
    }
    return true;
}

std::string reason_of(const spool::ReadError& error) {
    const auto* io_error = std::get_if<spool::Error>(&error);
    return io_error != nullptr && io_error->code != 0 ? std::strerror(io_error->code) : spool::text_of(error);
}

} // namespace

int postcat(const Invocation& invocation) {
    Parts parts{invocation.has('e'), invocation.has('h'), invocation.has('b'), invocation.has('v')};
    if (!parts.envelope && !parts.header && !parts.body) parts.envelope = parts.header = parts.body = true;
    if (invocation.words.empty()) return EX_USAGE;
    const auto config = load_effective_config(invocation);
    if (!config) return invocation.failure_status;
    const bool by_id = invocation.has('q');
    auto disk = spool::RealDisk::open_at(by_id ? config->spool.directory : ".");
    if (!disk) return fatal(invocation, disk.error().what);
    for (const auto& word : invocation.words) {
        const auto id = spool::QueueId::parse(word);
        if (by_id && !id) return fatal(invocation, "bad mail queue ID: " + word);
        auto message = by_id ? spool::MessageReader::open(**disk, *id, spool::Location::messages, spool::ReadLock::none)
                             : spool::MessageReader::open_path(**disk, word);
        if (!message)
            return fatal(invocation,
                         fmt::format("open {}{}: {}", by_id ? "queue file " : "", word, reason_of(message.error())));
        if (parts.envelope) {
            print_envelope(*message, word);
            if (parts.header || parts.body) fmt::print("*** MESSAGE CONTENTS {} ***\n", word);
        }
        std::string why;
        if ((parts.header || parts.body) && !print_content(*message, parts, why))
            return fatal(invocation, fmt::format("{}: {}", word, why));
        if (parts.envelope) fmt::print("*** HEADER EXTRACTED {} ***\n*** MESSAGE FILE END {} ***\n", word, word);
    }
    return std::fflush(stdout) == 0 ? EX_OK : invocation.failure_status;
}

} // namespace postfix_commands
