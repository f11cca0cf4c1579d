// Every message of every conversation, from empty to far beyond what the configuration allows, through real channels:
// it arrives as it was, or its sender is told that it is too long; never is the channel closed, and a small message
// behind it passes.
#include "daemons/common/ipc/channel.h"
#include "daemons/common/ipc/parts.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/proto/categorize.h"
#include "daemons/common/proto/delivery.h"
#include "daemons/common/proto/fleet.h"
#include "daemons/common/proto/hello.h"
#include "daemons/common/proto/metrics.h"
#include "daemons/common/proto/metrics_text.h"
#include "daemons/common/proto/recipient_check.h"
#include "daemons/common/proto/relayed_control.h"
#include "daemons/common/proto/relayed_submission.h"
#include "daemons/common/proto/report.h"
#include "daemons/common/proto/route.h"
#include "daemons/common/proto/submission.h"
#include "daemons/common/proto/submit.h"
#include "daemons/common/proto/tls_results.h"
#include "daemons/common/proto/user_files.h"
#include "daemons/common/proto/verification.h"
#include "daemons/common/runtime/loop.h"
#include <doctest/doctest.h>
#include <limits>
#include <sys/socket.h>
#include <type_traits>
#include <utility>

using namespace ipc;
using common::Fd;
using common::Loop;

namespace {

// Fills every field: strings of that length, lists of so many elements (those within elements: two), numbers as large
// as they can be.
struct Filler {
    std::size_t length = 0, elements = 0;
    bool inner = false;
    template <class T> void operator()(std::string_view, T& value) { fill(value); }
    template <class T> void fill(T& value) {
        if constexpr (std::is_same_v<T, bool>)
            value = true;
        else if constexpr (std::is_enum_v<T>)
            value = T::last_;
        else if constexpr (std::is_integral_v<T>)
            value = std::numeric_limits<T>::max();
        else if constexpr (requires { T::wire_fields(value, *this); })
            T::wire_fields(value, *this);
        else
            T::fields(value, *this);
    }
    void fill(std::string& s) { s.assign(length, 'x'); }
    void fill(spool::QueueId& id) { id = spool::QueueId{(std::uint64_t{1} << 56) - 1}; }
    template <class T> void fill(std::vector<T>& list) {
        list.resize(inner ? std::min<std::size_t>(elements, 2) : elements);
        const bool outer = std::exchange(inner, true);
        for (T& each : list) fill(each);
        inner = outer;
    }
};

template <class Message> struct Pair {
    Pair() {
        int fds[2];
        REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
        const auto closed = [this](const std::string& why) {
            reason = why;
            loop.stop();
        };
        from = std::make_unique<Channel<Message>>(std::make_unique<Connection>(loop, Fd(fds[0]), nullptr),
                                                  typename Channel<Message>::Callbacks{{}, closed, {}});
        to = std::make_unique<Channel<Message>>(std::make_unique<Connection>(loop, Fd(fds[1]), nullptr),
                                                typename Channel<Message>::Callbacks{[this](Message&& message) {
                                                                                         arrived.push_back(
                                                                                             std::move(message));
                                                                                         if (arrived.size() == awaited)
                                                                                             loop.stop();
                                                                                     },
                                                                                     closed,
                                                                                     {}});
    }
    void await(std::size_t count) {
        awaited = count;
        if (arrived.size() < count) loop.run();
    }
    Loop loop;
    std::unique_ptr<Channel<Message>> from, to;
    std::vector<Message> arrived;
    std::size_t awaited = 0;
    std::string reason; // that a channel was closed for
};

template <class Message, class M> std::string wire_of(const M& message) {
    std::string wire;
    encode<Message>(message, wire);
    return wire;
}

template <class Message, class M> SendResult send(Channel<Message>& channel, const M& message) {
    if constexpr (AlwaysFits<M>) {
        channel.send(message);
        return SendResult::yes;
    } else {
        return channel.send(message);
    }
}

// M filled so, with a small one of its kind behind it.
template <class Message, class M> void passes_or_is_refused(std::size_t length, std::size_t elements) {
    M filled{}, probe{};
    Filler{length, elements}.fill(filled);
    Filler{1, 1}.fill(probe);
    CAPTURE(length);
    CAPTURE(elements);
    Pair<Message> pair;
    const auto wire = wire_of<Message>(filled);
    const auto sent = send(*pair.from, filled);
    CHECK(sent == (wire.size() > max_frame ? SendResult::too_long : SendResult::yes));
    CHECK(size_on_wire(filled) + 1 == wire.size());
    REQUIRE(send(*pair.from, probe) == SendResult::yes);
    pair.await(sent == SendResult::yes ? 2 : 1);
    REQUIRE(pair.reason == "");
    CHECK(pair.from->open());
    REQUIRE(pair.arrived.size() == (sent == SendResult::yes ? 2 : 1));
    if (sent == SendResult::yes) CHECK(wire_of<Message>(std::get<M>(pair.arrived.front())) == wire);
    CHECK(wire_of<Message>(std::get<M>(pair.arrived.back())) == wire_of<Message>(probe));
}

// Every message of a conversation.
template <class Message> void all_of(std::size_t length, std::size_t elements) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (passes_or_is_refused<Message, std::variant_alternative_t<I, Message>>(length, elements), ...);
    }(std::make_index_sequence<std::variant_size_v<Message>>{});
}

