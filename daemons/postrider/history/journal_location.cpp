#include "daemons/postrider/history/journal_location.h"
#include "daemons/common/config/sections/system/history.h"
#include "daemons/common/terminal/exit_status.h"
#include "daemons/common/terminal/load_config.h"
#include "daemons/common/terminal/output.h"
#include <cerrno>
#include <fmt/format.h>
#include <limits>

namespace postrider {

std::optional<JournalLocation> open_journal(const Arguments& arguments, int& status) {
    const auto config = load_effective_config(arguments);
    if (!config) {
        status = bad_config;
        return {};
    }
    JournalLocation journal{.path = config->history.path(config->spool.directory),
                            .spool = config->spool.directory,
                            .keep_failed = config->history.keep_failed,
                            .disk = nullptr};
    auto disk = spool::RealDisk::open_at(journal.path);
    if (!disk && disk.error().code == ENOENT) {
        status = fail(not_found, fmt::format("there is no journal in {}: it is created when the mail system starts "
                                             "with history.enabled",
                                             journal.path));
        return {};
    }
    if (!disk) {
        status = report_journal_error(journal, disk.error());
        return {};
    }
    journal.disk = *std::move(disk);
    return journal;
}

spool::Result<std::uint64_t> JournalLocation::through(bool all) const {
    if (all) return std::numeric_limits<std::uint64_t>::max();
    return TRY(spool::published_number(*disk, directory)).value_or(0);
}

spool::Result<std::optional<history::AddressHash>> JournalLocation::address_hash() const {
    auto secret = TRY(history::read_address_secret(*disk, directory));
    return secret ? std::optional(history::AddressHash(*std::move(secret))) : std::nullopt;
}

int report_journal_error(const JournalLocation& journal, const spool::Error& error) {
    if (error.code == EACCES || error.code == EPERM)
        return fail(no_permission, fmt::format("journal {}: {}: run the command as root", journal.path, error.what));
    return fail(disk_error, fmt::format("journal {}: {}", journal.path, error.what));
}

std::string text_of(const JournalLocation& journal, const spool::Damage& damage) {
    return fmt::format("{}/{} at byte {}: {}", journal.path, damage.file, damage.offset, damage.why);
}

} // namespace postrider
