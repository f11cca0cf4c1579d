#include "libspool/disk/quarantine.h"
#include "libspool/disk/not_a_file.h"

namespace spool {

Result<std::string> quarantine_file(Disk& disk, const std::string& path, const std::string& directory,
                                    const std::string& name, const std::string& why) {
    std::string to = directory + "/" + name;
    for (int n = 1;; ++n) {
        const auto taken = disk.open(to, Open::read);
        if (!taken && taken.error().code == ENOENT) break;
        if (!taken && !is_not_a_file(taken.error())) return std::unexpected(taken.error());
        to = directory + "/" + name + "." + std::to_string(n);
    }
    TRY(disk.rename(path, to));
    if (auto note = disk.open(to + ".why", Open::create)) {
        const std::string line = path + ": " + why + "\n";
        const std::string_view part = line;
        (void)disk.write(*note, 0, {&part, 1});
    }
    return to;
}

} // namespace spool
