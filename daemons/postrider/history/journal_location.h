// The journal that a command reads: its directory, opened, and how far it may be read.
#pragma once
#include "daemons/common/history/address_hash.h"
#include "daemons/common/terminal/arguments.h"
#include "libsmtp/text/time_types.h"
#include "libspool/disk/real_disk.h"
#include "libspool/journal/segments/segment_blocks.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace postrider {

struct JournalLocation {
    std::string path; // for messages
    std::string spool;
    smtp::Duration keep_failed; // history.keep_failed
    std::unique_ptr<spool::RealDisk> disk;
    static constexpr const char* directory = "."; // on that disk

    // The highest number that may be read: what is on stable storage; with `all`, whatever is there.
    spool::Result<std::uint64_t> through(bool all) const;
    // With which addresses are hashed in it; nothing: they never were.
    spool::Result<std::optional<history::AddressHash>> address_hash() const;
};

// Opens it. An error is printed; `status` is then the exit status.
std::optional<JournalLocation> open_journal(const Arguments& arguments, int& status);
// Reports that reading it failed; returns the exit status.
int report_journal_error(const JournalLocation& journal, const spool::Error& error);
// "…/00000000000000000001.jsonl.zst at byte 1234: cannot be decompressed"
std::string text_of(const JournalLocation& journal, const spool::Damage& damage);

} // namespace postrider
