// Chooses the address of a pool that a connection goes out from. Pure: the caller says which addresses are backing off
// or were refused, and passes chance as a number; knows no addresses.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace decide {

enum class SourceState : std::uint8_t {
    ready,
    backing_off,  // the site refused it lately: only if no ready one is left
    refused,      // by the very server that is to be reached: not again
    wrong_family, // of the wrong family for it
};

struct SourceOption {
    std::uint32_t weight = 1; // its share of connections, against the others'
    SourceState state = SourceState::ready;
};

// The index of one of them; nothing: none is left. `chance`: any number, each as likely as the others.
std::optional<std::size_t> choose_source(std::span<const SourceOption> options, std::uint64_t chance);

} // namespace decide
