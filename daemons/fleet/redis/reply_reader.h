// Reads the store's replies from the bytes of a connection, by hiredis' parser. The store is not trusted: a reply that
// is too large, nested too deeply, has too many elements or is none makes the reader fail, and nothing else. Pure.
#pragma once
#include "daemons/fleet/redis/reply.h"
#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct redisReader;
struct redisReadTask;

namespace fleet::redis {

class ReplyReader {
public:
    static constexpr std::size_t largest_reply = 8UL << 20; // bytes as they arrive
    static constexpr std::size_t most_elements = 50'000;    // of a reply, at all depths
    static constexpr std::size_t deepest = 5;               // lists in lists

    ReplyReader();
    ~ReplyReader();
    ReplyReader(const ReplyReader&) = delete;
    ReplyReader& operator=(const ReplyReader&) = delete;

    // Then call next() until it has nothing more.
    void feed(std::string_view bytes);
    // The next complete reply; nothing: more bytes are needed. An error is final.
    std::expected<std::optional<Reply>, std::string> next();

private:
    struct Parser; // what hiredis calls
    Reply* place_for(const redisReadTask* task, Reply::Kind kind);
    std::size_t received() const; // bytes of the reply that is incomplete

    std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
    std::unique_ptr<Reply> root_; // of the reply that is being read
    std::size_t elements_ = 0;
    std::size_t fed_ = 0, begun_ = 0; // bytes in all; where the incomplete reply begins
    std::string problem_;             // "": none so far
};

} // namespace fleet::redis
