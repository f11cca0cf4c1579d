#include "daemons/common/commands/queue_listing.h"
#include "daemons/common/net/local_socket.h"
#include "libsmtp/text/utf8.h"
#include <array>
#include <cstdio>
#include <ctime>
#include <fmt/format.h>
#include <poll.h>
#include <sysexits.h>
#include <unistd.h>
#include <utility>

namespace common {

namespace {

// Control characters as Postfix writes them in JSON; what is no UTF-8 becomes '?'.
std::string json_text(std::string_view text) {
    std::string out = "\"";
    const bool utf8 = smtp::is_utf8_text(text);
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\b')
            out += "\\b";
        else if (c == '\f')
            out += "\\f";
        else if (c == '\n')
            out += "\\n";
        else if (c == '\r')
            out += "\\r";
        else if (c == '\t')
            out += "\\t";
        else if (byte < 0x20 || byte == 0x7f)
            out += fmt::format("\\u{:04X}", byte);
        else if (byte >= 0x80 && !utf8)
            out += '?';
        else if (c == '"' || c == '\\')
            (out += '\\') += c;
        else
            out += c;
    }
    return out += '"';
}

} // namespace

void QueueListing::add(const proto::showq::Entry& entry) {
    if (form_ == Form::json) return add_json(entry);
    add_text(entry);
}

void QueueListing::add_json(const proto::showq::Entry& entry) {
    auto line = fmt::format("{{\"queue_name\": {}, \"queue_id\": {}, \"arrival_time\": {}, \"message_size\": {}, "
                            "\"forced_expire\": {}, \"sender\": {}, \"recipients\": [",
                            json_text(entry.queue), json_text(entry.queue_id), entry.arrived, entry.size,
                            entry.forced_expire, json_text(entry.sender));
    bool first = true;
    for (const auto& recipient : entry.recipients) {
        line +=
            fmt::format("{}{{\"address\": {}", std::exchange(first, false) ? "" : ", ", json_text(recipient.address));
        if (!recipient.reason.empty()) line += fmt::format(", \"delay_reason\": {}", json_text(recipient.reason));
        line += '}';
    }
    print_(line + "]}\n");
}

void QueueListing::add_text(const proto::showq::Entry& entry) {
    print_(messages_ == 0 ? "-Queue ID-  --Size-- ----Arrival Time---- -Sender/Recipient-------\n" : "\n");
    ++messages_;
    bytes_ += entry.size;
    auto id = entry.queue_id;
    if (entry.queue == "active") id += '*';
    if (entry.queue == "hold") id += '!';
    if (entry.forced_expire) id += '#';
    const std::time_t arrived = entry.arrived;
    std::tm local{};
    ::localtime_r(&arrived, &local);
    char when[64];
    std::strftime(when, sizeof when, "%a %b %e %H:%M:%S ", &local); // the first 20 bytes of asctime(3)
    print_(fmt::format("{:<11} {:>7} {:>20.20} {}\n", id, entry.size, when, entry.sender));
    std::string_view said; // a reason stands once before the recipients it holds for
    for (const auto& recipient : entry.recipients) {
        if (recipient.reason != said) {
            said = recipient.reason;
            const std::string_view reason = said.empty() ? "reason unavailable" : said;
            print_(fmt::format("{:>{}}({})\n", "", reason.size() < 76 ? 76 - reason.size() : 0, reason));
        }
        print_(fmt::format("{:<11} {:>7} {:<20} {}\n", "", "", "", recipient.address));
    }
}

void QueueListing::end() {
    if (form_ == Form::json) return;
    if (messages_ == 0) return print_("Mail queue is empty\n");
    print_(fmt::format("\n-- {} Kbytes in {} Request{}.\n", bytes_ / 1024, messages_, messages_ == 1 ? "" : "s"));
}

int list_queue(const std::string& path, QueueListing::Form form, std::string_view program) {
    auto socket = common::connect_local(path);
    if (!socket) {
        fmt::print(stderr, "{}: fatal: Queue report unavailable - mail system is down\n", program);
        return EX_UNAVAILABLE;
    }
    QueueListing listing(form, [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); });
    proto::showq::Decoder decoder([&](proto::showq::Entry&& entry) { listing.add(entry); });
    std::array<char, 65536> buffer;
    for (;;) {
        pollfd wait{socket->number(), POLLIN, 0};
        if (::poll(&wait, 1, 60'000) == 0) {
            fmt::print(stderr, "{}: fatal: the mail system does not answer\n", program);
            return EX_UNAVAILABLE;
        }
        const auto n = ::read(socket->number(), buffer.data(), buffer.size());
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        const auto progress = n > 0 ? decoder.feed({buffer.data(), static_cast<std::size_t>(n)})
                                    : proto::showq::Decoder::Progress::malformed;
        if (progress == proto::showq::Decoder::Progress::end) break;
        if (progress == proto::showq::Decoder::Progress::malformed) {
            fmt::print(stderr, "{}: fatal: malformed showq server response\n", program);
            return EX_SOFTWARE;
        }
    }
    listing.end();
    return std::fflush(stdout) == 0 ? EX_OK : EX_IOERR;
}

} // namespace common
