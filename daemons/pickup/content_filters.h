// The checks of a local submission before it is committed: the header checks, rewriting, then the milters that see
// local mail, which are shown a session with localhost. Ends within a time limit, because the caller waits for the
// answer. Knows no programs and no sockets but the filters'.
#pragma once
#include "daemons/common/config/sections/recipients/rewriting.h"
#include "daemons/common/config/sections/server/filters.h"
#include "daemons/common/filters/content_check_pass.h"
#include "daemons/common/filters/milter/client.h"
#include "daemons/common/logging/problems.h"
#include "daemons/common/rewriting/canonical_header.h"
#include "daemons/common/runtime/timer.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pickup {

// The filters that apply, by one configuration.
struct ContentFilters {
    explicit ContentFilters(std::function<void(std::string_view)> tell)
        : problems(std::make_unique<common::Problems>(std::move(tell))) {}
    std::unique_ptr<common::Problems> problems; // those that do not answer
    common::ContentRules content;
    std::shared_ptr<common::CanonicalTables> canonical; // null: they rewrite no headers
    config::Masquerade masquerade;
    std::vector<config::Milter> milters; // those that see local mail
    bool masquerades() const {
        return masquerade.rewrites_headers() && any_of(masquerade.header_origins, decide::MailOrigin::local);
    }
    bool canonical_applies() const {
        return canonical && any_of(canonical->rules.header_origins, decide::MailOrigin::local);
    }
    bool none() const { return content.empty() && milters.empty() && !canonical_applies() && !masquerades(); }
    // `tell`: which of them do not answer, in one line for status; "" all do.
    static std::shared_ptr<const ContentFilters> configured(const config::Content& content,
                                                            std::shared_ptr<common::CanonicalTables> canonical,
                                                            const config::Masquerade& masquerade,
                                                            const std::vector<config::Milter>& milters,
                                                            std::function<void(std::string_view)> tell);
};

class FilterRun {
public:
    struct Outcome {
        std::optional<smtp::Reply> refusal;
        bool discard = false; // discard it, although it is accepted
    };
    using Done = std::function<void(Outcome)>;

    // All of the content has been appended to `writer`; it and the others outlive this.
    FilterRun(common::Loop& loop, common::Log& log, std::shared_ptr<const ContentFilters> filters, std::string hostname,
              std::string queue_id, spool::MessageWriter& writer, spool::Envelope& envelope);
    FilterRun(const FilterRun&) = delete;

    // `done`: once, at once or later; the FilterRun is not destroyed from within it. If the message is to be
    // committed, envelope and writer are as the filters have left them, but for seal().
    void begin(Done done);
    // Passes the envelope as it is now to the writer, with the edits.
    void seal() { message_.seal(); }

private:
    struct Step { // of the session presented to milters
        config::Stage stage;
        std::string recipient; // rcpt
    };
    bool take_result(const common::HeaderCheckResult& judged); // false: that is the end
    void rewrite_header();
    void take(common::CanonicalHeader::Outcome outcome);
    void masquerade();
    void run_next_step();
    bool apply(const milter::Response& word); // false: that is the end
    void hold(const std::string& why);
    std::string from_to() const;
    void finish(Outcome outcome);

    common::Log& log_;
    std::shared_ptr<const ContentFilters> filters_;
    const std::string hostname_, queue_id_;
    spool::Envelope& envelope_;
    milter::Message message_;
    common::ContentCheckPass content_;
    std::optional<common::CanonicalHeader> header_; // being rewritten by canonical tables
    std::vector<std::unique_ptr<milter::Client>> milters_;
    std::vector<Step> steps_;
    std::size_t step_ = 0, next_milter_ = 0; // the current one; the next milter to be asked
    Done done_;                              // none: over
    common::Timer time_limit_;
};

} // namespace pickup
