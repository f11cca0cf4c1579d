// The keys of a segment's index: hashes of what events are found by, made with a secret of the node, so that strangers
// cannot choose values that collide. 40 bits: two values with the same hash cost the reading of one block more. Pure.
#pragma once
#include "daemons/common/history/history_query.h"
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct evp_mac_st;
struct evp_mac_ctx_st;

namespace history {

using IndexKey = std::uint64_t;
inline constexpr unsigned index_key_bits = 40;
inline constexpr std::size_t index_secret_size = 16;

class IndexHash {
public:
    // `secret`: index_secret_size bytes.
    explicit IndexHash(std::string_view secret);

    // All keys of an event: at most most_keys.
    void keys_of(const nlohmann::json& event, std::vector<IndexKey>& into) const;
    // A match of the term has one of these. Nothing: the index does not help with it.
    std::optional<std::vector<IndexKey>> keys_of(const QueryTerm& term) const;
    IndexKey key_of_id(std::string_view id) const { return hash('i', lowered(id)); }
    // Of the secret itself: an index made with another one is of no use.
    IndexKey check() const { return hash('?', ""); }
    static constexpr std::size_t most_keys = 512;

private:
    IndexKey hash(char kind, std::string_view value) const;
    struct Free {
        void operator()(evp_mac_ctx_st* context) const;
    };
    std::string secret_;
    std::unique_ptr<evp_mac_ctx_st, Free> context_;
};

} // namespace history
