#include "daemons/maps/table_pool.h"
#include "daemons/common/lookup/format/key_value.h"
#include "daemons/common/text/units.h"
#include "daemons/maps/server_choice.h"
#include "libsmtp/text/utf8.h"
#include <condition_variable>
#include <fmt/format.h>
#include <mutex>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace maps {

// Its threads may outlive the pool: they hold it.
struct TablePool::Shared {
    // To connect within less proves nothing of a server.
    static constexpr std::chrono::milliseconds fair_share{500};
    enum class Stage : std::uint8_t { connecting, asking };

    struct Job {
        std::uint64_t number = 0;
        std::string key;
        Deadline deadline;
    };
    struct Finished {
        std::uint64_t number = 0;
        Outcome outcome;
    };
    struct UnderWay {
        Stage stage = Stage::connecting;
        std::string server;
    };

    Shared(tables::DatabaseTable&& file, common::Loop& loop, std::function<void()> woken)
        : table(std::move(file)), servers(table.servers, table.retry_interval, static_cast<std::size_t>(::getpid())),
          wake(std::make_unique<common::Wake>(loop, std::move(woken))) {
        wake->unref();
    }

    const tables::DatabaseTable table;
    std::mutex mutex; // of all below
    std::condition_variable news;
    std::deque<Job> jobs;
    std::vector<Finished> finished;
    std::map<std::uint64_t, UnderWay> under_way;
    std::vector<std::string> failures, recoveries; // lines for the log
    ServerChoice servers;
    std::size_t open = 0; // connections
    bool closing = false;
    std::unique_ptr<common::Wake> wake; // null after the pool's end

    void run(); // a thread

private:
    struct Connection {
        std::unique_ptr<Database> database;
        std::size_t server = 0;
        bool used = false;
    };
    Outcome serve(const Job& job, Connection& connection);
    std::expected<void, std::string> connect(const Job& job, Connection& connection);
    void close(Connection& connection);
    void enter(const Job& job, Stage stage, std::size_t server);
    void server_failed(std::size_t server, const std::string& why);
};

void TablePool::Shared::run() {
    Connection connection;
    std::unique_lock lock(mutex);
    for (;;) {
        const auto wanted = [this] { return closing || !jobs.empty(); };
        if (connection.database) {
            if (!news.wait_for(lock, table.idle_interval, wanted)) {
                lock.unlock();
                close(connection);
                lock.lock();
                continue;
            }
        } else {
            news.wait(lock, wanted);
        }
        if (closing) break;
        const auto job = std::move(jobs.front());
        jobs.pop_front();
        lock.unlock();
        auto outcome = serve(job, connection);
        lock.lock();
        under_way.erase(job.number);
        finished.push_back({job.number, std::move(outcome)});
        if (wake) wake->signal();
    }
    lock.unlock();
    close(connection);
}

void TablePool::Shared::close(Connection& connection) {
    if (!connection.database) return;
    connection = {};
    const std::lock_guard lock(mutex);
    --open;
}

void TablePool::Shared::enter(const Job& job, Stage stage, std::size_t server) {
    const std::lock_guard lock(mutex);
    under_way[job.number] = {stage, table.servers[server].text()};
}

void TablePool::Shared::server_failed(std::size_t server, const std::string& why) {
    const std::lock_guard lock(mutex);
    if (servers.failed(server, why, Clock::now()))
        failures.push_back(fmt::format("{}: {}", table.servers[server].text(), why));
}

