#include "daemons/common/read_file.h"
#include <fstream>
#include <iterator>

namespace common {

spool::Result<std::string> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file || file.bad()) return std::unexpected(spool::Error::from_errno("read " + path));
    return text;
}

} // namespace common
