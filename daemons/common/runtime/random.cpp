#include "daemons/common/runtime/random.h"
#include <cstdlib>
#include <sys/random.h>

namespace common {

std::string random_bytes(std::size_t size) {
    std::string bytes(size, '\0');
    if (getrandom(bytes.data(), size, 0) != static_cast<ssize_t>(size)) std::abort();
    return bytes;
}

} // namespace common