// The first server that can be reached.
std::expected<void, std::string> TablePool::Shared::connect(const Job& job, Connection& connection) {
    std::vector<std::size_t> order;
    {
        const std::lock_guard lock(mutex);
        order = servers.order(Clock::now());
    }
    for (std::size_t n = 0; n < order.size() && Clock::now() < job.deadline; ++n) {
        const auto server = order[n];
        const auto share = (job.deadline - Clock::now()) / static_cast<int>(order.size() - n); // time for the others
        const bool fair = share >= fair_share;
        enter(job, Stage::connecting, server);
        auto database = make_database(table);
        if (const auto connected = database->connect(table.servers[server], Clock::now() + share); !connected) {
            if (!fair && n + 1 == order.size() && Clock::now() >= job.deadline) // the lookup came too late
                return std::unexpected(fmt::format("{}: {}", table.servers[server].text(), connected.error()));
            server_failed(server, connected.error());
            continue;
        }
        connection = {std::move(database), server, false};
        const std::lock_guard lock(mutex);
        ++open;
        return {};
    }
    const std::lock_guard lock(mutex);
    return std::unexpected(servers.problem());
}

Outcome TablePool::Shared::serve(const Job& job, Connection& connection) {
    for (;;) {
        if (!connection.database)
            if (auto connected = connect(job, connection); !connected)
                return {tables::Answer::unavailable(std::move(connected).error()), true, false};
        enter(job, Stage::asking, connection.server);
        auto outcome = connection.database->look_up(job.key, job.deadline);
        const auto server = connection.server;
        auto& answer = outcome.answer;
        if (!outcome.lost && !outcome.whole_table) {
            connection.used = true;
            const std::lock_guard lock(mutex);
            if (servers.works(server)) recoveries.push_back(table.servers[server].text());
            return outcome;
        }
        const bool closed_while_idle = connection.used && outcome.lost && outcome.whole_table;
        const bool in_time = Clock::now() < job.deadline;
        close(connection);                          // what is wrong may be so only with this connection, or this server
        if (closed_while_idle && in_time) continue; // once: the next one is new
        if (answer.status != tables::Answer::Status::unavailable) return outcome;
        if (outcome.whole_table && in_time) {
            server_failed(server, answer.why);
            continue; // with the next server, if there is one
        }
        answer.why = fmt::format("{}: {}", table.servers[server].text(), answer.why);
        return {std::move(answer), false, true};
    }
}

// Numbers continue after those of the former pool: a caller that is gone names none of ours.
TablePool::TablePool(common::Loop& loop, common::Log& log, common::Metrics& metrics, std::string name,
                     tables::DatabaseTable table, TablePool* former)
    : loop_(loop), log_(log), metrics_(metrics), name_(std::move(name)),
      shared_(std::make_shared<Shared>(std::move(table), loop, [this] { collect(); })),
      queue_(shared_->table.connections, former ? former->queue_.last() : 0), deadline_(loop, [this] { expire(); }) {
    if (!former) return;
    for (auto& [number, each] : std::exchange(former->waiting_, {})) look_up(each.key, std::move(each.done));
}

void TablePool::give_up(const std::string& why) {
    for (auto& [number, each] : std::exchange(waiting_, {})) each.done(tables::Answer::unavailable(why), true);
}

TablePool::~TablePool() {
    {
        const std::lock_guard lock(shared_->mutex);
        shared_->closing = true;
        shared_->wake.reset();
    }
    shared_->news.notify_all();
}

std::uint64_t TablePool::look_up(const std::string& key, Done done) {
    const auto folded = tables::folded_key(key);
    if (!smtp::is_utf8_text(folded) || !shared_->table.asks_for(folded)) {
        loop_.defer([done = std::move(done)] { done({}, false); });
        return 0;
    }
    const auto now = Clock::now();
    const auto number = queue_.stuck() ? std::nullopt : queue_.add(folded, now, now + shared_->table.timeout);
    if (!number) {
        auto why = queue_.stuck() ? fmt::format("all {} connections wait for the database", shared_->table.connections)
                                  : std::string("too many lookups are waiting");
        metrics_.count_table(name_, common::Metrics::TableResult::failed, {});
        loop_.defer([done = std::move(done), why = std::move(why), whole = !has_domains()] {
            done(tables::Answer::unavailable(why), whole);
        });
        return 0;
    }
    waiting_[*number] = {key, std::move(done)};
    assign();
    return *number;
}

