// A journal on a disk that forgets what was not synced; without threads every job is done at once, its end when
// drained.
#pragma once
#include "daemons/queue-manager/journal/journal.h"
#include "libspool/journal/names.h"
#include "tests/libspool/disk/fake_disk.h"
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace queue_manager::test {

struct JournalBench {
    explicit JournalBench(config::History settings = {}) : settings(std::move(settings)) {}

    void drain() {
        for (int n = 0; n < 3; ++n) pool.drain();
    }
    // Writes what there is.
    bool write() {
        journal.drain();
        drain();
        return journal.drain();
    }
    void add(std::string id = "x") {
        journal.add(spool::journal::EventType::message_accepted,
                    [&](spool::journal::JsonObject& event) { event.text("id", id); });
    }
    // All lines of all segments that a power cut would leave now, in their order.
    std::vector<nlohmann::json> lines() const {
        std::vector<nlohmann::json> out;
        for (const auto& path : disk.paths()) {
            if (!path.ends_with(".jsonl")) continue;
            std::istringstream in(disk.contents(path));
            for (std::string line; std::getline(in, line);) out.push_back(nlohmann::json::parse(line));
        }
        return out;
    }

    config::History settings;
    common::Loop loop;
    common::Log log{loop, "qmgr"};
    spool::test::FakeDisk disk;
    JournalFiles files{disk, settings};
    spool::CommitPool pool{disk, 0, [] {}};
    std::string problem;
    std::vector<bool> pauses;
    common::Metrics metrics;
    Journal journal{{.loop = loop,
                     .log = log,
                     .metrics = metrics,
                     .pool = pool,
                     .files = files,
                     .report_failure = [this](std::string text) { problem = std::move(text); },
                     .pause_deliveries = [this](bool too_much) { pauses.push_back(too_much); }},
                    settings};
};

} // namespace queue_manager::test
