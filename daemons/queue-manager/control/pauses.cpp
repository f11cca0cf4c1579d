#include "daemons/queue-manager/control/pauses.h"
#include "libspool/disk/durable_file.h"
#include "libspool/format/record.h"
#include <algorithm>
#include <array>

namespace queue_manager {

namespace {

constexpr spool::QueueId file_id{1}; // what seeds the records' checksums
constexpr std::uint16_t pause_type = 5;
constexpr char path[] = "pauses";
constexpr std::array<std::string_view, 4> scope_words = {"everything", "link", "queue", "pool"};

struct End { // the last record: detects a truncated file
    std::uint32_t count = 0;
    static void fields(auto& m, auto& f) { f(1, m.count); }
};
constexpr std::uint16_t end_type = 6;

} // namespace

std::string_view word_of(decide::queue::Scope scope) { return scope_words[static_cast<std::size_t>(scope)]; }

std::optional<decide::queue::Scope> scope_of(std::string_view word) {
    const auto found = std::ranges::find(scope_words, word);
    if (found == scope_words.end()) return {};
    return static_cast<decide::queue::Scope>(found - scope_words.begin());
}

const Pause* find(const Pauses& pauses, decide::queue::Scope scope, std::string_view name) {
    const auto found =
        std::ranges::find_if(pauses, [&](const Pause& each) { return each.scope == scope && each.name == name; });
    return found == pauses.end() ? nullptr : &*found;
}

spool::Result<> save(spool::Disk& disk, const Pauses& pauses) {
    std::string bytes;
    std::uint32_t sequence = 1;
    const auto put = [&](std::uint16_t type, const auto& value) {
        const auto payload = spool::fields::Writer::bytes_of(value);
        spool::append_record(bytes, file_id, spool::Record{type, sequence++, true, 0, payload});
    };
    for (const Pause& each : pauses) put(pause_type, each);
    put(end_type, End{static_cast<std::uint32_t>(pauses.size())});
    return spool::replace_durably(disk, path, bytes);
}

spool::Result<Pauses> load_pauses(spool::Disk& disk) {
    auto file = disk.open(path, spool::Open::read);
    if (!file && file.error().code == ENOENT) return Pauses{};
    if (!file) return std::unexpected(std::move(file).error());
    std::string bytes(static_cast<std::size_t>(TRY(disk.size(*file))), '\0');
    bytes.resize(TRY(disk.read(*file, 0, bytes)));
    const auto damaged = [] { return std::unexpected(spool::Error{EBADMSG, "the file pauses is damaged"}); };
    const auto log = spool::parse_log(bytes, file_id, 1);
    if (log.torn_tail || log.lost != 0 || !log.damage.empty() || log.records.empty()) return damaged();
    const auto end = spool::fields::read<End>(log.records.back().payload, "pauses");
    if (log.records.back().type != end_type || !end || end->count != log.records.size() - 1) return damaged();
    Pauses pauses;
    for (std::size_t n = 0; n + 1 < log.records.size(); ++n) {
        auto pause = spool::fields::read<Pause>(log.records[n].payload, "pauses");
        if (log.records[n].type != pause_type || !pause) return damaged();
        pauses.push_back(std::move(*pause));
    }
    return pauses;
}

} // namespace queue_manager
