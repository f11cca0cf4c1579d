#include "daemons/fleet/redis/reply_reader.h"
#include <cassert>
#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <hiredis/read.h>

namespace fleet::redis {

#if HIREDIS_MAJOR >= 1
using ElementCount = std::size_t;
#else
using ElementCount = int;
#endif

// hiredis passes a task with the reader's own data, and keeps what is returned without looking into it. Null stops it.
struct ReplyReader::Parser {
    static ReplyReader& reader_of(const redisReadTask* task) { return *static_cast<ReplyReader*>(task->privdata); }

    static void* text(const redisReadTask* task, char* bytes, std::size_t size) {
        const auto kind = task->type == REDIS_REPLY_ERROR    ? Reply::Kind::error
                          : task->type == REDIS_REPLY_STATUS ? Reply::Kind::status
                                                             : Reply::Kind::text;
        auto* place = reader_of(task).place_for(task, kind);
        if (place) place->text.assign(bytes, size);
        return place;
    }
    static void* list(const redisReadTask* task, ElementCount count) {
        auto& reader = reader_of(task);
        const auto wanted = static_cast<std::size_t>(count);
        std::size_t depth = 1;
        for (const auto* above = task->parent; above; above = above->parent) ++depth;
        if (depth > deepest) reader.problem_ = fmt::format("a reply with lists nested deeper than {}", deepest);
        if (wanted > most_elements || (reader.elements_ += wanted) > most_elements)
            reader.problem_ = fmt::format("a reply with more than {} elements", most_elements);
        if (!reader.problem_.empty()) return nullptr;
        auto* place = reader.place_for(task, Reply::Kind::list);
        if (place) place->elements.resize(wanted); // once: pointers into it stay valid
        return place;
    }
    static void* integer(const redisReadTask* task, long long number) {
        auto* place = reader_of(task).place_for(task, Reply::Kind::integer);
        if (place) place->number = number;
        return place;
    }
    static void* nil(const redisReadTask* task) { return reader_of(task).place_for(task, Reply::Kind::nil); }
    static void free(void*) {} // the root is the reader's

#if HIREDIS_MAJOR >= 1 // of a version of the protocol that is not asked for
    static void* fraction(const redisReadTask*, double, char*, std::size_t) { return nullptr; }
    static void* truth(const redisReadTask*, int) { return nullptr; }
#endif
    static redisReplyObjectFunctions functions() {
        redisReplyObjectFunctions out{};
        out.createString = text;
        out.createArray = list;
        out.createInteger = integer;
        out.createNil = nil;
        out.freeObject = free;
#if HIREDIS_MAJOR >= 1
        out.createDouble = fraction;
        out.createBool = truth;
#endif
        return out;
    }
};

ReplyReader::ReplyReader() : reader_(nullptr, redisReaderFree) {
    static redisReplyObjectFunctions functions = Parser::functions();
    reader_.reset(redisReaderCreateWithFunctions(&functions));
    assert(reader_ && "out of memory");
    reader_->privdata = this;
}

ReplyReader::~ReplyReader() = default;

Reply* ReplyReader::place_for(const redisReadTask* task, Reply::Kind kind) {
    Reply* place = nullptr;
    if (task->parent) {
        auto& siblings = static_cast<Reply*>(task->parent->obj)->elements;
        const auto number = static_cast<std::size_t>(task->idx);
        if (number >= siblings.size()) return nullptr;
        place = &siblings[number];
    } else {
        root_ = std::make_unique<Reply>();
        place = root_.get();
    }
    place->kind = kind;
    return place;
}

std::size_t ReplyReader::received() const { return fed_ - begun_; }

void ReplyReader::feed(std::string_view bytes) {
    if (!problem_.empty() || bytes.empty()) return;
    fed_ += bytes.size();
    if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) problem_ = reader_->errstr;
}

std::expected<std::optional<Reply>, std::string> ReplyReader::next() {
    if (!problem_.empty()) return std::unexpected(problem_);
    void* found = nullptr;
    if (redisReaderGetReply(reader_.get(), &found) != REDIS_OK) {
        if (problem_.empty()) problem_ = fmt::format("not a valid reply: {}", reader_->errstr);
        return std::unexpected(problem_);
    }
    if (!found) {
        if (received() > largest_reply) {
            problem_ = fmt::format("a reply of more than {} bytes", largest_reply);
            return std::unexpected(problem_);
        }
        return std::optional<Reply>();
    }
    begun_ = fed_ - (reader_->len - reader_->pos);
    elements_ = 0;
    std::optional<Reply> out(std::move(*root_));
    root_.reset();
    return out;
}

} // namespace fleet::redis
