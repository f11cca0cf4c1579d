// For scripts/soak history: a journal of so many messages, as a busy month would leave it. Segments are written, sealed
// and indexed one after the other by the code of the events process, and the speed and memory of that are printed; then
// how long questions take.
//
//   history-load DIRECTORY MESSAGES [SEGMENT_BYTES]
#include "daemons/common/history/history_search.h"
#include "daemons/events/journal_keeper.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

// Of this process: the work is done at idle priority, so that on a busy machine it takes as long as it takes.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
double seconds_since(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

class Generator {
public:
    Generator(fs::path directory, std::uint64_t segment_bytes)
        : directory_(std::move(directory)), segment_bytes_(segment_bytes) {}

    // One segment; false: all messages are written.
    bool segment(std::uint64_t messages) {
        if (message_ == messages) return false;
        std::ofstream out(directory_ / spool::segment_file(next_, spool::plain_suffix));
        for (std::uint64_t bytes = 0; bytes < segment_bytes_ && message_ < messages; ++message_) {
            const auto text = message();
            bytes += text.size();
            out << text;
        }
        return true;
    }
    void publish() const {
        std::string mark = "PRSYNCED";
        for (int i = 0; i < 8; ++i) mark += static_cast<char>((next_ - 1) >> (8 * i));
        std::ofstream(directory_ / "synced", std::ios::binary) << mark;
    }
    // The last, empty segment: the one before it can be sealed.
    void end() { std::ofstream(directory_ / spool::segment_file(next_, spool::plain_suffix)); }
    std::uint64_t events() const { return next_ - 1; }

private:
    std::uint64_t random() {
        state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
        return state_;
    }
    std::string message() {
        // A million recipients, each with thirty messages in thirty million; one domain in two is one of ten.
        const auto recipient = random() % 1'000'000, sender = random() % 200;
        const auto domain = random() % 2 == 0 ? recipient % 10 : recipient % 50'000;
        const auto common = fmt::format(
            R"("id":"{:012X}10","message_id":"<{:016x}.{}@app{}.shop.example>","sender":"bounce+{}@shop{}.example",)"
            R"("recipient":"user{}@domain{}.example","submitter":"sasl:shop{}")",
            0xC5A00000000 + message_ * 100, random(), message_, sender % 7, sender, sender, recipient, domain, sender);
        std::string text;
        const auto event = [&](std::string_view type, std::string_view more) {
            const auto second = message_ / 12; // a month for thirty million
            text += fmt::format(R"({{"v":1,"seq":{},"node":"6b7d2f60-0a4e-4f2c-9a53-6f0d3a4b5c6d",)"
                                R"("time":"2026-11-{:02}T{:02}:{:02}:{:02}.{:06}Z","type":"message.{}",{}{}}})"
                                "\n",
                                next_++, 1 + second / 86400 % 30, second / 3600 % 24, second / 60 % 60, second % 60,
                                random() % 1'000'000, type, common, more);
        };
        event("accepted", R"(,"source":"smtp","listener":"submission","size":23456,"recipients_total":1)");
        if (random() % 10 == 0)
            event("deferred",
                  R"(,"queue":"q","link":"mx.q","attempt":1,"code":451,"status":"4.7.1",)"
                  R"("text":"Greylisted, try again later","class":"greylisting","took":{"queue":1,"data":7})");
        event("delivered",
              R"(,"queue":"q","link":"mx.q","attempt":1,"remote":{"host":"mx.q.example","address":"192.0.2.7",)"
              R"("port":25},"code":250,"status":"2.0.0","text":"Ok: queued as 4XyZ12abcd","took":{"data":7})");
        event("finished", R"(,"waited":{"link":1})");
        return text;
    }

    fs::path directory_;
    std::uint64_t segment_bytes_, next_ = 1, message_ = 0, state_ = 88172645463325252u;
};

// How long each question takes, and how many events it finds.
void ask(const std::string& directory, const std::vector<std::string>& words, std::size_t limit) {
    const auto begin = Clock::now();
    auto disk = *spool::RealDisk::open_at(directory);
    auto search = *history::HistorySearch::open(*disk, ".", directory, std::numeric_limits<std::uint64_t>::max());
    const auto query =
        *history::HistoryQuery::parse(words, std::chrono::floor<smtp::Duration>(std::chrono::system_clock::now()));
    std::set<std::string> ids;
    if (!search.newest_first(query, [&](const nlohmann::json& event) {
            ids.insert(history::string_of(event, "id"));
            return ids.size() < limit;
        }))
        std::exit(1);
    std::size_t events = 0;
    if (!search.events_of(ids, [&](const nlohmann::json&) { ++events; })) std::exit(1);
    fmt::print("{:<45} {:>6} messages {:>7} events {:>8.3f} s\n", words.front(), ids.size(), events,
               seconds_since(begin));
    std::fflush(stdout);
}

} // namespace

int main(int count, char** given) {
    if (count < 3) return 2;
    const std::string directory = given[1];
    const auto messages = std::strtoull(given[2], nullptr, 10);
    const auto segment_bytes = count > 3 ? std::strtoull(given[3], nullptr, 10) : 128ull << 20;
    fs::create_directories(directory);
    Generator generator(directory, segment_bytes);
    auto keeper = *events::JournalKeeper::open(directory);
    const std::atomic<bool> never = false;
    double sealing = 0, indexing = 0;
    std::uint64_t indexed = 0;
    while (generator.segment(messages)) {
        generator.end();
        generator.publish();
        for (;;) {
            const auto begin = cpu_seconds();
            const auto report = keeper->work({}, 0, never);
            if (!report) {
                fmt::print(stderr, "{}\n", report.error().what);
                return 1;
            }
            if (!report->step) break;
            (report->step->work == events::KeeperWork::index ? indexing : sealing) += cpu_seconds() - begin;
            indexed += report->events;
        }
    }
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    std::uint64_t bytes = 0, index_bytes = 0;
    for (const auto& entry : fs::directory_iterator(directory)) {
        bytes += entry.file_size();
        if (entry.path().extension() == ".index") index_bytes += entry.file_size();
    }
    fmt::print("{} messages, {} events, {} MB on disk, of them {} MB indexes\n", messages, generator.events(),
               bytes >> 20, index_bytes >> 20);
    fmt::print("sealed {:.0f} events, indexed {:.0f} events in a second of CPU time; memory at most {} MB\n",
               static_cast<double>(generator.events()) / sealing, static_cast<double>(indexed) / indexing,
               usage.ru_maxrss >> 10);
    for (const auto* word : {"user4711@domain1.example", "recipient=user4711@*", "domain=domain4711.example",
                             "submitter=sasl:shop7", "0C5A000186A010", "nobody@nowhere.example"})
        if (std::string_view(word) != "recipient=user4711@*" || messages <= 1'000'000) ask(directory, {word}, 100);
    return 0;
}
