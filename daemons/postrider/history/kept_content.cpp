#include "daemons/postrider/history/kept_content.h"
#include "libspool/format/layout.h"
#include "libspool/format/queue_id.h"
#include <chrono>
#include <sys/stat.h>

namespace postrider {

std::int64_t content_kept_until(const JournalLocation& journal, const std::string& id) {
    const auto queue_id = spool::QueueId::parse(id);
    if (!queue_id) return 0;
    struct stat st;
    if (::lstat((journal.spool + "/" + spool::path_of_failed(*queue_id)).c_str(), &st) != 0) return 0;
    return st.st_ctime + std::chrono::ceil<std::chrono::seconds>(journal.keep_failed).count();
}

} // namespace postrider
