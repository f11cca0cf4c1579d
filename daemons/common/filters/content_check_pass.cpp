#include "daemons/common/filters/content_check_pass.h"
#include <utility>

namespace common {

static constexpr std::size_t piece_of_body = 256 * 1024;

ContentCheckPass::ContentCheckPass(const ContentRules& rules, milter::Message& message)
    : rules_(rules), message_(message) {}

void ContentCheckPass::begin(Done done) {
    done_ = std::move(done);
    message_.load([this, alive = std::weak_ptr(alive_)](const spool::Result<>& loaded) {
        if (alive.expired()) return;
        if (!loaded) return std::exchange(done_, nullptr)(std::unexpected(loaded.error()));
        result_ = check_header(rules_, message_);
        if (result_.is_final() || !rules_.beyond_header()) return std::exchange(done_, nullptr)(std::move(result_));
        start_reading();
    });
}

void ContentCheckPass::start_reading() {
    checks_.emplace(rules_, ContentChecks::OwnHeader::skipped);
    offset_ = 0;
    std::string as_it_is;
    checks_->feed(message_.stored_header(), as_it_is);
    checks_->end_header(as_it_is);
    read_on();
}

// A message in memory answers each request within it: a loop then, not a recursion.
void ContentCheckPass::read_on() {
    again_ = true;
    if (std::exchange(reading_, true)) return;
    const std::weak_ptr alive(alive_);
    while (std::exchange(again_, false)) {
        message_.read_body(offset_, piece_of_body, [this, alive](spool::Result<std::string> piece) {
            if (!alive.expired()) take_piece(std::move(piece));
        });
        if (alive.expired()) return;
    }
    reading_ = false;
}

void ContentCheckPass::take_piece(spool::Result<std::string> piece) {
    if (!piece) return std::exchange(done_, nullptr)(std::unexpected(piece.error()));
    offset_ += piece->size();
    if (piece->empty()) return finish();
    if (!replaces_) body_.clear();
    const auto before = body_.size();
    checks_->feed(*piece, body_);
    size_ += body_.size() - before;
    if (checks_->is_over()) return finish();
    read_on();
}

void ContentCheckPass::finish() {
    if (!checks_->is_over()) checks_->finish(body_);
    if (!replaces_) { // what is found is the same the second time
        for (auto& finding : checks_->take_findings()) take_finding(std::move(finding), message_, result_);
        for (auto& warning : checks_->take_warnings()) result_.warnings.push_back(std::move(warning));
    }
    if (replaces_) {
        message_.replace_body(body_);
    } else if (checks_->has_changed() && !result_.is_final()) {
        if (size_ <= largest_changed_body) {
            replaces_ = true;
            body_ = {};
            return start_reading();
        }
        result_.warnings.emplace_back("the body is too large for rules to change it: it stays as it is");
    }
    std::exchange(done_, nullptr)(std::move(result_));
}

} // namespace common