void TablePool::forget(std::uint64_t number) {
    waiting_.erase(number);
    queue_.forget(number);
}

bool TablePool::has_domains() const { return !shared_->table.domains.empty(); }

std::size_t TablePool::connections() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->open;
}

void TablePool::assign() {
    while (auto lookup = queue_.next()) {
        if (threads_ < queue_.busy()) {
            try {
                std::thread([shared = shared_] { shared->run(); }).detach();
                ++threads_;
            } catch (const std::system_error& error) {
                log_.error("table {}: no thread can be started: {}", name_, error.what());
                if (threads_ == 0) { // no one would ever take it
                    if (const auto failed = queue_.finished(lookup->number))
                        loop_.defer([this, alive = std::weak_ptr(shared_), failed = *failed] {
                            if (const auto shared = alive.lock(); shared && shared->wake) // the pool is there
                                finish(failed, tables::Answer::unavailable("no thread can be started"), true);
                        });
                    continue;
                }
            }
        }
        const std::lock_guard lock(shared_->mutex);
        shared_->jobs.push_back({lookup->number, std::move(lookup->key), lookup->deadline});
        shared_->news.notify_one();
    }
    if (const auto next = queue_.next_deadline())
        deadline_.start(std::max(std::chrono::duration_cast<smtp::Duration>(*next - Clock::now()), smtp::Duration{}));
    else
        deadline_.stop();
}

// What the threads have done.
void TablePool::collect() {
    std::vector<Shared::Finished> finished;
    std::vector<std::string> failures, recoveries;
    {
        const std::lock_guard lock(shared_->mutex);
        finished.swap(shared_->finished);
        failures.swap(shared_->failures);
        recoveries.swap(shared_->recoveries);
    }
    for (const auto& line : failures) log_.warning("table {}: database {}", name_, line);
    for (const auto& line : recoveries) log_.info("table {}: database {} works again", name_, line);
    const auto alive = shared_; // a callback may end the pool
    for (auto& each : finished)
        if (const auto lookup = queue_.finished(each.number))
            finish(*lookup, each.outcome.answer, each.outcome.whole_table);
    assign();
}

void TablePool::expire() {
    for (const auto& lookup : queue_.expire(Clock::now()))
        finish(lookup, tables::Answer::unavailable(overdue_reason(lookup)), !lookup.under_way || queue_.stuck());
    assign();
}

std::string TablePool::overdue_reason(const LookupQueue::Lookup& lookup) const {
    const auto limit = config::print_duration(shared_->table.timeout);
    if (!lookup.under_way) return fmt::format("no connection to the database was free within {}", limit);
    const std::lock_guard lock(shared_->mutex);
    const auto found = shared_->under_way.find(lookup.number);
    if (found == shared_->under_way.end()) return fmt::format("no answer within {}", limit);
    const auto& [stage, server] = found->second;
    return stage == Shared::Stage::connecting ? fmt::format("{}: no connection within {}", server, limit)
                                              : fmt::format("{}: no answer within {}", server, limit);
}

void TablePool::finish(const LookupQueue::Lookup& lookup, const tables::Answer& answer, bool whole_table) {
    using Status = tables::Answer::Status;
    using Result = common::Metrics::TableResult;
    metrics_.count_table(name_,
                         answer.status == Status::found  ? Result::found
                         : answer.status == Status::none ? Result::missing
                                                         : Result::failed,
                         std::chrono::duration_cast<smtp::Duration>(Clock::now() - lookup.begin));
    const auto found = waiting_.find(lookup.number);
    if (found == waiting_.end()) return;
    const auto done = std::move(found->second.done);
    waiting_.erase(found);
    if (answer.status != Status::unavailable)
        outage_.clear();
    else if (whole_table)
        outage_ = answer.why;
    done(answer, whole_table && !has_domains());
}

} // namespace maps
