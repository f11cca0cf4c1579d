#include "daemons/common/store/store.h"

namespace store {

spool::Result<bool> Store::apply(Change change, smtp::WallTime now, Durable durable) {
    return TRY(apply(std::span<const Change>(&change, 1), now, durable)).front().made;
}

} // namespace store
