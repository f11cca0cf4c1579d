// The keys of the journal.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/system/history.h"

namespace config {

Section section_for(History& s) {
    return {
        "history",
        "Journal of what became of every message, for \"postrider history\"; see postrider-history(7).",
        {
            {"enabled", BoolKey{&s.enabled}, "Whether the journal is written.", ""},
            {"directory", any_text(s.directory),
             "Directory of the journal. The default is history in the spool directory.",
             "\"/var/lib/postrider/history\""},
            {"keep", DurationKey{&s.keep, 0s, 24h * 3650},
             "How long events are kept. A segment, which has at most an hour of them, is removed when its last event "
             "is older than this. 0: no limit.",
             ""},
            {"size", SizeKey{&s.size, 0, 1024 * 1024 * GiB},
             "Maximum size of the journal on disk. Beyond it the oldest segments are removed. 0: no limit.", ""},
        }};
}

} // namespace config
