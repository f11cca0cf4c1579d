#include "daemons/maps/database.h"
#ifdef POSTRIDER_MYSQL
#include "daemons/maps/mysql_database.h"
#endif
#ifdef POSTRIDER_PGSQL
#include "daemons/maps/pgsql_database.h"
#endif
#ifdef POSTRIDER_LDAP
#include "daemons/maps/ldap_database.h"
#endif

namespace maps {

std::unique_ptr<Database> make_database(const tables::DatabaseTable& table) {
#ifdef POSTRIDER_MYSQL
    if (table.kind == tables::Kind::mysql) return std::make_unique<MysqlDatabase>(table);
#endif
#ifdef POSTRIDER_PGSQL
    if (table.kind == tables::Kind::pgsql) return std::make_unique<PgsqlDatabase>(table);
#endif
#ifdef POSTRIDER_LDAP
    if (table.kind == tables::Kind::ldap) return std::make_unique<LdapDatabase>(table);
#endif
    static_cast<void>(table);
    return nullptr;
}

void prepare_libraries() {
#ifdef POSTRIDER_MYSQL
    MysqlDatabase::prepare();
#endif
#ifdef POSTRIDER_LDAP
    LdapDatabase::prepare();
#endif
}

} // namespace maps
