// fill-spool DIRECTORY COUNT DUE_PERCENT [SIZE]: a spool as an outage leaves it, for benchmarks: COUNT messages
// of one recipient and SIZE bytes each (1000 if not said) that came in the last two hours and were tried once; so
// many of them are due at once, the others in one to seven hours. Files as the queue-manager would have left
// them, but never synced. Not installed.
#include "libspool/disk/real_disk.h"
#include "libspool/format/content_scan.h"
#include "libspool/format/layout.h"
#include "libspool/format/property.h"
#include "libspool/format/record.h"
#include "libspool/store/queue_id_source.h"
#include "libspool/store/store.h"
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>

using namespace spool;

namespace {

constexpr std::uint64_t slot = 200; // no writer of the MTA has it

std::string file_of(QueueId id, smtp::WallTime arrival, smtp::WallTime next_attempt, std::uint64_t number,
                    std::uint64_t size) {
    Envelope envelope;
    envelope.reverse_path = "sender@bench.example";
    envelope.recipients = {{.address = fmt::format("user{}@d{}.example", number, number % 100)}};
    envelope.arrival = arrival;
    envelope.origin = Origin::client;
    envelope.submitter = "net:127.0.0.0/24 bench.example";
    envelope.client_address = "127.0.0.1";
    envelope.protocol = "ESMTP";
    auto content = fmt::format("From: sender@bench.example\r\nTo: user{}@bench.example\r\nSubject: number {}\r\n\r\n",
                               number, number);
    for (; content.size() < size; content += "\r\n")
        content.append(std::min<std::size_t>(76, size - content.size()), 'x');
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
    const Property served = Categorized{.recipients = {0}, .fate = Fate::remote};
    const Property tried =
        Attempt{.recipients = {0},
                .time = arrival,
                .host = "127.0.0.1[127.0.0.1]:2600",
                .reply = {0, "4.4.1", "connect to 127.0.0.1[127.0.0.1]:2600: Connection refused", {}},
                .outcome = Outcome::deferred,
                .next_attempt = next_attempt,
                .failures = 1};
    std::uint32_t sequence = 0;
    for (const auto* each : {&served, &tried}) {
        const auto property = encode(*each);
        append_record(bytes, id, {type_of(*each), ++sequence, false, 0, property});
    }
    return bytes;
}

QueueId id_of(std::uint64_t tick) { return QueueId{tick << 8 | slot}; }

Result<File> create(Disk& disk, std::uint64_t tick) {
    return disk.open(path_of(id_of(tick), Location::messages), Open::create);
}

Result<> fill(const std::string& directory, std::uint64_t count, std::uint64_t due_percent, std::uint64_t size) {
    auto disk = TRY(RealDisk::open_at(directory));
    TRY(prepare_spool(*disk, {}));
    const auto now = std::chrono::time_point_cast<smtp::Duration>(std::chrono::system_clock::now());
    constexpr auto outage = std::chrono::hours(2);
    const auto first = tick_of(now - outage);
    for (std::uint64_t n = 0; n < count; ++n) {
        const auto arrival = now - outage + outage * n / count;
        const bool due = n * 7919 % 100 < due_percent;
        const auto wait = std::chrono::seconds(3600 + n * 104'729 % 21'600);
        auto tick = first + n * ((tick_of(now) - first) / count);
        auto file = create(*disk, tick);
        while (!file && file.error().code == EEXIST) file = create(*disk, ++tick); // by an earlier filling
        const auto bytes = file_of(id_of(tick), std::chrono::time_point_cast<smtp::Duration>(arrival),
                                   due ? now : now + wait, n, size);
        const std::string_view part = bytes;
        TRY(disk->write(TRY(std::move(file)), 0, {&part, 1}));
    }
    return {};
}

} // namespace

int main(int argc, char** argv) {
    const auto count = argc == 4 || argc == 5 ? std::strtoull(argv[2], nullptr, 10) : 0;
    if (count == 0) {
        fmt::print(stderr, "usage: fill-spool DIRECTORY COUNT DUE_PERCENT [SIZE]\n");
        return 64;
    }
    const auto done = fill(argv[1], count, std::strtoull(argv[3], nullptr, 10),
                           argc == 5 ? std::strtoull(argv[4], nullptr, 10) : 1000);
    if (!done) fmt::print(stderr, "fill-spool: {}\n", done.error().what);
    return done ? 0 : 71;
}
