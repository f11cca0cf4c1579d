#include "daemons/fleet/redis/command.h"
#include <cassert>
#include <hiredis/hiredis.h>

namespace fleet::redis {

std::string bytes_of(const Command& command) {
    std::vector<const char*> words;
    std::vector<std::size_t> lengths;
    words.reserve(command.size());
    lengths.reserve(command.size());
    for (const auto& word : command) {
        words.push_back(word.data());
        lengths.push_back(word.size());
    }
    char* bytes = nullptr;
    const auto size = redisFormatCommandArgv(&bytes, static_cast<int>(words.size()), words.data(), lengths.data());
    assert(size > 0 && "out of memory");
    std::string out(bytes, static_cast<std::size_t>(size));
    redisFreeCommand(bytes);
    return out;
}

} // namespace fleet::redis
