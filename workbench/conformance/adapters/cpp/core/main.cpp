// CORE under test, through the part of it that its servers use for queries and streams: Interface::Backend.
#include "adapter.hpp"

#include "core_server/internal/interface/backend.hpp"
#include "core_server/library/components/result_handler/result_handler.hpp"
#include "core_server/library/components/result_handler/result_handler_types.hpp"
#include "shared/datatypes/event.hpp"
#include "shared/datatypes/value.hpp"
#include "shared/logging/setup.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>

namespace {

namespace Types = CORE::Types;
namespace Components = CORE::Library::Components;
using Backend = CORE::Internal::Interface::Backend<false>;
using cerify::core::ComplexEvent;
using cerify::core::Translation;

constexpr std::chrono::seconds LONGEST{60};

// What one query has found, and how many events it has read.
struct Found {
    std::mutex mutex;
    std::condition_variable changed;
    std::int64_t read = 0;
    double begun = 0, thread = 0;  // the time of the thread that evaluates: when it has read the first event, and since
    std::vector<ComplexEvent> events;
};

// CORE calls it once for each event, in order, with the complex events that end there if there are any.
class Collector : public Components::ResultHandler {
public:
    explicit Collector(std::shared_ptr<Found> found)
        : ResultHandler(Components::ResultHandlerType::CUSTOM), found_(std::move(found)) {}

    void start() override {}
    std::string get_identifier() const override { return "cerify"; }

    void handle_complex_event(std::optional<CORE::Internal::tECS::Enumerator>&& enumerator) override {
        std::vector<ComplexEvent> complex_events;
        if (enumerator.has_value())
            for (const Types::ComplexEvent& one : get_query_catalog().convert_enumerator(std::move(*enumerator)))
                complex_events.push_back({found_->read, marks(one)});
        const std::lock_guard lock(found_->mutex);
        const double now = cerify::seconds(CLOCK_THREAD_CPUTIME_ID);
        if (found_->read++ == 0) found_->begun = now;
        found_->thread = now - found_->begun;
        std::move(complex_events.begin(), complex_events.end(), std::back_inserter(found_->events));
        found_->changed.notify_one();
    }

private:
    static std::vector<std::pair<std::int64_t, std::string>> marks(const Types::ComplexEvent& complex_event) {
        std::vector<std::pair<std::int64_t, std::string>> found;
        for (const Types::Event& event : complex_event.events)
            found.emplace_back(dynamic_cast<const Types::IntValue&>(*event.attributes.at(0)).val, event.variable_name);
        return found;
    }

    std::shared_ptr<Found> found_;
};

std::shared_ptr<Types::Value> value(const cerify::core::Value& of) {
    if (const auto* integer = std::get_if<std::int64_t>(&of)) return std::make_shared<Types::IntValue>(*integer);
    if (const auto* real = std::get_if<double>(&of)) return std::make_shared<Types::DoubleValue>(*real);
    return std::make_shared<Types::StringValue>(std::get<std::string>(of));
}

std::vector<ComplexEvent> search(const Translation& translation, cerify::Cpu& cpu) {
    auto backend = std::make_unique<Backend>();
    const Types::StreamInfo stream = backend->add_stream_type(backend->parse_stream(translation.declaration));
    const auto found = std::make_shared<Found>();
    backend->declare_query(backend->parse_sent_query(translation.query), std::make_unique<Collector>(found));
    const double begun = cerify::seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (const cerify::core::Event& event : translation.events) {
        std::vector<std::shared_ptr<Types::Value>> attributes;
        for (const cerify::core::Value& one : event.attributes) attributes.push_back(value(one));
        backend->send_event_to_queries(
            stream.id, {std::make_shared<Types::Event>(stream.events_info.at(event.type).id, attributes, event.time)});
    }
    std::unique_lock lock(found->mutex);
    const auto all = static_cast<std::int64_t>(translation.events.size());
    if (!found->changed.wait_for(lock, LONGEST, [&] { return found->read == all; }))
        throw cerify::Problem("budget", "CORE has not read all events after 60 s");
    cpu = {found->thread, cerify::seconds(CLOCK_PROCESS_CPUTIME_ID) - begun};
    std::thread([old = std::move(backend)]() mutable { old.reset(); }).detach();  // its threads take 50 ms to stop
    return found->events;
}

}  // namespace

int main() {
    CORE::Internal::Logging::enable_logging_stdout()->set_log_level(quill::LogLevel::Critical);
    std::quick_exit(cerify::core::serve(CERIFY_CORE_VERSION, search));
}
