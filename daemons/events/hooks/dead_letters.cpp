#include "daemons/events/hooks/dead_letters.h"
#include "libspool/journal/json_object.h"
#include <fmt/format.h>

namespace events {

std::string dead_file(const std::string& hook) { return hook + ".jsonl"; }

std::string encode(const DeadLetter& letter) {
    std::string out;
    spool::journal::JsonObject object(out);
    object.text("time", letter.time);
    object.text("reason", letter.reason);
    object.members(R"("event":)" + letter.event.line);
    object.close();
    return out + "\n";
}

// A line without an end, which a power cut has left, stays one of its own.
spool::Result<> append_dead_letter(spool::Disk& disk, const std::string& hook, const DeadLetter& letter) {
    TRY(disk.make_directory(dead_directory, 0700));
    const auto path = std::string(dead_directory) + "/" + dead_file(hook);
    const auto file = TRY(disk.open(path, spool::Open::upsert));
    const auto size = TRY(disk.size(file));
    const auto text = encode(letter);
    if (size + text.size() > largest_dead_file)
        return std::unexpected(spool::Error{EFBIG, fmt::format("dead/{} has reached {} MiB: remove or rename it",
                                                               dead_file(hook), largest_dead_file >> 20)});
    char last = '\n';
    if (size > 0) static_cast<void>(TRY(disk.read(file, size - 1, {&last, 1})));
    const std::string_view parts[] = {last == '\n' ? "" : "\n", text};
    TRY(disk.write(file, size, parts));
    TRY(disk.sync(file));
    return disk.sync(TRY(disk.open(dead_directory, spool::Open::directory)));
}

} // namespace events
