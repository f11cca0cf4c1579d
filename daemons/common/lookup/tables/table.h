// One lookup table, of any kind. A resource of Tables; knows neither the others nor the configuration.
#pragma once
#include "daemons/common/lookup/format/answer.h"
#include "daemons/common/lookup/format/contents.h"
#include "libsmtp/text/time_types.h"
#include <functional>
#include <string>
#include <string_view>

namespace tables {

class Table {
public:
    // The answer for a requested key is now known. Never called from within find() or ask().
    using OnAnswer = std::function<void(const std::string& key)>;

    Table() = default;
    virtual ~Table() = default;
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;

    virtual Answer find(std::string_view key, smtp::Now now) = 0;
    // False: there is nothing to wait for, find() has the answer.
    virtual bool ask(const std::string& key, smtp::Now now) = 0;
    // Forgets an answer "none" for the key that is older than that. True: it has to be asked for again.
    virtual bool forget_none(const std::string& key, smtp::Now since) {
        static_cast<void>(key), static_cast<void>(since);
        return false;
    }
    // Notices a change of its file, as find() does, even without lookups.
    virtual void refresh(smtp::Now now) { static_cast<void>(now); }
    // Its problem, beginning with its name; "" none.
    virtual std::string problem() const = 0;
    // The first lines of its file that were skipped or are odd.
    virtual std::vector<Problem> problems() const { return {}; }
};

} // namespace tables
