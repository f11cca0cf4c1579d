// Canonical tables for the header of one incoming message: the addresses of its fields are looked up, and what changes
// becomes edits. For smtpd and pickup; must not know who sent the message.
#pragma once
#include "daemons/common/config/sections/recipients/rewriting.h"
#include "daemons/common/filters/milter/message.h"
#include "daemons/common/rewriting/address_replacements.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include "libsmtp/message/header_addresses.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace common {

// The tables, of one process.
struct CanonicalTables {
    CanonicalTables(Loop& the_loop, Log& log) : loop(the_loop), tables(the_loop, log) {}
    // Null: no header is rewritten.
    static std::shared_ptr<CanonicalTables> configured(Loop& loop, Log& log, const config::Canonical& rules,
                                                       const std::vector<config::LookupTable>& sections,
                                                       std::string maps_socket, decide::RewritingSettings rewriting);
    Loop& loop;
    AwaitedTables tables;
    config::Canonical rules;
    decide::RewritingSettings rewriting;
};

class CanonicalHeader {
public:
    struct Outcome {
        std::string failed;                // "" or: which table cannot answer, and why; nothing is changed
        std::vector<std::string> warnings; // what stays as it is, and why
    };
    using Done = std::function<void(Outcome)>;

    // `message` is loaded. All outlive it. It ends after a minute, whatever tables do.
    CanonicalHeader(CanonicalTables& tables, milter::Message& message);
    CanonicalHeader(const CanonicalHeader&) = delete;

    // The outcome; or nothing yet, and `done` is called once from the loop. It may destroy this.
    std::optional<Outcome> run(Done done);

private:
    std::optional<std::size_t> tables_for(smtp::AddressFieldKind kind);
    void collect();
    void go_on();
    void finish(Outcome outcome);
    std::optional<Outcome> look_up();
    void edit();
    void note(std::string_view name, std::string_view reason);

    CanonicalTables& tables_;
    milter::Message& message_;
    TurnHook hook_;
    Timer time_limit_;
    AddressReplacements replacements_;
    Done done_;
    Outcome outcome_;
};

} // namespace common
