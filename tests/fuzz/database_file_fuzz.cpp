// Any text is the file of a table in a database, or has a problem that is reported; whatever it asks can be expanded
// for any key, and no part of a key gets into the statement.
#include "daemons/common/lookup/database/result_values.h"
#include "daemons/common/lookup/database/table_file.h"
#include "daemons/common/lookup/tables/remote_protocol.h"
#include <cstdint>
#include <cstdlib>

static void expand(const tables::DatabaseTable& table, std::string_view key) {
    static_cast<void>(table.asks_for(key));
    if (const auto parameters = table.query.parameters(key))
        if (parameters->size() > tables::SqlQuery::most_parameters) std::abort();
    static_cast<void>(table.ldap.base.expand(key, key));
    static_cast<void>(table.ldap.filter.expand(key, key));
    tables::ResultValues values(table.result_format, key, table.expansion_limit);
    values.add(key);
    if (values.answer().value.size() > tables::ResultValues::most_bytes) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const auto kind : {tables::Kind::mysql, tables::Kind::pgsql, tables::Kind::ldap}) {
        const auto read = tables::read_table_file(kind, text);
        if (!read && read.error().empty()) std::abort();
        if (!read) continue;
        for (const std::string_view key : {"", "@", "ann", "ann@", "@b.example", "ann@mail.example.com", "'\"%s\\@x.y"})
            expand(*read, key);
        expand(*read, text.substr(0, 100));
    }
    const auto request = tables::maps_protocol::parse_request(text);
    if (request && *request && ((*request)->bytes == 0 || (*request)->bytes > size)) std::abort();
    static_cast<void>(tables::maps_protocol::parse_reply(text));
    return 0;
}
