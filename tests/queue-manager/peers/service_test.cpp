// Questions to a service: long ones in parts and in turns, short ones between them.
#include "daemons/common/ipc/parts.h"
#include "daemons/common/proto/categorize.h"
#include "daemons/queue-manager/peers/service.h"
#include <doctest/doctest.h>
#include <sys/socket.h>

using namespace queue_manager;
using proto::categorize::Categorize;
using Message = proto::categorize::Message;
using Parts = ipc::PartSplitter<Categorize, &Categorize::recipients>;
using PartAssembler = ipc::PartAssembler<Categorize, &Categorize::recipients>;

namespace {

struct World {
    World() {
        int fds[2];
        REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
        peer = std::make_unique<ipc::Channel<Message>>(
            std::make_unique<ipc::Connection>(loop, common::Fd(fds[1]), nullptr),
            ipc::Channel<Message>::Callbacks{
                [this](Message&& message) {
                    if (auto whole = joined.add(std::get<Categorize>(std::move(message)))) {
                        CHECK(whole->complete);
                        whole_ones.push_back({whole->message.request, whole->message.recipients.size()});
                        if (whole_ones.size() == awaited) loop.stop();
                    }
                },
                [](const std::string& why) { FAIL(why); },
                {}});
        service.attach(std::make_unique<ipc::Channel<Message>>(
            std::make_unique<ipc::Connection>(loop, common::Fd(fds[0]), nullptr)));
    }
    static Categorize question(std::uint64_t request, std::uint32_t recipients) {
        Categorize out{request, spool::QueueId{7}, "ann@example.org", {}};
        for (std::uint32_t n = 0; n < recipients; ++n) out.recipients.push_back({n, std::string(320, 'x')});
        return out;
    }
    void ask(std::uint64_t request, std::uint32_t recipients) {
        using Part = Service<Message>::Part;
        service.ask_in_parts(request, [this, parts = Parts(question(request, recipients))]() mutable {
            CHECK(service.ask(parts.next()) == ipc::SendResult::yes);
            return parts.more() ? Part::more : Part::last;
        });
    }
    void await(std::size_t count) {
        awaited = count;
        if (whole_ones.size() < count) loop.run();
    }

    common::Loop loop;
    int downs = 0;
    Service<Message> service{loop, {[] {}, [this] { ++downs; }, [](Message&&) {}}};
    std::unique_ptr<ipc::Channel<Message>> peer;
    PartAssembler joined{proto::categorize::largest_questions};
    std::vector<std::pair<std::uint64_t, std::size_t>> whole_ones; // request, recipients
    std::size_t awaited = 0;
};

} // namespace

TEST_CASE("twenty questions about ten thousand recipients arrive whole, and a short one comes before all of them") {
    World w;
    for (std::uint64_t n = 1; n <= 20; ++n) w.ask(n, 10'000);
    w.ask(21, 1); // behind what the connection has taken, ahead of what it has not
    w.await(21);
    CHECK(w.downs == 0);
    REQUIRE(w.whole_ones.size() == 21);
    CHECK(w.whole_ones.front() == std::pair<std::uint64_t, std::size_t>{21, 1});
    for (std::size_t i = 1; i < 21; ++i) CHECK(w.whole_ones[i].second == 10'000);
}

TEST_CASE("a question that is asked anew takes the place of what is left of the old one") {
    World w;
    w.ask(1, 10'000);
    w.ask(1, 9'000);
    w.ask(2, 10'000);
    w.await(2);
    std::ranges::sort(w.whole_ones);
    CHECK(w.whole_ones == std::vector<std::pair<std::uint64_t, std::size_t>>{{1, 9'000}, {2, 10'000}});
}

TEST_CASE("what fits no frame is refused to who asks, and nobody else notices") {
    World w;
    Categorize odd = World::question(1, 1);
    odd.recipients.front().address.assign(2 << 20, 'x');
    CHECK(w.service.ask(odd) == ipc::SendResult::too_long);
    w.ask(2, 1);
    w.await(1);
    CHECK(w.whole_ones.front().first == 2);
    CHECK(w.downs == 0);
}
