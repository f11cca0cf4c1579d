// The addresses whose events are to be erased, and how far that has come: history/erasing, while there are any
// (libspool/FORMAT.md). Asked by operators, worked off by the journal's keeper, from any thread. What was asked for is
// done after any number of restarts. Blocking; knows the file, not segments.
#pragma once
#include "libspool/disk/disk.h"
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace events {

struct ErasureRequest {
    std::string address;                    // as given
    std::uint64_t through = 0;              // the last event that is concerned
    std::uint64_t next = 0;                 // segments whose numbers begin below are done
    std::uint64_t events = 0, segments = 0; // erased, and in how many segments
    std::uint64_t given_up = 0;             // of them in dead/ of hooks
    bool operator==(const ErasureRequest&) const = default;
};

// {"v":1,"requests":[…]} and a line end.
std::string encode(const std::vector<ErasureRequest>& requests);
// Nothing: it is no such file.
std::optional<std::vector<ErasureRequest>> decode_erasures(std::string_view text);

class Erasures {
public:
    static constexpr const char* file_name = "erasing";
    static constexpr std::size_t most = 100; // at a time; as many results are kept in memory

    // `directory` of the journal, as the disk sees it. Called before anything else, again after an error. A file that
    // cannot be understood is an error.
    spool::Result<> load(spool::Disk& disk, const std::string& directory);

    // It is on stable storage when this returns. An address that is being erased already covers more events then.
    // EAGAIN: there are too many.
    spool::Result<> add(spool::Disk& disk, const std::string& directory, const std::string& address,
                        std::uint64_t through);
    // The one that is worked on.
    std::optional<ErasureRequest> current() const;
    // How far the current one has come; with `finished`, it is done.
    enum class Progress : std::uint8_t { some, finished };
    spool::Result<> update(spool::Disk& disk, const std::string& directory, const ErasureRequest& current,
                           Progress progress);
    bool empty() const { return !current(); }

    struct State {
        ErasureRequest request;
        bool finished = false;
    };
    // Of this address, pending or finished since the process began.
    std::optional<State> state_of(std::string_view address) const;

private:
    spool::Result<> save(spool::Disk& disk, const std::string& directory,
                         const std::vector<ErasureRequest>& requests) const;

    mutable std::mutex mutex_;
    bool loaded_ = false;
    std::vector<ErasureRequest> pending_;
    std::deque<ErasureRequest> finished_;
};

} // namespace events
