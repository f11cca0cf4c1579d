#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include <doctest/doctest.h>
#include <optional>
#include <string>
#include <vector>

using namespace queue_manager;
using decide::queue::AskCategorizer;
using decide::queue::AskRoute;

namespace {

// What is executed is written down, with the message that its event was about.
struct World {
    common::Loop loop;
    std::vector<std::string> events;
    EngineDriver driver{loop,
                        decide::queue::Settings{},
                        1,
                        {.execute = [this](const auto& action, const auto& all, const EventContext& context,
                                           smtp::Now) { execute(action, all, context); },
                         .executed = [this] { events.push_back("executed"); }}};

    void execute(const decide::queue::Action& action, const decide::queue::Actions& all, const EventContext& context) {
        CHECK(&all.list.front() <= &action);
        const auto* question = std::get_if<AskCategorizer>(&action);
        if (question == nullptr) return;
        const bool own = context.accepted != nullptr && context.accepted->id == question->id;
        events.push_back("ask " + question->id.text() + (own ? " as accepted" : ""));
        driver.later([this, id = question->id] { events.push_back("later " + id.text()); });
    }

    void accept(std::uint64_t number) {
        const decide::queue::Accepted message{.id = spool::QueueId{number}, .arrival = common::Loop::now().wall};
        const spool::MessageState state{spool::Envelope{}};
        const EventContext::Accepted accepted{message.id, state, 1};
        driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.accepted(message, now, out); },
                    {.accepted = &accepted});
    }
};

} // namespace

TEST_CASE("engine driver: actions in order, with what their event brought along; then what is to come later") {
    World world;
    const auto one = spool::QueueId{1}.text(), two = spool::QueueId{2}.text();
    world.accept(1);
    CHECK(world.events == std::vector<std::string>{"ask " + one + " as accepted", "executed", "later " + one});
    world.events.clear();
    world.accept(2);
    CHECK(world.events == std::vector<std::string>{"ask " + two + " as accepted", "executed", "later " + two});
    CHECK(world.driver.engine().counts().messages == 2);
}

TEST_CASE("engine driver: outside of an event, what is to come later comes at once") {
    World world;
    world.driver.later([&] {
        world.events.push_back("task");
        world.driver.later([&] { world.events.push_back("its own task"); });
        world.events.push_back("end of task");
    });
    CHECK(world.events == std::vector<std::string>{"executed", "task", "executed", "its own task", "end of task"});
}

TEST_CASE("engine driver: an event that a task reports has nothing of the event before") {
    World world;
    const decide::queue::Accepted message{.id = spool::QueueId{3}, .arrival = common::Loop::now().wall};
    const spool::MessageState state{spool::Envelope{}};
    const EventContext::Accepted other{spool::QueueId{4}, state, 1};
    world.driver.later([&] {
        world.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.accepted(message, now, out); });
    });
    const auto three = spool::QueueId{3}.text();
    CHECK(world.events == std::vector<std::string>{"executed", "ask " + three, "executed", "later " + three});
    world.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.timer(now, out); }, {.accepted = &other});
    CHECK(world.events.back() == "executed");
}
