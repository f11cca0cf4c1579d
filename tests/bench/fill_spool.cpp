// fill-spool DIRECTORY COUNT DUE_PERCENT: a spool as a long outage leaves it, for benchmarks: COUNT messages
// of one recipient each that were tried once; so many of them are due at once, the others in one to seven
// hours. Files as the queue-manager would have left them, but never synced. Not installed.
#include "libspool/content_scan.h"
#include "libspool/layout.h"
#include "libspool/property.h"
#include "libspool/queue_id_source.h"
#include "libspool/real_disk.h"
#include "libspool/record.h"
#include "libspool/store.h"
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>

using namespace spool;

namespace {

constexpr std::uint64_t slot = 200; // no writer of the MTA has it

std::string file_of(QueueId id, smtp::WallTime arrival, smtp::WallTime next_attempt, std::uint64_t number) {
    Envelope envelope;
    envelope.reverse_path = "sender@bench.example";
    envelope.recipients = {
        {.address = fmt::format("user{}@d{}.example", number, number % 100), .fate = Fate::remote}};
    envelope.arrival = arrival;
    envelope.origin = Origin::client;
    envelope.submitter = "net:127.0.0.0/24 bench.example";
    envelope.client_address = "127.0.0.1";
    envelope.protocol = "ESMTP";
    auto content =
        fmt::format("From: sender@bench.example\r\nTo: user{}@bench.example\r\nSubject: number {}\r\n\r\n",
                    number, number);
    content.append(1000, 'x').append("\r\n");
    ContentScan scan;
    scan.append(content);

    std::string record;
    const auto payload = encode(envelope);
    append_record(record, id, {envelope_type, 0, true, 0, payload});
    FileHeader header;
    header.id = id;
    header.envelope_size = static_cast<std::uint32_t>(record.size());
    header.content_offset = header_size + record.size();
    header.content = scan.facts();
    auto bytes = encode_header(header);
    bytes.resize(header_size, '\0');
    bytes += record + content;
    const Property tried =
        Attempt{.recipients = {0},
                .time = arrival,
                .host = "127.0.0.1[127.0.0.1]:2600",
                .reply = {0, "4.4.1", "connect to 127.0.0.1[127.0.0.1]:2600: Connection refused", {}},
                .outcome = Outcome::deferred,
                .next_attempt = next_attempt,
                .failures = 1};
    const auto tried_payload = encode(tried);
    append_record(bytes, id, {type_of(tried), 1, false, 0, tried_payload});
    return bytes;
}

Result<> fill(const std::string& directory, std::uint64_t count, std::uint64_t due_percent) {
    auto disk = TRY(RealDisk::open_at(directory));
    TRY(prepare_spool(*disk, {}));
    const auto now = std::chrono::time_point_cast<smtp::Duration>(std::chrono::system_clock::now());
    const auto first = tick_of(now - std::chrono::hours(24));
    constexpr auto day = std::chrono::hours(24);
    for (std::uint64_t n = 0; n < count; ++n) {
        const auto arrival = now - day + day * n / count;
        const QueueId id{(first + n * ((tick_of(now) - first) / count)) << 8 | slot};
        const bool due = n * 7919 % 100 < due_percent;
        const auto wait = std::chrono::seconds(3600 + n * 104'729 % 21'600);
        const auto bytes =
            file_of(id, std::chrono::time_point_cast<smtp::Duration>(arrival), due ? now : now + wait, n);
        const auto file = TRY(disk->open(path_of(id, Location::messages), Open::create));
        const std::string_view part = bytes;
        TRY(disk->write(file, 0, {&part, 1}));
    }
    return {};
}

} // namespace

int main(int argc, char** argv) {
    const auto count = argc == 4 ? std::strtoull(argv[2], nullptr, 10) : 0;
    if (count == 0) {
        fmt::print(stderr, "usage: fill-spool DIRECTORY COUNT DUE_PERCENT\n");
        return 64;
    }
    const auto done = fill(argv[1], count, std::strtoull(argv[3], nullptr, 10));
    if (!done) fmt::print(stderr, "fill-spool: {}\n", done.error().what);
    return done ? 0 : 71;
}
