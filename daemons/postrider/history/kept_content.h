// Whether the content of a message that is no longer queued is kept (failed/), and until when. Knows the directory;
// must not know how it is sent again.
#pragma once
#include "daemons/postrider/history/journal_location.h"
#include <cstdint>
#include <string>

namespace postrider {

// In seconds since 1970; it goes earlier if history.keep_failed_size is exceeded. 0: it is not kept, or that cannot be
// told.
std::int64_t content_kept_until(const JournalLocation& journal, const std::string& id);

} // namespace postrider
