// The adapter for CORE with a test in the engine's place: the search writes the translation as a line of JSON to the
// standard output, and reads the complex events from the standard input.
#include "core/adapter.hpp"

#include <cstdio>
#include <iostream>

using cerify::Json;

int main() {
    std::FILE* out = fdopen(dup(1), "w");
    return cerify::core::serve("stand-in", [out](const cerify::core::Translation& translation, cerify::Cpu&) {
        Json::Array events;
        for (const cerify::core::Event& event : translation.events) {
            Json::Array attributes;
            for (const auto& one : event.attributes) std::visit([&](const auto& of) { attributes.emplace_back(of); }, one);
            events.push_back(Json::Object{
                {"type", static_cast<std::int64_t>(event.type)}, {"attributes", attributes}, {"time", event.time}});
        }
        const Json::Object message{
            {"declaration", translation.declaration}, {"query", translation.query}, {"events", events}};
        std::fprintf(out, "%s\n", Json(Json::Object{{"translation", message}}).dump().c_str());
        std::fflush(out);
        std::string line;
        std::getline(std::cin, line);
        const Json reply = Json::parse(line);
        std::vector<cerify::core::ComplexEvent> found;
        for (const Json& one : reply["found"].items()) {
            cerify::core::ComplexEvent complex_event{one["at"].as<std::int64_t>(), {}};
            for (const Json& mark : one["marks"].items())
                complex_event.marks.emplace_back(mark.items()[0].as<std::int64_t>(), mark.items()[1].text());
            found.push_back(std::move(complex_event));
        }
        return found;
    });
}