void every_conversation(std::size_t length, std::size_t elements) {
    all_of<proto::categorize::Message>(length, elements);
    all_of<proto::delivery::Message>(length, elements);
    all_of<proto::fleet::Message>(length, elements);
    all_of<proto::metrics::Message>(length, elements);
    all_of<proto::metrics_text::Message>(length, elements);
    all_of<proto::relayed_control::Message>(length, elements);
    all_of<proto::relayed_submission::Message>(length, elements);
    all_of<proto::hello::Message>(length, elements);
    all_of<proto::recipient_check::Message>(length, elements);
    all_of<proto::report::Message>(length, elements);
    all_of<proto::route::Message>(length, elements);
    all_of<proto::submission::Message>(length, elements);
    all_of<proto::submit::Message>(length, elements);
    all_of<proto::tls_results::Message>(length, elements);
    all_of<proto::user_files::Message>(length, elements);
    all_of<proto::verification::Message>(length, elements);
}

template <class Message, class M> std::size_t frame_of(const M& message) { return wire_of<Message>(message).size(); }

std::vector<proto::route::Host> hosts(std::size_t count) {
    std::vector<proto::route::Host> out(count);
    for (auto& host : out) Filler{255, 0}.fill(host.name);
    return out;
}

} // namespace

TEST_CASE("every message passes or is refused, and the channel serves the next one") {
    for (const auto& [length, elements] :
         std::initializer_list<std::pair<std::size_t, std::size_t>>{{0, 0},
                                                                    {320, 1},
                                                                    {320, 100},
                                                                    {512, 1000},
                                                                    {320, 10'000},
                                                                    {64 << 10, 3},
                                                                    {max_frame - 64, 1},
                                                                    {2 << 20, 1}})
        every_conversation(length, elements);
}

// What the configuration, the DNS and the file formats allow, of messages that do not go in parts.
TEST_CASE("messages that go whole fit a frame at their largest") {
    using namespace proto;
    // MX records of one name: what the largest answer of the DNS (64 KiB) can hold, each name a pointer and a label.
    delivery::Connect connect{.hosts = hosts(3276)};
    CHECK(frame_of<delivery::Message>(connect) < max_frame);
    route::Routed routed{.hosts = hosts(3276)};
    Filler{255, 256}.fill(routed.sts); // decide::sts::most_patterns, of 64 KiB in all
    CHECK(frame_of<route::Message>(routed) < max_frame);
    // queue.recipients_per_transaction
    delivery::Deliver deliver{.recipients = std::vector<std::uint32_t>(10'000, ~0u)};
    Filler{255, 256}.fill(deliver.sts);
    CHECK(frame_of<delivery::Message>(deliver) < max_frame);
    // common::alias_targets: 4096 bytes of a target; addresses and texts.
    categorize::Categorized categorized;
    categorized.outcomes.resize(1);
    Filler{4096, 0}.fill(categorized.outcomes.front());
    CHECK(frame_of<categorize::Message>(categorized) + categorize::part_size < max_frame);
    user_files::Answer answer;
    Filler{4096, 0}.fill(answer);
    answer.text.assign(user_files::largest_file, 'x');
    CHECK(frame_of<user_files::Message>(answer) < max_frame);
    submission::Submitted submitted{.queue_id = {1}, .envelope = std::string(part_size, 'x')};
    CHECK(frame_of<submission::Message>(submitted) < max_frame);
    submit::Content content{std::string(submit::largest_content, 'x')};
    CHECK(frame_of<submit::Message>(content) < max_frame);
    metrics::Report handed; // of metrics.h: so many links by name
    Filler{255, 1000}.fill(handed);
    handed.tables.resize(common::Metrics::max_named_tables);
    CHECK(frame_of<metrics::Message>(handed) < max_frame);
}
