#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/system/history.h"

namespace config {

using namespace std::chrono_literals;

Section section_for(History& s) {
    return {
        "history",
        "The journal, postrider-journal(5): what became of every message. It is on stable storage before the message "
        "leaves the spool. It names senders, recipients and servers, but has no content of mail.",
        {
            {"enabled", BoolKey{&s.enabled}, "Whether the journal is written. Applied at start.", ""},
            {"directory", any_text(s.directory),
             "Directory of the journal; \"\" means history/ in the spool directory. Another one must exist, belong to "
             "the user mta.user, and be on a local file system. Applied at start.",
             ""},
            {"sync", DurationKey{&s.sync, 1ms, 10s},
             "Interval at which new lines are written and synced, if there are any. It is also how long a finished "
             "message stays in the spool: if all processes are killed during this time, its last recipients may be "
             "served a second time.",
             ""},
        }};
}

} // namespace config
