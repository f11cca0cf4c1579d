#include "daemons/maps/maps.h"
#include "daemons/common/runtime/destroy_later.h"
#include <algorithm>
#include <fmt/format.h>

namespace maps {

namespace {

// The problems of a file, one after the other.
std::string problems_text(const std::vector<tables::FileProblem>& problems) {
    constexpr std::size_t most = 5;
    std::string out;
    for (std::size_t i = 0; i < problems.size() && i < most; ++i) out += (i == 0 ? "" : "; ") + problems[i].text();
    if (problems.size() > most) out += fmt::format("; {} more", problems.size() - most);
    return out;
}

} // namespace

spool::Result<std::unique_ptr<Maps>> Maps::create(common::DaemonContext& context, common::DaemonConfig daemon_config) {
    prepare_libraries();
    auto self = std::make_unique<Maps>(context);
    self->reconfigure(std::move(daemon_config));
    return self;
}

Maps::Maps(common::DaemonContext& context) : context_(context), problems_(context.report_problem) {}

void Maps::reconfigure(common::DaemonConfig daemon_config) {
    const auto& files = daemon_config.secrets_as<proto::secrets::Maps>().tables;
    std::erase_if(tables_, [&](auto& each) {
        if (std::ranges::find(files, each.first, &proto::secrets::TableFile::table) != files.end()) return false;
        if (each.second.pool) each.second.pool->give_up("the configuration no longer names this table");
        context_.loop.defer([this, name = each.first] {
            problems_.set(name, "");
            problems_.set(name + " outage", "");
        });
        return true;
    });
    for (const auto& file : files) take(file);
    if (!server_)
        if (auto socket = daemon_config.take("maps"))
            server_ = std::make_unique<RequestServer>(
                context_.loop, context_.log, std::move(socket),
                [this](const std::string& table, const std::string& key, RequestServer::Reply reply) {
                    return ask(table, key, std::move(reply));
                });
}

// What the file describes now, unless that cannot be used: then the table stays what it was.
void Maps::take(const proto::secrets::TableFile& file) {
    auto& table = tables_[file.table];
    if (file.error.empty() && table.pool && table.problem.empty() && table.text == file.text) return;
    const auto specification = tables::Specification::parse(file.table);
    auto read = !file.error.empty() || !specification
                    ? std::unexpected(std::vector<tables::FileProblem>{{0, "", file.error, false}})
                    : tables::read_table_file(specification->kind, file.text);
    if (read && !make_database(*read))
        read = std::unexpected(std::vector<tables::FileProblem>{
            {0, "", "this program was built without the library for tables of this type", false}});
    if (read) {
        for (const auto& note : read->notes) context_.log.info("table {}: {}", file.table, note);
        auto former = std::move(table.pool);
        table.pool = std::make_unique<TablePool>(context_.loop, context_.log, context_.metrics, file.table,
                                                 *std::move(read), former.get());
        table.text = file.text;
        table.problem.clear();
        if (former) common::destroy_later(context_.loop, std::move(former));
    } else {
        const auto what = problems_text(read.error());
        if (what != table.problem)
            context_.log.warning("table {}: {}; {}", file.table, what,
                                 table.pool ? "it continues as it was before" : "mail that depends on it waits");
        table.problem = what;
    }
    context_.loop.defer([this, name = file.table, problem = table.problem] { // reported before we are ready, it is lost
        problems_.set(name, problem.empty() ? "" : fmt::format("table {}: {}", name, problem));
    });
}

std::function<void()> Maps::ask(const std::string& name, const std::string& key, RequestServer::Reply reply) {
    const auto found = tables_.find(name);
    if (found == tables_.end() || !found->second.pool) {
        auto why =
            found == tables_.end() ? std::string("the configuration does not name this table") : found->second.problem;
        context_.loop.defer(
            [reply = std::move(reply), why = std::move(why)] { reply(tables::Answer::unavailable(why), true); });
        return {};
    }
    const auto number = found->second.pool->look_up(
        key, [this, name, reply = std::move(reply)](const tables::Answer& answer, bool whole_table) {
            report_outage(name);
            reply(answer, whole_table);
        });
    return [this, name, number] {
        if (const auto table = tables_.find(name); table != tables_.end() && table->second.pool)
            table->second.pool->forget(number);
    };
}

// Of a table that is limited to some domains; of others the daemons report it.
void Maps::report_outage(const std::string& name) {
    const auto found = tables_.find(name);
    if (found == tables_.end() || !found->second.pool || !found->second.pool->has_domains()) return;
    auto& table = found->second;
    if (table.outage == table.pool->outage()) return;
    table.outage = table.pool->outage();
    if (!table.outage.empty())
        context_.log.warning("table {}: {}; mail that depends on it waits until it answers", name, table.outage);
    problems_.set(name + " outage", table.outage.empty() ? "" : fmt::format("table {}: {}", name, table.outage));
}

void Maps::stop(smtp::Duration, std::function<void()> done) {
    server_.reset();
    tables_.clear();
    done();
}

std::string Maps::status_text() {
    std::size_t connections = 0;
    for (const auto& [name, table] : tables_)
        if (table.pool) connections += table.pool->connections();
    return fmt::format("{} table{}, {} connection{}", tables_.size(), tables_.size() == 1 ? "" : "s", connections,
                       connections == 1 ? "" : "s");
}

} // namespace maps
