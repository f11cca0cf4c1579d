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
    // A key that was asked for is known now. Never called from within find() or ask().
    using OnAnswer = std::function<void(const std::string& key)>;

    Table() = default;
    virtual ~Table() = default;
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;

    virtual Answer find(std::string_view key, smtp::Now now) = 0;
    // False: it has nothing to wait for, find() knows.
    virtual bool ask(const std::string& key, smtp::Now now) = 0;
    // Notices a change of its file, as find() does, though nobody asks.
    virtual void refresh(smtp::Now now) { static_cast<void>(now); }
    // What is wrong with it, beginning with its name; "" nothing.
    virtual std::string problem() const = 0;
    // Lines of its file that were skipped or are odd, the first of them.
    virtual std::vector<Problem> problems() const { return {}; }
};

} // namespace tables
